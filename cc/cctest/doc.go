// Package cctest drives congestion controllers in tests.
//
// A [Conn] is a transport in miniature: it numbers packets, keeps what is in
// flight, takes rate samples and calls the controller in the order that package
// cc prescribes. Tests of a controller read as a list of what the network does;
// [Fuzz] makes such a list of arbitrary bytes and checks what must hold for any
// controller.
//
// It is not a simulator: nothing happens by itself. See package sim for that.
package cctest

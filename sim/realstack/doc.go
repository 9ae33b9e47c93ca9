// Package realstack runs the scenarios of the simulator on the real stack: quic-go
// with its controller injected, quicnet, moqt and the relay, over the simulator's
// links, in virtual time. It has tests only.
//
// Each run is one relay that publishes and one subscriber behind the scenario's
// link, in a bubble of testing/synctest: time jumps from event to event, and what
// the program computes takes none. So the figures say what protocol and controller
// do, not how fast the machine is, and half a minute of transfer takes a fraction
// of a second. The sockets are in memory; to quic-go they look like the kernel's,
// with ECN, path MTU discovery and segmentation offload.
//
// The same scenario runs in the packet simulator with quic-go's way of
// acknowledging, and both are compared. go test runs a short version;
//
//	go test ./sim/realstack -run TestTable -update
//
// makes the tables of docs/c4/real-stack.md.
//
// # Honest limits
//
// Goroutines that run at the same instant do so in any order, so that runs with
// equal seeds are similar, not equal. Nothing takes time but the network: a
// machine under load sends later than here. Packets are never reordered.
package realstack

// Package moqtransport runs github.com/Eyevinn/moqtransport, which speaks draft-16, as publisher and as subscriber through our
// relay, against our own sessions in draft-18 and in draft-16.
package moqtransport

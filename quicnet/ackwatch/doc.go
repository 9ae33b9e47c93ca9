// Package ackwatch tells when the peer of a QUIC connection has acknowledged what was written.
//
// quic-go has no hook for that. What it offers is the recorder of qlog events, which is told of the frames in each
// packet sent and of the acknowledgements received. A [Watch] is such a recorder: it keeps the books and writes
// nothing. It costs the connection about a quarter more CPU, because quic-go makes an event of everything, so a
// [Sampler] gives a Watch to few of many connections.
//
// In order of use:
//
//   - [Sampler.Trace] is called by quic.Config.Tracer for each connection and returns a Watch or nil.
//   - [Of] finds the Watch of a connection.
//   - [Watch.Mark] asks to be told when a stream has been acknowledged up to an offset, [Watch.Datagram] the same of the
//     datagram that is sent next.
//
// What is told is when the acknowledgement came in. It includes the way of the acknowledgement back and the time for which
// the peer held it back, up to 25 ms with most peers.
package ackwatch

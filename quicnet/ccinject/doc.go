// Package ccinject puts a [cc.Controller] in place of the congestion controller
// of an unmodified quic-go connection.
//
// In order of use:
//
//   - [New] makes an [Injector] with the function that makes controllers.
//   - [Injector.Server] prepares a transport and its configurations for
//     listening, [Injector.Client] a context and configurations for dialing.
//   - [Injector.Stats] counts the connections that got a controller, and those
//     that did not.
//   - [Monitor.Snapshot] says what the controllers of a class of connections do.
//
// # How it works
//
// quic-go has no public way to choose a controller. Its connections keep it in an
// interface with only exported methods, whose parameters are integers and
// booleans; an interface of our own with the same methods has the same method
// table, so a value of it may be stored in that field. The field is found by name.
//
// It is replaced in a callback of crypto/tls: GetConfigForClient in a server,
// VerifyConnection in a client. These run while the goroutine of the connection
// waits for crypto/tls, so that nothing else touches the field, and in a server
// before its first packet is sent. The connection is found in the table of its
// transport by its connection ID, or, after a Retry, by looking through the table.
//
// Everything relied upon is compared with the library by reflection before anything
// is touched: names, types and offsets of fields, methods with their order
// and parameters. At any difference the connection keeps quic-go's own controller,
// one line is logged and the connection is counted. What cannot be checked is
// when and how often quic-go calls the methods. This package is
// written for v0.64.1; after an upgrade its tests have to be run, and the callers
// of congestion.SendAlgorithm to be read.
//
// # What a controller gets
//
// quic-go's calls are not those of cc. The sender turns one into the other:
//
//   - Its calls for one ACK are gathered until anything else happens, because
//     nothing marks the end of an ACK, and are given to the controller in cc's order
//     with the time at which the ACK was received.
//   - Packets that quic-go drops without a word (probe timeouts, keys that are
//     discarded) are found by comparing bytes in flight, and
//     reported as [cc.LossPTO]. Losses found by gaps or by time are reported as such.
//   - Until the handshake is confirmed packets are marked as handshake packets.
//     They always get a window of at least ten packets, and no pacing. So are the few
//     packets before there is data to speak of.
//   - The sender has run dry when packets were allowed for more than a millisecond,
//     by the clock, and none came. Late timers cannot be mistaken for that, nor, with
//     ECN, a socket that takes no more packets.
//   - Pacing holds time, as that of the simulator does. Who was waiting for it and
//     is woken late may catch up on 10 ms; who was idle may not. After waiting, a
//     millisecond's worth of packets is sent at once, to save wake-ups.
//   - The last packets of the first window leave one by one, spread over a round
//     trip, so that audio need not wait behind the first frame of a video.
//   - Between processes of one host (round trips below 250 us) acknowledgements
//     pace, and no more is in flight than a receiver keeps.
//   - ECN, where the socket has it: packets carry ECT(1) if the controller asks
//     for it. The validation of RFC 9000 Section 13.4.2 is quic-go's, which
//     is told ECT(0) instead. Marks are counts on acknowledgements, not losses.
//   - A connection that moves to another path gets a new controller.
//   - A new path begins with what an earlier connection to the same address has
//     learned, if there is a [Memory]: careful resume, RFC 9959.
//
// The controller's events go into the connection's qlog, if it has one.
//
// # Limits
//
// Without ECN on the socket there is no hook for migration: from there on such a
// connection has quic-go's controller. Acknowledgements of packets that a probe
// timeout gave up are not seen. Persistent congestion is not reported.
// The choice between [cc.LossPackets] and [cc.LossTime] is inferred. A panic in
// a controller ends the process. A scan of the transport's table after each Retry
// takes time in proportion to the connections.
package ccinject

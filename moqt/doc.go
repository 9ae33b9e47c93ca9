// Package moqt is the session layer of Media over QUIC Transport: it runs one
// session over a [Conn], which is a QUIC connection, a WebTransport session, or
// in tests a [Pipe].
//
// The tag [MOQT-18] in comments means draft-ietf-moq-transport-18, [MOQT-16]
// draft-ietf-moq-transport-16, [MOQT-19] draft-ietf-moq-transport-19.
// Quotations leave out cross references and the marks of code; where more is left out
// there are three dots.
//
// # Types in order of use
//
// [New] makes a [Session], [Session.Run] runs it until it ends. Then
//
//   - who wants something from the peer calls [Session.Subscribe],
//     [Session.Publish], [Session.PublishNamespace], [Session.SubscribeNamespace],
//     [Session.SubscribeTracks], [Session.TrackStatus] or [Session.Fetch];
//   - who serves the peer takes its requests from [Session.Accept] and answers
//     each with its Accept or Reject.
//
// Whoever asked, a subscription has the same two ends: a [Publication], where
// [Publication.OpenSubgroup] and [Publication.SendDatagram] send objects, and a
// [Subscription], where [Subscription.Next] yields what arrives. A
// [SubgroupReader] hands payloads on piece by piece while they arrive, and a
// [SubgroupWriter] takes bytes that are already encoded, so a relay copies an
// object to any number of subscribers without looking into it. A [FetchWriter]
// and a [FetchReader] are the same for the answer to a FETCH.
//
// # What the peer may do wrong
//
// A violation of the draft closes that session with the draft's code and nothing
// else: [Session.Run] then returns a [*SessionError]. Everything a peer can make
// grow has a bound in [Config]; what is dropped at a bound is counted in [Stats].
//
// # What ends how
//
// Errors tell the ends apart. *[SessionError]: this side closed the session.
// *[PeerCloseError]: the peer did. *[ConnError]: the connection was lost.
// *[RequestError]: a request was refused. *[DoneError]: the publisher ended the
// subscription. *[StreamError]: a stream was reset or stopped. [ErrClosed]: this
// side closed the object the method belongs to.
//
// # Versions
//
// The version is that of [ConnInfo].Protocol: draft-18, 19 or 16. A session
// speaks draft-18 and 19, which differ in a few rules. If the peer speaks draft-16, where all requests share one control
// stream and integers are those of QUIC, an adapter (conn16) stands between the
// session and the connection and rewrites messages and the headers of objects in
// both directions. Nothing above it knows: not the roles of requests, not the
// application, and a relay stores and forwards the same bytes to everybody.
//
// # Limitations
//
// Requests wait for the peer's SETUP, though the draft lets them overtake it.
// Objects of a PUBLISH are sent only after it was accepted, though the draft lets
// them go before. Malformed tracks that show only across streams are found by
// [TrackRules], which the application has to ask.
package moqt

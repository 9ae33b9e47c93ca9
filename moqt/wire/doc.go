// Package wire turns the messages, stream headers, objects and datagrams of
// Media over QUIC Transport into bytes and back.
//
// The tag [MOQT-18] in comments means draft-ietf-moq-transport-18, [MOQT-16]
// and [MOQT-19] the drafts 16 and 19 of it, [LOC-04]
// draft-ietf-moq-loc-04, [LOC-02] draft-ietf-moq-loc-02.
//
// Quotations leave out cross references and the marks of code; where more is left out
// there are three dots.
//
// The package is pure: it reads and writes byte slices, keeps no goroutine, no
// clock and no reader, and imports only the standard library.
//
// # Shape
//
// Everything appends and consumes. An append function adds to a slice and
// returns it. A consume function takes a slice that may hold more or less than
// one item and returns the item, the number of bytes it took, and an error:
//
//   - [ErrTruncated]: the bytes so far are fine, but the item is not complete.
//     Read more and call again with the longer slice. Nothing was changed.
//   - *[Error]: the bytes can never be right. Its Code is what the draft says the
//     session must be closed with.
//   - [ErrMalformedTrack] and [ErrTooLarge], from the few functions that say so:
//     the session lives, the track or stream does not.
//
// On error the count is 0.
//
// # Types in order of use
//
// Control and request streams: [ConsumeFrame] finds a message, [ParseMessage]
// makes it one of the [Message] types ([Setup], [Subscribe], ...), and
// [AppendMessage] writes one. A parsed message holds no reference to the bytes it
// came from. What a message may hold can depend on the request it answers or on
// the side that sent it; that is not visible in its bytes, so the session asks
// for it with the message's Check methods.
//
// Unidirectional streams: [ConsumeStreamType] tells what the stream is without
// using it up; then [ConsumeSubgroupHeader] and [SubgroupCursor], or
// [ConsumeFetchHeader] and [FetchCursor], or [ConsumeFrame] for a control
// stream. Object headers come without their payload, so that the payload can be
// passed on while it arrives.
//
// Datagrams: [ConsumeDatagramType] and [ParseDatagram].
//
// On the data plane byte slices in results point into the input, and nothing
// is allocated.
//
// # Names
//
// [Namespace] and [FullTrackName] are comparable values: they can be map keys and
// are compared with ==.
//
// # Versions
//
// Every function whose bytes depend on the draft takes a [Version]: [Draft18],
// [Draft19] or [Draft16]. The control messages of draft-16 are a kind of their own,
// [Message16], because they say which request they belong to. What another draft
// needs, and where it goes:
//
//   - integers: appendVarint and consumeVarint of Version (16: those of QUIC);
//   - Message Parameters: Params.append and bodyReader.param (16: key-value pairs by
//     parity, see params_16.go; 20: more types) and params_scope.go (which
//     message may hold which parameter);
//   - filters: Filter.Append and parseFilter (16: absolute end group; 20: bare
//     integers);
//   - messages: newMessage in message.go;
//   - fetch objects: FetchCursor (16: absolute ids; 20: one more range marker);
//   - type bits of stream headers: the masks in subgroup.go and datagram.go;
//   - properties that go from one draft to another: [TranscodeProperties].
//
// # Limitations
//
// The codec does not follow the state of a session: request ids, aliases,
// authorization token aliases and the order of messages are the session's.
// Malformed tracks that show only across objects are the relay's.
package wire

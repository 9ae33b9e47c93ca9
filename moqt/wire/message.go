package wire

import (
	"errors"
	"fmt"
)

// MessageType is the type of a message on a control or request stream.
type MessageType uint64

// [MOQT-18] Section 10, Control Messages
const (
	MsgRequestUpdate      MessageType = 0x2
	MsgSubscribe          MessageType = 0x3
	MsgSubscribeOK        MessageType = 0x4
	MsgRequestError       MessageType = 0x5
	MsgPublishNamespace   MessageType = 0x6
	MsgRequestOK          MessageType = 0x7
	MsgNamespace          MessageType = 0x8
	MsgPublishDone        MessageType = 0xb
	MsgTrackStatus        MessageType = 0xd
	MsgNamespaceDone      MessageType = 0xe
	MsgPublishBlocked     MessageType = 0xf
	MsgGoAway             MessageType = 0x10
	MsgFetch              MessageType = 0x16
	MsgFetchOK            MessageType = 0x18
	MsgPublish            MessageType = 0x1d
	MsgSubscribeNamespace MessageType = 0x50
	MsgSubscribeTracks    MessageType = 0x51
	MsgSetup              MessageType = 0x2f00

	// MsgPublishOK is still in the draft's table of messages, while its text makes
	// PUBLISH_OK a name for REQUEST_OK. It is read as a REQUEST_OK and never sent.
	MsgPublishOK MessageType = 0x1e
)

// Message is a message on a control or request stream: one of the pointer types
// *Setup, *GoAway, *Subscribe, *SubscribeOK, *Publish, *PublishDone, *Fetch,
// *FetchOK, *TrackStatus, *PublishNamespace, *SubscribeNamespace,
// *SubscribeTracks, *NamespaceAdded, *NamespaceDone, *PublishBlocked,
// *RequestUpdate, *RequestOK, *RequestError.
type Message interface {
	// Type returns the type the message is sent with.
	Type() MessageType

	// appendBody appends the message without type and length.
	appendBody(b []byte, v Version) []byte
	// parse reads all fields. The reader keeps the first error.
	parse(r *bodyReader)
	// check fails with ErrInvalidValue if the message must not be sent.
	check(v Version) error
}

// newMessage returns an empty message of the type, or nil if the type is unknown.
func newMessage(typ MessageType) Message {
	switch typ {
	case MsgRequestUpdate:
		return new(RequestUpdate)
	case MsgSubscribe:
		return new(Subscribe)
	case MsgSubscribeOK:
		return new(SubscribeOK)
	case MsgRequestError:
		return new(RequestError)
	case MsgPublishNamespace:
		return new(PublishNamespace)
	case MsgRequestOK, MsgPublishOK:
		return new(RequestOK)
	case MsgNamespace:
		return new(NamespaceAdded)
	case MsgPublishDone:
		return new(PublishDone)
	case MsgTrackStatus:
		return new(TrackStatus)
	case MsgNamespaceDone:
		return new(NamespaceDone)
	case MsgPublishBlocked:
		return new(PublishBlocked)
	case MsgGoAway:
		return new(GoAway)
	case MsgFetch:
		return new(Fetch)
	case MsgFetchOK:
		return new(FetchOK)
	case MsgPublish:
		return new(Publish)
	case MsgSubscribeNamespace:
		return new(SubscribeNamespace)
	case MsgSubscribeTracks:
		return new(SubscribeTracks)
	case MsgSetup:
		return new(Setup)
	default:
		return nil
	}
}

// Known reports whether the draft defines the type.
func (t MessageType) Known() bool { return t.name() != "" }

// knows reports whether the draft defines the type.
func (v Version) knows(t MessageType) bool {
	switch {
	case v == Draft16:
		return known16(t)
	case v >= Draft19 && t == MsgPublishOK:
		return false // "RESERVED (PUBLISH_OK in <= 17)": [MOQT-19] Section 10, Control Messages
	}
	return t.Known()
}

// OpensRequest reports whether a message of this type is the first on a request
// stream. No other message may be.
//
// [MOQT-18] Section 3.3, Session initialization
func (t MessageType) OpensRequest() bool {
	switch t {
	case MsgSubscribe, MsgPublish, MsgFetch, MsgTrackStatus, MsgPublishNamespace, MsgSubscribeNamespace, MsgSubscribeTracks:
		return true
	default:
		return false
	}
}

// String returns the draft's name, or the type in hex if it is unknown.
func (t MessageType) String() string { return codeName(t.name(), uint64(t)) }

func (t MessageType) name() string {
	switch t {
	case MsgRequestUpdate:
		return "REQUEST_UPDATE"
	case MsgSubscribe:
		return "SUBSCRIBE"
	case MsgSubscribeOK:
		return "SUBSCRIBE_OK"
	case MsgRequestError:
		return "REQUEST_ERROR"
	case MsgPublishNamespace:
		return "PUBLISH_NAMESPACE"
	case MsgRequestOK:
		return "REQUEST_OK"
	case MsgNamespace:
		return "NAMESPACE"
	case MsgPublishDone:
		return "PUBLISH_DONE"
	case MsgTrackStatus:
		return "TRACK_STATUS"
	case MsgNamespaceDone:
		return "NAMESPACE_DONE"
	case MsgPublishBlocked:
		return "PUBLISH_BLOCKED"
	case MsgGoAway:
		return "GOAWAY"
	case MsgFetch:
		return "FETCH"
	case MsgFetchOK:
		return "FETCH_OK"
	case MsgPublish:
		return "PUBLISH"
	case MsgPublishOK:
		return "PUBLISH_OK"
	case MsgSubscribeNamespace:
		return "SUBSCRIBE_NAMESPACE"
	case MsgSubscribeTracks:
		return "SUBSCRIBE_TRACKS"
	case MsgSetup:
		return "SETUP"
	default:
		return ""
	}
}

// ConsumeFrame reads the type and length of a message and finds its body, which
// points into b. It needs the whole message: at most [maxFrameHeaderLen] +
// [MaxMessageLen] bytes.
//
// A type the draft does not know is an error as soon as it is read:
// "An endpoint that receives an unknown message type MUST close the session."
// [MOQT-18] Section 10, Control Messages
func ConsumeFrame(b []byte, v Version) (typ MessageType, body []byte, n int, err error) {
	typ, size, n, err := ConsumeFrameHeader(b, v)
	if err != nil {
		return 0, nil, 0, err
	}
	if len(b)-n < size {
		return 0, nil, 0, ErrTruncated
	}
	end := n + size
	return typ, b[n:end:end], end, nil
}

// ConsumeFrameHeader reads the type of a message and the length of its body, 0 to
// MaxMessageLen bytes, which follows. Use it to read a message without looking at
// more of the stream.
func ConsumeFrameHeader(b []byte, v Version) (typ MessageType, size, n int, err error) {
	x, n, err := v.consumeVarint(b)
	if err != nil {
		return 0, 0, 0, err
	}
	typ = MessageType(x)
	if !v.knows(typ) {
		return 0, 0, 0, violation("unknown message type " + typ.String())
	}
	if len(b)-n < 2 {
		return 0, 0, 0, ErrTruncated
	}
	return typ, int(b[n])<<8 | int(b[n+1]), n + 2, nil
}

// ParseMessage reads the body of a message of the given type. The result holds no
// reference to body.
//
// The error is an *Error, or wraps [ErrMalformedTrack] if the Track Properties in
// the message say that the track is malformed; then the message is returned too,
// so that the request can be answered.
func ParseMessage(typ MessageType, body []byte, v Version) (Message, error) {
	m := newMessage(typ)
	if m == nil || !v.knows(typ) {
		return nil, violation("unknown message type " + typ.String())
	}
	r := bodyReader{b: body, v: v}
	m.parse(&r)
	if err := r.close(typ.String()); err != nil {
		if errors.Is(err, ErrMalformedTrack) {
			return m, err
		}
		return nil, err
	}
	return m, nil
}

// AppendMessage appends a whole message: type, length and body. It fails with
// [ErrInvalidValue] if the draft does not allow m to be sent, or if it is longer
// than [MaxMessageLen], and then returns b as it was.
func AppendMessage(b []byte, m Message, v Version) ([]byte, error) {
	start := len(b)
	if err := m.check(v); err != nil {
		return b, fmt.Errorf("%v: %w", m.Type(), err)
	}
	b = v.appendVarint(b, uint64(m.Type()))
	b = append(b, 0, 0)
	body := len(b)
	b = m.appendBody(b, v)
	size := len(b) - body
	if size > MaxMessageLen {
		return b[:start], fmt.Errorf("%v of %d bytes: %w", m.Type(), size, ErrInvalidValue)
	}
	b[body-2], b[body-1] = byte(size>>8), byte(size)
	return b, nil
}

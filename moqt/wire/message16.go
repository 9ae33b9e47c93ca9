package wire

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Types of the messages that only draft-16 has. The others have the same numbers in both drafts.
//
// [MOQT-16] Section 9, Control Messages
const (
	MsgPublishNamespaceDone   MessageType = 0x9
	MsgUnsubscribe            MessageType = 0xa
	MsgPublishNamespaceCancel MessageType = 0xc
	MsgSubscribeNamespace16   MessageType = 0x11
	MsgMaxRequestID           MessageType = 0x15
	MsgFetchCancel            MessageType = 0x17
	MsgRequestsBlocked        MessageType = 0x1a
	MsgClientSetup            MessageType = 0x20
	MsgServerSetup            MessageType = 0x21
)

// SetupMaxRequestID is the Setup Parameter MAX_REQUEST_ID of draft-16; in a parsed [Setup] it is one of Other.
const SetupMaxRequestID = 0x02

// What a SUBSCRIBE_NAMESPACE of draft-16 asks for.
//
// [MOQT-16] Section 9.25, SUBSCRIBE_NAMESPACE
const (
	OptionPublish   uint64 = 0 // a PUBLISH of each track
	OptionNamespace uint64 = 1 // the namespaces
	OptionBoth      uint64 = 2
)

// Message16 is a message of draft-16. There, all requests share the control stream, and most messages say which request they
// belong to.
//
// Message is what it says in the terms of later drafts: encoded with [Draft18] it means the same. Properties in it
// are in the encoding of Draft18, and codes have that draft's values.
type Message16 struct {
	Type      MessageType
	RequestID uint64  // of the request that it opens or belongs to; in REQUEST_UPDATE the new one
	Message   Message // nil if later drafts have nothing like it

	Existing uint64 // REQUEST_UPDATE: the request to be changed
	Options  uint64 // SUBSCRIBE_NAMESPACE
	Max      uint64 // MAX_REQUEST_ID, REQUESTS_BLOCKED

	// Forward is set if a SUBSCRIBE_NAMESPACE for both has the parameter FORWARD, for which its Message has no place.
	Forward Opt[bool]

	// PUBLISH_NAMESPACE_CANCEL.
	Code   RequestCode
	Reason string
}

// known16 reports whether draft-16 defines the type.
func known16(t MessageType) bool {
	switch t {
	case MsgPublishNamespaceDone, MsgUnsubscribe, MsgPublishNamespaceCancel, MsgSubscribeNamespace16, MsgMaxRequestID,
		MsgFetchCancel, MsgRequestsBlocked, MsgClientSetup, MsgServerSetup:
		return true
	case MsgSetup, MsgSubscribeNamespace, MsgSubscribeTracks, MsgPublishBlocked:
		return false
	}
	return t.Known()
}

// Opens16 reports whether a message of this type opens a request on draft-16's control stream.
func Opens16(t MessageType) bool {
	switch t {
	case MsgSubscribe, MsgPublish, MsgFetch, MsgTrackStatus, MsgPublishNamespace:
		return true
	}
	return false
}

// ParseMessage16 reads the body of a message of draft-16. The errors are those of [ParseMessage].
func ParseMessage16(typ MessageType, body []byte) (*Message16, error) {
	r := bodyReader{b: body, v: Draft16}
	m := &Message16{Type: typ}
	switch typ {
	case MsgClientSetup, MsgServerSetup:
		m.Message = r.setup16()
	case MsgGoAway:
		m.Message = &GoAway{NewSessionURI: string(r.bytes(MaxURILen, "new session URI"))}
	case MsgMaxRequestID, MsgRequestsBlocked:
		m.Max = r.varint()
	case MsgUnsubscribe, MsgFetchCancel, MsgPublishNamespaceDone:
		m.RequestID = r.varint()
	case MsgPublishNamespaceCancel:
		m.RequestID = r.varint()
		m.Code = requestCodeFrom16(r.varint())
		m.Reason = r.reason()
	case MsgSubscribeNamespace16:
		m.subscribeNamespace(&r)
	case MsgRequestUpdate:
		u := &RequestUpdate{RequestID: r.varint()}
		m.RequestID, m.Existing = u.RequestID, r.varint()
		u.Params = r.params(paramsAnyUpdate)
		m.Message = u
	case MsgSubscribe, MsgTrackStatus, MsgPublish, MsgFetch, MsgPublishNamespace:
		m.Message = newMessage(typ)
		m.Message.parse(&r)
		m.RequestID = *requestID(m.Message)
	case MsgNamespace, MsgNamespaceDone:
		m.Message = newMessage(typ)
		m.Message.parse(&r)
	case MsgSubscribeOK, MsgFetchOK, MsgPublishDone, MsgRequestOK, MsgPublishOK, MsgRequestError:
		m.RequestID = r.varint()
		m.response(&r)
	default:
		return nil, violation("unknown message type " + typ.String())
	}
	err := r.close(typ.String())
	if err != nil && !errors.Is(err, ErrMalformedTrack) {
		return nil, err
	}
	if e := m.transcode(Draft16, Draft18); err == nil {
		err = e
	}
	return m, err
}

// response reads what follows the Request ID of an answer.
func (m *Message16) response(r *bodyReader) {
	switch m.Type {
	case MsgRequestOK, MsgPublishOK:
		m.Message = &RequestOK{Params: r.params(paramsAnyOK)}
	case MsgRequestError:
		e := &RequestError{Code: requestCodeFrom16(r.varint())}
		if retry := r.varint(); retry > 0 {
			e.Retry = Some(Millis(retry - 1))
		}
		e.Reason = r.reason()
		m.Message = e
	case MsgPublishDone:
		d := new(PublishDone)
		d.parse(r)
		d.Status = swapDone(knownDone16(d.Status))
		m.Message = d
	default:
		m.Message = newMessage(m.Type)
		m.Message.parse(r)
	}
}

func (m *Message16) subscribeNamespace(r *bodyReader) {
	m.RequestID = r.varint()
	prefix := r.namespace()
	m.Options = r.varint()
	params := r.params(hasAuthToken | hasForward)
	switch m.Options {
	case OptionNamespace, OptionBoth:
		m.Message = &SubscribeNamespace{RequestID: m.RequestID, Prefix: prefix, Params: Params{AuthTokens: params.AuthTokens}}
		if m.Options == OptionBoth {
			m.Forward = params.Forward
		}
	case OptionPublish:
		m.Message = &SubscribeTracks{RequestID: m.RequestID, Prefix: prefix, Params: params}
	default:
		// Nothing is said about other values.
		r.fail(violation("unknown option of SUBSCRIBE_NAMESPACE"))
	}
}

// setup16 reads CLIENT_SETUP or SERVER_SETUP.
func (r *bodyReader) setup16() *Setup {
	count := r.varint()
	m := new(Setup)
	prev := uint64(0)
	for i := uint64(0); i < count && r.err == nil; i++ {
		kv, n, err := consumeProperty(r.b, prev, r.v)
		if err != nil {
			r.fail(err)
			break
		}
		r.b = r.b[n:]
		prev = kv.Type
		m.setOption(r, kv)
	}
	return m
}

// AppendMessage16 appends a whole message of draft-16. It fails with [ErrInvalidValue] as [AppendMessage] does, and if there
// is something in it that the draft cannot say.
func AppendMessage16(b []byte, m *Message16) ([]byte, error) {
	start := len(b)
	if m.Message != nil {
		if err := m.Message.check(Draft18); err != nil {
			return b, fmt.Errorf("%v: %w", m.Type, err)
		}
	}
	b = appendQUICVarint(b, uint64(m.Type))
	b = append(b, 0, 0)
	body := len(b)
	b, err := m.appendBody(b)
	size := len(b) - body
	if err == nil && size > MaxMessageLen {
		err = fmt.Errorf("%v of %d bytes: %w", m.Type, size, ErrInvalidValue)
	}
	if err != nil {
		return b[:start], err
	}
	b[body-2], b[body-1] = byte(size>>8), byte(size)
	return b, nil
}

func (m *Message16) appendBody(b []byte) ([]byte, error) {
	switch m.Type {
	case MsgMaxRequestID, MsgRequestsBlocked:
		return appendQUICVarint(b, m.Max), nil
	case MsgUnsubscribe, MsgFetchCancel, MsgPublishNamespaceDone:
		return appendQUICVarint(b, m.RequestID), nil
	case MsgPublishNamespaceCancel:
		b = appendQUICVarint(b, m.RequestID)
		b = appendQUICVarint(b, requestCodeTo16(m.Code))
		return appendReason(b, m.Reason, Draft16), nil
	}
	switch msg := m.Message.(type) {
	case *Setup:
		return msg.append16(b), nil
	case *GoAway:
		b = appendQUICVarint(b, uint64(len(msg.NewSessionURI)))
		return append(b, msg.NewSessionURI...), nil
	case *RequestUpdate:
		b = appendQUICVarint(b, m.RequestID)
		b = appendQUICVarint(b, m.Existing)
		return msg.Params.append(b, Draft16), nil
	case *SubscribeNamespace:
		params := msg.Params
		params.Forward = m.Forward
		return m.appendSubscribeNamespace(b, msg.Prefix, params), nil
	case *SubscribeTracks:
		return m.appendSubscribeNamespace(b, msg.Prefix, msg.Params), nil
	case *RequestOK:
		b = appendQUICVarint(b, m.RequestID)
		return msg.Params.append(b, Draft16), nil
	case *RequestError:
		b = appendQUICVarint(b, m.RequestID)
		b = appendQUICVarint(b, requestCodeTo16(msg.Code))
		b = appendQUICVarint(b, appendedRetry(msg.Retry))
		return appendReason(b, msg.Reason, Draft16), nil
	case *PublishDone:
		b = appendQUICVarint(b, m.RequestID)
		done := *msg
		done.Status = swapDone(knownDone16(msg.Status))
		return done.appendBody(b, Draft16), nil
	case *SubscribeOK:
		ok := *msg
		props, err := TranscodeProperties(msg.Properties, Draft18, Draft16)
		ok.Properties = props
		return ok.appendBody(appendQUICVarint(b, m.RequestID), Draft16), err
	case *FetchOK:
		ok := *msg
		props, err := TranscodeProperties(msg.Properties, Draft18, Draft16)
		ok.Properties = props
		return ok.appendBody(appendQUICVarint(b, m.RequestID), Draft16), err
	case *Publish:
		p := *msg
		props, err := TranscodeProperties(msg.Properties, Draft18, Draft16)
		p.Properties, p.RequestID = props, m.RequestID
		return p.appendBody(b, Draft16), err
	case *Subscribe:
		s := *msg
		s.RequestID = m.RequestID
		return s.appendBody(b, Draft16), nil
	case *TrackStatus:
		s := *msg
		s.RequestID = m.RequestID
		return s.appendBody(b, Draft16), nil
	case *Fetch:
		f := *msg
		f.RequestID = m.RequestID
		return f.appendBody(b, Draft16), nil
	case *PublishNamespace:
		p := *msg
		p.RequestID = m.RequestID
		return p.appendBody(b, Draft16), nil
	case *NamespaceAdded, *NamespaceDone:
		return msg.appendBody(b, Draft16), nil
	}
	return b, fmt.Errorf("draft-16 has no %v: %w", m.Type, ErrInvalidValue)
}

func (m *Message16) appendSubscribeNamespace(b []byte, prefix Namespace, params Params) []byte {
	b = appendQUICVarint(b, m.RequestID)
	b = prefix.append(b, Draft16)
	b = appendQUICVarint(b, m.Options)
	return params.append(b, Draft16)
}

// append16 writes the body of CLIENT_SETUP or SERVER_SETUP.
func (m *Setup) append16(b []byte) []byte {
	list := m.options(Draft16)
	slices.SortStableFunc(list, func(a, b Property) int { return cmp.Compare(a.Type, b.Type) })
	return appendCounted16(b, list)
}

// transcode rewrites the Track Properties of the message.
func (m *Message16) transcode(from, to Version) error {
	var p *Properties
	switch msg := m.Message.(type) {
	case *SubscribeOK:
		p = &msg.Properties
	case *FetchOK:
		p = &msg.Properties
	case *Publish:
		p = &msg.Properties
	default:
		return nil
	}
	out, err := TranscodeProperties(*p, from, to)
	if err != nil {
		return violation("track properties cannot be read")
	}
	*p = out
	return nil
}

// requestID returns where the Request ID of a request stands.
func requestID(m Message) *uint64 {
	switch m := m.(type) {
	case *Subscribe:
		return &m.RequestID
	case *TrackStatus:
		return &m.RequestID
	case *Publish:
		return &m.RequestID
	case *Fetch:
		return &m.RequestID
	case *PublishNamespace:
		return &m.RequestID
	}
	return new(uint64)
}

package wire

import (
	"fmt"
	"math"
)

// RequestUpdate changes parameters of a request, on the stream of that request.
//
// [MOQT-18] Section 10.9, REQUEST_UPDATE
type RequestUpdate struct {
	RequestID uint64 // a new one
	Params    Params
}

// Type returns MsgRequestUpdate.
func (*RequestUpdate) Type() MessageType { return MsgRequestUpdate }

// Check reports whether the update fits the request it is for, which a message of
// type of opened.
func (m *RequestUpdate) Check(of MessageType) error {
	allowed, ok := updateParams(of)
	if !ok {
		return violation("REQUEST_UPDATE for a " + of.String())
	}
	return m.Params.checkReceived(allowed)
}

func (m *RequestUpdate) check(v Version) error { return m.Params.checkSent(paramsAnyUpdate) }

func (m *RequestUpdate) appendBody(b []byte, v Version) []byte {
	b = v.appendVarint(b, m.RequestID)
	return m.Params.append(b, v)
}

func (m *RequestUpdate) parse(r *bodyReader) {
	m.RequestID = r.varint()
	m.Params = r.params(paramsAnyUpdate)
}

// RequestOK accepts a request other than SUBSCRIBE and FETCH, or an update of one.
// The draft calls it PUBLISH_OK, REQUEST_UPDATE_OK and so on by what it answers.
//
// [MOQT-18] Section 10.5, REQUEST_OK
type RequestOK struct {
	Params     Params
	Properties Properties // Track Properties; only in answer to TRACK_STATUS
}

// Type returns MsgRequestOK.
func (*RequestOK) Type() MessageType { return MsgRequestOK }

// Check reports whether the answer fits the message it answers, which has type to. In draft-16 it drops the parameters that
// such an answer does not have: "If it appears in some other type of message, it MUST be ignored."
// [MOQT-16] Section 9.2.2, Message Parameters
func (m *RequestOK) Check(to MessageType, v Version) error {
	allowed, ok := replyParams(to, v)
	if !ok {
		return violation("REQUEST_OK in answer to " + to.String())
	}
	// "If an endpoint receives Track Properties in one of these messages it MUST
	// close the session with a PROTOCOL_VIOLATION."
	// [MOQT-18] Section 10.5, REQUEST_OK
	if to != MsgTrackStatus && len(m.Properties) > 0 {
		return violation("REQUEST_OK with track properties in answer to " + to.String())
	}
	if v == Draft16 {
		m.Params.keep(allowed)
		return nil
	}
	return m.Params.checkReceived(allowed)
}

func (m *RequestOK) check(v Version) error { return m.Params.checkSent(paramsAnyOK) }

func (m *RequestOK) appendBody(b []byte, v Version) []byte {
	b = m.Params.append(b, v)
	return append(b, m.Properties...)
}

func (m *RequestOK) parse(r *bodyReader) {
	m.Params = r.params(paramsAnyOK)
	m.Properties = r.trackProperties()
}

// RequestError refuses a request or an update of one.
//
// [MOQT-18] Section 10.6, REQUEST_ERROR
type RequestError struct {
	Code     RequestCode
	Retry    Opt[Millis] // wait this long before the next try; absent: do not try again
	Reason   string      // cut to MaxReasonLen when sent
	Redirect *Redirect   // with RequestRedirect, and only then
}

// Redirect says where and under what name a request could succeed.
//
// [MOQT-18] Section 10.6.1, Redirect Structure
type Redirect struct {
	ConnectURI string        // empty: where the session is now
	Track      FullTrackName // zero: as in the request
}

// Type returns MsgRequestError.
func (*RequestError) Type() MessageType { return MsgRequestError }

// Check reports what depends on the message that m answers, which has type to, and
// on whether the receiver is the server.
//
// [MOQT-18] Section 10.6.1, Redirect Structure
func (m *RequestError) Check(to MessageType, atServer bool) error {
	if m.Redirect == nil {
		return nil
	}
	// "If a server receives a Redirect with a non-zero Connect URI Length it MUST
	// close the session with a PROTOCOL_VIOLATION."
	if atServer && m.Redirect.ConnectURI != "" {
		return violation("redirect from a client names a URI")
	}
	// "An endpoint that receives a non-empty Track Name in a Redirect for a
	// namespace-scoped request MUST close the session with a PROTOCOL_VIOLATION."
	// SUBSCRIBE_TRACKS names a namespace too.
	switch to {
	case MsgPublishNamespace, MsgSubscribeNamespace, MsgSubscribeTracks:
		if m.Redirect.Track.Name != "" {
			return violation("redirect of a namespace request names a track")
		}
	}
	return nil
}

func (m *RequestError) check(v Version) error {
	if (m.Code == RequestRedirect) != (m.Redirect != nil) {
		return fmt.Errorf("redirect does not go with code %v: %w", m.Code, ErrInvalidValue)
	}
	if m.Redirect == nil {
		return nil
	}
	if len(m.Redirect.ConnectURI) > MaxURILen {
		return fmt.Errorf("URI of %d bytes: %w", len(m.Redirect.ConnectURI), ErrInvalidValue)
	}
	return m.Redirect.Track.check()
}

func (m *RequestError) appendBody(b []byte, v Version) []byte {
	b = v.appendVarint(b, uint64(m.Code))
	b = v.appendVarint(b, appendedRetry(m.Retry))
	b = appendReason(b, m.Reason, v)
	if m.Redirect != nil {
		b = v.appendVarint(b, uint64(len(m.Redirect.ConnectURI)))
		b = append(b, m.Redirect.ConnectURI...)
		b = m.Redirect.Track.append(b, v)
	}
	return b
}

// appendedRetry returns the Retry Interval of the wire: "The minimum time (in
// milliseconds) before the request SHOULD be sent again, plus one. If the value is
// 0, the request SHOULD NOT be retried."
func appendedRetry(retry Opt[Millis]) uint64 {
	m, ok := retry.Get()
	if !ok {
		return 0
	}
	if m == math.MaxUint64 {
		return math.MaxUint64
	}
	return uint64(m) + 1
}

func (m *RequestError) parse(r *bodyReader) {
	m.Code = RequestCode(r.varint())
	if retry := r.varint(); retry > 0 {
		m.Retry = Some(Millis(retry - 1))
	}
	m.Reason = r.reason()
	if m.Code == RequestRedirect {
		m.Redirect = &Redirect{
			ConnectURI: string(r.bytes(MaxURILen, "connect URI")),
			Track:      r.fullTrackName(),
		}
	}
}

package wire

import "fmt"

// GoAway says that the sender will close the session soon, or on a request stream
// that the request should move.
//
// [MOQT-18] Section 10.4, GOAWAY
type GoAway struct {
	NewSessionURI string      // empty: where the session is now
	Timeout       Millis      // how long the sender will wait; 0 is unknown
	RequestID     Opt[uint64] // control stream only: smallest id of the receiver's that was not processed
}

// Type returns MsgGoAway.
func (*GoAway) Type() MessageType { return MsgGoAway }

// Check reports what depends on where the message came from: the stream it was on,
// and whether the receiver is the server.
func (m *GoAway) Check(onControlStream, atServer bool, v Version) error {
	// "If a server receives a GOAWAY with a non-zero New Session URI Length it MUST
	// close the session with a PROTOCOL_VIOLATION."
	if atServer && m.NewSessionURI != "" {
		return violation("GOAWAY from a client names a URI")
	}
	if v >= Draft19 {
		return nil
	}
	id, ok := m.RequestID.Get()
	// "Request ID: Present only when sent on the control stream."
	if ok != onControlStream {
		return violation("GOAWAY with a request id belongs on the control stream, without on a request stream")
	}
	// "If the parity of the Request ID does not match the receiver's parity, the
	// endpoint MUST close the session with INVALID_REQUEST_ID."
	if ok && (id%2 == 1) != atServer {
		return &Error{Code: SessionInvalidRequestID, Reason: "request id in GOAWAY is not one of the receiver's"}
	}
	return nil
}

func (m *GoAway) check(v Version) error {
	if len(m.NewSessionURI) > MaxURILen {
		return fmt.Errorf("URI of %d bytes: %w", len(m.NewSessionURI), ErrInvalidValue)
	}
	return nil
}

func (m *GoAway) appendBody(b []byte, v Version) []byte {
	b = v.appendVarint(b, uint64(len(m.NewSessionURI)))
	b = append(b, m.NewSessionURI...)
	b = v.appendVarint(b, uint64(m.Timeout))
	if id, ok := m.RequestID.Get(); ok && v < Draft19 {
		b = v.appendVarint(b, id)
	}
	return b
}

func (m *GoAway) parse(r *bodyReader) {
	// "The maximum length of the New Session URI is 8,192 bytes. If an endpoint
	// receives a length exceeding the maximum, it MUST close the session with a
	// PROTOCOL_VIOLATION."
	m.NewSessionURI = string(r.bytes(MaxURILen, "new session URI"))
	m.Timeout = Millis(r.varint())
	if r.err == nil && len(r.b) > 0 && r.v < Draft19 { // [MOQT-19] Section 10.4, GOAWAY has none
		m.RequestID = Some(r.varint())
	}
}

package wire

import "bytes"

// bodyReader takes fields off a block whose length is known: the body of a
// message or a parameter. The first error sticks and every later field is zero, so
// a message is read field by field and the error looked at once, by close.
type bodyReader struct {
	b   []byte // what is left
	v   Version
	err error
}

func (r *bodyReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// close returns the first error. It is an error if bytes are left, or if the block
// ended inside a field.
//
// "If the length does not match the length of the Message Payload, the receiver
// MUST close the session with a PROTOCOL_VIOLATION."
// [MOQT-18] Section 10, Control Messages
func (r *bodyReader) close(what string) error {
	if r.err != nil {
		return complete(r.err, what)
	}
	if len(r.b) > 0 {
		return violation(what + " has bytes after its last field")
	}
	return nil
}

// advance drops n bytes, or fails with err.
func (r *bodyReader) advance(n int, err error) {
	if err != nil {
		r.fail(err)
		return
	}
	r.b = r.b[n:]
}

func (r *bodyReader) varint() uint64 {
	if r.err != nil {
		return 0
	}
	x, n, err := r.v.consumeVarint(r.b)
	r.advance(n, err)
	return x
}

func (r *bodyReader) uint8() uint8 {
	if r.err != nil {
		return 0
	}
	if len(r.b) == 0 {
		r.fail(ErrTruncated)
		return 0
	}
	x := r.b[0]
	r.b = r.b[1:]
	return x
}

func (r *bodyReader) location() Location {
	return Location{Group: r.varint(), Object: r.varint()}
}

// bytes reads a length of at most limit and as many bytes. The result points into
// the block. what names the field.
func (r *bodyReader) bytes(limit uint64, what string) []byte {
	l := r.varint()
	if r.err != nil {
		return nil
	}
	if l > limit {
		r.fail(violation(what + " is too long"))
		return nil
	}
	if uint64(len(r.b)) < l {
		r.fail(ErrTruncated)
		return nil
	}
	x := r.b[:l]
	r.b = r.b[l:]
	return x
}

func (r *bodyReader) namespace() Namespace {
	if r.err != nil {
		return Namespace{}
	}
	ns, n, err := consumeNamespace(r.b, r.v)
	r.advance(n, err)
	return ns
}

func (r *bodyReader) fullTrackName() FullTrackName {
	if r.err != nil {
		return FullTrackName{}
	}
	t, n, err := consumeFullTrackName(r.b, r.v)
	r.advance(n, err)
	return t
}

// params reads Number of Parameters and the parameters, which must all be in
// allowed.
func (r *bodyReader) params(allowed paramSet) Params {
	if r.err != nil {
		return Params{}
	}
	p, n, err := consumeParams(r.b, r.v)
	r.advance(n, err)
	switch {
	case err != nil:
	case r.v == Draft16:
		// "If it appears in some other type of message, it MUST be ignored."
		// [MOQT-16] Section 9.2.2, Message Parameters
		p.keep(allowed)
	default:
		if err := p.checkReceived(allowed); err != nil {
			r.fail(err)
		}
	}
	return p
}

// trackProperties takes the rest of the block.
func (r *bodyReader) trackProperties() Properties {
	if r.err != nil || len(r.b) == 0 {
		return nil
	}
	p := Properties(bytes.Clone(r.b))
	r.b = nil
	if _, err := p.Track(r.v); err != nil {
		r.fail(err)
	}
	return p
}

// reason reads a Reason Phrase.
//
// "If an endpoint receives a length exceeding the maximum, it MUST close the
// session with a PROTOCOL_VIOLATION." [MOQT-18] Section 1.4.4, Reason Phrase Structure
func (r *bodyReader) reason() string {
	return string(r.bytes(MaxReasonLen, "reason phrase"))
}

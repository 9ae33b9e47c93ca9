package moqt

import (
	"errors"
	"io"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// receive16 is a data stream from a peer that speaks draft-16: the session reads what draft-18 would say.
type receive16 struct {
	ReceiveStream
	c *conn16

	kind    wire.StreamKind
	buf     []byte // buf[r:] was read and not looked at
	r       int
	out     []byte // out[o:] was rewritten and not read
	o       int
	scratch [64]byte // where out begins
	left    uint64   // bytes of payload to come
	err     error    // why nothing more comes

	header                  *wire.SubgroupHeader // held back until the first object is there
	subgroupIn, subgroupOut wire.SubgroupCursor
	fetchIn, fetchOut       wire.FetchCursor
}

// firstRead is how much is read at once while a header is looked for. Payloads are read straight into the caller's buffer.
const firstRead = 512

// Read implements [ReceiveStream].
func (r *receive16) Read(b []byte) (int, error) {
	for {
		switch {
		case r.o < len(r.out):
			n := copy(b, r.out[r.o:])
			r.o += n
			return n, nil
		case r.err != nil:
			return 0, r.err
		case r.left > 0:
			return r.payload(b)
		}
		r.out, r.o = r.scratch[:0], 0
		err := r.rewrite()
		switch {
		case errors.Is(err, wire.ErrTruncated):
			if err := r.fill(); err != nil {
				return 0, err
			}
		case err != nil:
			r.out = r.out[:0]
			r.err = r.c.s.failWire(err)
			if errors.Is(err, wire.ErrTooLarge) {
				// As if the peer had thought better of it; the session need not close for it.
				r.ReceiveStream.Stop(wire.StreamCodeTo16(wire.StreamExcessiveLoad))
				r.err = &StreamError{Code: uint64(wire.StreamExcessiveLoad)}
			}
		}
	}
}

// payload reads from the current payload.
func (r *receive16) payload(b []byte) (n int, err error) {
	if uint64(len(b)) > r.left {
		b = b[:r.left]
	}
	if r.r < len(r.buf) {
		n = copy(b, r.buf[r.r:])
		r.r += n
	} else {
		n, err = r.ReceiveStream.Read(b)
		err = from16(err)
	}
	r.left -= uint64(n)
	return n, err
}

// fill reads more of a header. It notes the end of the stream; a deadline lets reading go on.
func (r *receive16) fill() error {
	if r.r > 0 {
		r.buf = r.buf[:copy(r.buf, r.buf[r.r:])]
		r.r = 0
	}
	if len(r.buf) == cap(r.buf) {
		grown := make([]byte, len(r.buf), max(firstRead, 2*len(r.buf)))
		copy(grown, r.buf)
		r.buf = grown
	}
	n, err := r.ReceiveStream.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf = r.buf[:len(r.buf)+n]
	switch {
	case n > 0 || err == nil:
		return nil
	case errors.Is(err, io.EOF):
		return r.atEnd()
	}
	return from16(err)
}

// atEnd is called at FIN.
func (r *receive16) atEnd() error {
	switch {
	case r.header != nil && len(r.buf) == r.r:
		r.appendHeader(0, false)
	case len(r.buf) > r.r:
		// "If a stream ends gracefully ... in the middle of a serialized Object, the session SHOULD be closed with a
		// PROTOCOL_VIOLATION."
		// [MOQT-16] Section 10.4, Streams
		r.err = r.c.s.violation("stream ends inside a header")
		return nil
	}
	r.err = io.EOF
	return nil
}

// from16 gives the code of a reset its number in draft-18.
func from16(err error) error {
	var se *StreamError
	if errors.As(err, &se) {
		return &StreamError{Remote: se.Remote, Code: uint64(wire.StreamCodeFrom16(se.Code))}
	}
	return err
}

// rewrite takes the next header from buf to out.
func (r *receive16) rewrite() error {
	b := r.buf[r.r:]
	switch r.kind {
	case wire.StreamKindSubgroup:
		return r.object(b)
	case wire.StreamKindFetch:
		return r.item(b)
	}
	typ, _, err := wire.ConsumeStreamType(b, wire.Draft16)
	if err != nil {
		return err
	}
	if typ.Kind() == wire.StreamKindFetch {
		h, n, err := wire.ConsumeFetchHeader(b, wire.Draft16)
		if err != nil {
			return err
		}
		return r.fetchHeader(h, n)
	}
	h, n, err := wire.ConsumeSubgroupHeader(b, wire.Draft16)
	if err != nil {
		return err
	}
	r.header, r.kind = &h, wire.StreamKindSubgroup
	r.subgroupIn, r.subgroupOut = h.Cursor(), h.Cursor()
	r.r += n
	return nil
}

// appendHeader rewrites the header of a subgroup.
//
// Draft-16 does not say whether the first object on a stream is the first of its subgroup. It surely is if it gives the
// subgroup its id, or if there can be none before it.
func (r *receive16) appendHeader(first uint64, started bool) {
	r.header.FirstObject = started && (first == 0 || r.header.IDMode == wire.SubgroupIDFirstObject)
	r.out = r.header.Append(r.out, adaptedVersion)
	r.header = nil
}

func (r *receive16) fetchHeader(h wire.FetchHeader, n int) error {
	r.c.mu.Lock()
	of := r.c.byID[h.RequestID]
	known := r.c.wasUsed(h.RequestID) && h.RequestID&1 == r.c.next&1
	r.c.mu.Unlock()
	switch {
	case of != nil && of.local && of.opener == wire.MsgFetch:
	case known: // it has ended
		r.ReceiveStream.Stop(uint64(wire.StreamCancelled))
		r.err = &StreamError{Code: uint64(wire.StreamCancelled)}
		return nil
	default:
		return &wire.Error{Code: wire.SessionProtocolViolation, Reason: "stream for a FETCH that was not sent"}
	}
	r.kind = wire.StreamKindFetch
	r.fetchIn.Descending, r.fetchOut.Descending = of.descending, of.descending
	r.out = wire.FetchHeader{RequestID: of.sess}.Append(r.out, adaptedVersion)
	r.r += n
	return nil
}

func (r *receive16) object(b []byte) error {
	o, n, err := r.subgroupIn.Consume(b, wire.Draft16)
	if err != nil {
		return err
	}
	if o.Properties, err = wire.TranscodeProperties(o.Properties, wire.Draft16, adaptedVersion); err != nil {
		return err
	}
	if r.header != nil {
		r.appendHeader(o.ID, true)
	}
	if r.out, err = r.subgroupOut.Append(r.out, &o, adaptedVersion); err != nil {
		return &wire.Error{Code: wire.SessionProtocolViolation, Reason: err.Error()}
	}
	r.left = o.PayloadLen
	r.r += n
	return nil
}

func (r *receive16) item(b []byte) error {
	item, n, err := r.fetchIn.Consume(b, wire.Draft16)
	if err != nil {
		return err
	}
	if item.Properties, err = wire.TranscodeProperties(item.Properties, wire.Draft16, adaptedVersion); err != nil {
		return err
	}
	if r.out, err = r.fetchOut.Append(r.out, &item, adaptedVersion); err != nil {
		return &wire.Error{Code: wire.SessionProtocolViolation, Reason: err.Error()}
	}
	r.left = item.PayloadLen
	r.r += n
	return nil
}

// Stop implements [ReceiveStream].
func (r *receive16) Stop(code uint64) {
	r.ReceiveStream.Stop(wire.StreamCodeTo16(wire.StreamCode(code)))
}

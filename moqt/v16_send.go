package moqt

import (
	"fmt"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// max16 is the largest integer that draft-16 can carry.
const max16 = 1<<62 - 1

// fits16 returns an error if one of the ids cannot be sent.
func fits16(ids ...uint64) error {
	for _, id := range ids {
		if id > max16 {
			return fmt.Errorf("moqt: draft-16 cannot carry the id %d: %w", id, wire.ErrInvalidValue)
		}
	}
	return nil
}

// send16 is a data stream to a peer that speaks draft-16: the session writes what draft-18 says.
type send16 struct {
	SendStream
	c *conn16

	kind wire.StreamKind
	head []byte // the beginning of a header whose rest is to come
	left uint64 // bytes of payload to come
	err  error  // why nothing more can be written

	subgroupIn, subgroupOut wire.SubgroupCursor
	fetchIn, fetchOut       wire.FetchCursor
}

// Write implements [SendStream]. After an error the stream is of no more use.
func (w *send16) Write(b []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if len(b) == 0 {
		return w.SendStream.Write(nil)
	}
	scratch := getBuffer()
	defer putBuffer(scratch)
	out, err := w.rewrite((*scratch)[:0], b)
	*scratch = out[:0]
	if err == nil && len(out) > 0 {
		_, err = w.SendStream.Write(out)
	}
	if err != nil {
		w.err = err
		return 0, err
	}
	return len(b), nil
}

// rewrite appends to out what b means. Long payloads are written at once, after what is in out.
func (w *send16) rewrite(out, b []byte) ([]byte, error) {
	for len(b) > 0 {
		if w.kind == wire.StreamKindPadding {
			return out, nil // draft-16 has none
		}
		if w.left > 0 {
			n := len(b)
			if uint64(n) > w.left {
				n = int(w.left)
			}
			w.left -= uint64(n)
			if len(out)+n <= joinLimit {
				out = append(out, b[:n]...)
			} else {
				if len(out) > 0 {
					if _, err := w.SendStream.Write(out); err != nil {
						return out, err
					}
					out = out[:0]
				}
				if _, err := w.SendStream.Write(b[:n]); err != nil {
					return out, err
				}
			}
			b = b[n:]
			continue
		}
		if len(w.head) > 0 {
			w.head = append(w.head, b...)
			b = w.head
		}
		more, n, err := w.header(out, b)
		if err == wire.ErrTruncated {
			w.head = append(w.head[:0], b...)
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out, b = more, b[n:]
		w.head = nil
	}
	return out, nil
}

// header rewrites the header at the beginning of b and says how long it is.
func (w *send16) header(out, b []byte) (_ []byte, n int, err error) {
	switch w.kind {
	case wire.StreamKindSubgroup:
		return w.object(out, b)
	case wire.StreamKindFetch:
		return w.item(out, b)
	}
	typ, _, err := wire.ConsumeStreamType(b, adaptedVersion)
	if err != nil {
		return out, 0, err
	}
	switch typ.Kind() {
	case wire.StreamKindSubgroup:
		var h wire.SubgroupHeader
		if h, n, err = wire.ConsumeSubgroupHeader(b, adaptedVersion); err != nil {
			return out, 0, err
		}
		if err := fits16(h.GroupID, h.SubgroupID); err != nil {
			return out, 0, err
		}
		w.subgroupIn, w.subgroupOut = h.Cursor(), h.Cursor()
		out = h.Append(out, wire.Draft16)
	case wire.StreamKindFetch:
		var h wire.FetchHeader
		if h, n, err = wire.ConsumeFetchHeader(b, adaptedVersion); err != nil {
			return out, 0, err
		}
		r := w.c.bySession(h.RequestID)
		if r == nil {
			return out, 0, ErrClosed
		}
		w.fetchIn.Descending, w.fetchOut.Descending = r.descending, r.descending
		out = wire.FetchHeader{RequestID: r.id}.Append(out, wire.Draft16)
	default:
		n = len(b)
	}
	w.kind = typ.Kind()
	return out, n, nil
}

func (w *send16) object(out, b []byte) ([]byte, int, error) {
	o, n, err := w.subgroupIn.Consume(b, adaptedVersion)
	if err != nil {
		return out, 0, err
	}
	if o.Properties, err = wire.TranscodeProperties(o.Properties, adaptedVersion, wire.Draft16); err != nil {
		return out, 0, err
	}
	if err := fits16(o.ID); err != nil {
		return out, 0, err
	}
	w.left = o.PayloadLen
	out, err = w.subgroupOut.Append(out, &o, wire.Draft16)
	return out, n, err
}

func (w *send16) item(out, b []byte) ([]byte, int, error) {
	item, n, err := w.fetchIn.Consume(b, adaptedVersion)
	if err != nil {
		return out, 0, err
	}
	if item.Properties, err = wire.TranscodeProperties(item.Properties, adaptedVersion, wire.Draft16); err != nil {
		return out, 0, err
	}
	if item.Kind != wire.FetchObject { // the end of a group can be given as its largest id
		item.Location.Object = min(item.Location.Object, max16)
	}
	if err := fits16(item.Location.Group, item.Location.Object, item.SubgroupID); err != nil {
		return out, 0, err
	}
	w.left = item.PayloadLen
	out, err = w.fetchOut.Append(out, &item, wire.Draft16)
	return out, n, err
}

// Reset implements [SendStream].
func (w *send16) Reset(code uint64) {
	w.SendStream.Reset(wire.StreamCodeTo16(wire.StreamCode(code)))
}

// OnAcked implements [AckTellerStream].
func (w *send16) OnAcked(f func(at time.Time)) {
	if t, ok := w.SendStream.(AckTellerStream); ok {
		t.OnAcked(f)
	}
}

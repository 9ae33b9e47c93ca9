package moqt

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/priority"
)

// FetchWriter sends the answer to a FETCH. One goroutine writes; Reset, SetWriteDeadline, Priority and Context may be called
// from others.
type FetchWriter struct {
	noRole
	s *Session
	h *handle

	cursor wire.FetchCursor // owned by the goroutine that writes, as left
	left   uint64           // bytes of the current payload to come

	mu       sync.Mutex // guards what follows; that of priorities may be taken with it held
	priority uint8
	stream   SendStream // nil before Accept
	entry    *rankedStream
	ended    bool // Close or Reset was called, or the peer has cancelled
}

func (s *Session) newFetchWriter(h *handle, m *wire.Fetch) *FetchWriter {
	w := &FetchWriter{s: s, h: h, priority: m.Params.SubscriberPriority.Or(wire.DefaultSubscriberPriority)}
	w.cursor.Descending = descending(&m.Params)
	return w
}

// open opens the stream.
func (w *FetchWriter) open() error {
	stream, err := w.s.conn.OpenUniStream(w.h.ctx)
	if err != nil {
		if w.h.ctx.Err() != nil {
			err = w.h.cause()
		}
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		stream.Reset(uint64(wire.StreamCancelled))
		return w.h.cause()
	}
	w.stream = stream
	w.entry = w.s.priorities.add(w.key(), stream)
	context.AfterFunc(stream.Context(), func() { w.s.priorities.remove(w.entry, false) })
	return nil
}

// start writes the stream's header. It is not left to the first object, since without it the peer would not know what a
// stream belongs to that is reset before.
func (w *FetchWriter) start() error {
	if err := w.write(wire.FetchHeader{RequestID: w.h.id}.Append(nil, w.s.version)); err != nil {
		return err
	}
	w.stream.SetReliableBoundary()
	return nil
}

// fetchRequests sets the requests of fetches apart from those of publications in a [priority.Key].
const fetchRequests = 1 << 63

// key returns the place of the stream among those of the session. Objects of a fetch can have different publisher
// priorities; the stream has one place, that of the default. w.mu is held.
func (w *FetchWriter) key() priority.Key {
	return priority.Key{
		Subscriber: w.priority,
		Publisher:  wire.DefaultPublisherPriority,
		Request:    fetchRequests | w.h.id,
	}
}

// update implements role.
func (w *FetchWriter) update(m *wire.RequestUpdate) error {
	w.mu.Lock()
	w.priority = m.Params.SubscriberPriority.Or(w.priority)
	if w.entry != nil {
		w.s.priorities.move(w.entry, w.key())
	}
	w.mu.Unlock()
	w.h.send(&wire.RequestOK{})
	return nil
}

// readEnd implements role. A FIN only means that the peer will not change the request.
func (w *FetchWriter) readEnd(err error) { w.h.resetEnds(err) }

// end implements role.
//
// "The Publisher can destroy fetch state as soon as it has received a STOP_SENDING. It MUST reset the bidi request stream
// and unidirectional data stream associated with the FETCH."
// [MOQT-18] Section 5.2, Fetch State Management
func (w *FetchWriter) end() {
	w.mu.Lock()
	ended, stream := w.ended, w.stream
	w.ended = true
	w.mu.Unlock()
	if !ended && stream != nil {
		stream.Reset(uint64(wire.StreamCancelled))
	}
}

// WriteObject sends an object, or a range if Gap is set. Objects must be in the order asked for.
func (w *FetchWriter) WriteObject(o FetchObject, payload []byte) error {
	o.PayloadLen = uint64(len(payload))
	return w.writeItem(&o, payload)
}

// WriteHeader begins an object of o.PayloadLen bytes, which Write then sends.
func (w *FetchWriter) WriteHeader(o FetchObject) error {
	if err := w.writeItem(&o, nil); err != nil {
		return err
	}
	w.left = o.PayloadLen
	return nil
}

// writeItem writes the header of an object and its payload, or a range.
func (w *FetchWriter) writeItem(o *FetchObject, payload []byte) error {
	if w.left > 0 {
		return fmt.Errorf("moqt: %d bytes of the object before are missing", w.left)
	}
	scratch := getBuffer()
	defer putBuffer(scratch)
	item := o.wire()
	b, err := w.cursor.Append((*scratch)[:0], &item, w.s.version)
	*scratch = b
	if err != nil {
		return err
	}
	together := len(b)+len(payload) <= joinLimit
	if together {
		b = append(b, payload...)
		*scratch = b
	}
	if err := w.write(b); err != nil {
		return err
	}
	if together {
		return nil
	}
	return w.write(payload)
}

func (o *FetchObject) wire() wire.FetchItem {
	item := wire.FetchItem{Location: wire.Location{Group: o.Group, Object: o.Object}}
	switch o.Gap {
	case GapNonExistent:
		item.Kind = wire.FetchNonExistentRange
		return item
	case GapUnknown:
		item.Kind = wire.FetchUnknownRange
		return item
	}
	item.SubgroupID = o.Subgroup
	item.Datagram = o.Datagram
	item.Priority = o.Priority
	item.Properties = o.Properties
	item.PayloadLen = o.PayloadLen
	return item
}

func (w *FetchWriter) write(b []byte) error {
	if w.h.ctx.Err() != nil {
		return w.h.cause()
	}
	_, err := w.s.priorities.write(w.entry, b)
	return err
}

// Write sends payload of the object begun by WriteHeader.
func (w *FetchWriter) Write(b []byte) (int, error) {
	if uint64(len(b)) > w.left {
		return 0, errors.New("moqt: more payload than the header says")
	}
	if w.h.ctx.Err() != nil {
		return 0, w.h.cause()
	}
	n, err := w.s.priorities.write(w.entry, b)
	w.left -= uint64(n)
	return n, err
}

// Close ends the answer: all objects in the range that exist were sent.
//
// "If no Objects exist in the requested range, the publisher opens the unidirectional stream, sends the FETCH_HEADER ...
// and closes the stream with a FIN."
// [MOQT-18] Section 10.12.3, Fetch Handling
func (w *FetchWriter) Close() error {
	if w.left > 0 {
		return fmt.Errorf("moqt: %d bytes of the last object are missing", w.left)
	}
	w.mu.Lock()
	ended := w.ended
	w.ended = true
	w.mu.Unlock()
	if ended {
		return w.h.cause()
	}
	err := w.stream.Close()
	w.h.sendLast()
	w.h.end(ErrClosed)
	return err
}

// Reset abandons the answer.
func (w *FetchWriter) Reset(code wire.StreamCode) {
	w.mu.Lock()
	ended := w.ended
	w.ended = true
	w.mu.Unlock()
	if ended {
		return
	}
	w.stream.Reset(uint64(code))
	w.h.sendLast()
	w.h.end(ErrClosed)
}

// SetWriteDeadline sets when a blocked Write gives up; the error then matches os.ErrDeadlineExceeded.
func (w *FetchWriter) SetWriteDeadline(t time.Time) error { return w.stream.SetWriteDeadline(t) }

// Priority returns the subscriber's priority, which it may change.
func (w *FetchWriter) Priority() uint8 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.priority
}

// Context ends when the peer has cancelled the FETCH, after Close or Reset, and with the session.
func (w *FetchWriter) Context() context.Context { return w.h.ctx }

// GoAway asks the peer to make the FETCH anew elsewhere (empty: on this session). After timeout, if it is not 0, it ends here.
func (w *FetchWriter) GoAway(uri string, timeout time.Duration) error {
	return w.h.sendGoAway(uri, timeout)
}

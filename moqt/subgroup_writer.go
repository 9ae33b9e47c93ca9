package moqt

import (
	"context"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// SubgroupWriter sends the objects of one stream. One goroutine writes; Reset, SetWriteDeadline and Context may be called
// from others.
//
// The header is held back until the first Write, so that it goes out with the first object, and survives a reset where the
// transport can do that.
type SubgroupWriter struct {
	p      *Publication
	stream SendStream
	head   SubgroupHeader
	entry  *rankedStream
	cursor wire.SubgroupCursor // owned by the goroutine that writes

	mu     sync.Mutex                    // guards what follows
	header [wire.MaxStreamHeaderLen]byte // what of it was not written is header[:held]
	held   int
	ended  bool // Close or Reset was called
	closed bool // Close was
}

// OpenSubgroup opens a stream for objects of a subgroup. It blocks while the peer allows no more streams. It fails with
// [ErrNotForwarding] in Forward State 0.
//
// "The publisher does not send Objects if the Forward State is 0 ..."
// [MOQT-18] Section 5.1, Subscriptions
func (p *Publication) OpenSubgroup(ctx context.Context, h SubgroupHeader) (*SubgroupWriter, error) {
	if err := p.maySend(); err != nil {
		return nil, err
	}
	stream, err := p.s.conn.OpenUniStream(ctx)
	if err != nil {
		if p.s.ctx.Err() != nil {
			err = context.Cause(p.s.ctx)
		}
		return nil, err
	}
	w := &SubgroupWriter{p: p, stream: stream, head: h}
	header := h.wire(p.alias)
	w.held = len(header.Append(w.header[:0], p.s.version))
	w.cursor = header.Cursor()

	p.mu.Lock()
	if p.closing {
		p.mu.Unlock()
		stream.Reset(uint64(wire.StreamCancelled))
		return nil, p.h.cause()
	}
	p.streams++
	p.writers[w] = struct{}{}
	w.entry = p.s.priorities.add(p.key(&p.state, w.publisherPriority(), h.Group, h.Subgroup), stream)
	p.mu.Unlock()
	p.s.stats.subgroupsSent.Add(1)
	p.s.logSubgroup("created", p.alias, &h)
	context.AfterFunc(stream.Context(), w.forget)
	return w, nil
}

// maySend returns why no object may be sent now.
func (p *Publication) maySend() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closing:
		return p.h.cause()
	case !p.state.Forward:
		return ErrNotForwarding
	}
	return nil
}

func (w *SubgroupWriter) publisherPriority() uint8 {
	if w.head.HasPriority {
		return w.head.Priority
	}
	return w.p.props.Priority()
}

// rank gives the stream its place after a change of state. p.mu is held.
func (w *SubgroupWriter) rank(state PublicationState) {
	w.p.s.priorities.move(w.entry, w.p.key(&state, w.publisherPriority(), w.head.Group, w.head.Subgroup))
}

// forget takes the stream off the books when it has ended.
func (w *SubgroupWriter) forget() {
	w.p.mu.Lock()
	delete(w.p.writers, w)
	w.p.mu.Unlock()
	w.mu.Lock()
	closed := w.closed
	w.mu.Unlock()
	w.p.s.priorities.remove(w.entry, !closed)
}

// joinLimit is up to how many bytes a header and what follows are copied together, to go out in one packet.
const joinLimit = 1200

// takeHeader appends the header to b if it was not written yet, and says how long it is.
func (w *SubgroupWriter) takeHeader(b []byte) ([]byte, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return b, 0 // the stream says what is wrong
	}
	n := w.held
	w.held = 0
	return append(b, w.header[:n]...), n
}

// Write sends bytes of objects that are encoded already, headers included. b need not hold whole objects.
// The errors are those of [SendStream].
func (w *SubgroupWriter) Write(b []byte) (int, error) {
	scratch := getBuffer()
	defer putBuffer(scratch)
	head, n := w.takeHeader((*scratch)[:0])
	if n == 0 {
		return w.send(b)
	}
	return w.write(head, b, true)
}

// write writes head and b, in one piece if they are small. If the stream's header is in head, that survives a reset.
func (w *SubgroupWriter) write(head, b []byte, first bool) (int, error) {
	together := len(head)+len(b) <= joinLimit
	if together {
		head = append(head, b...)
	}
	if _, err := w.send(head); err != nil {
		return 0, err
	}
	if first {
		w.stream.SetReliableBoundary()
	}
	if together {
		return len(b), nil
	}
	return w.send(b)
}

func (w *SubgroupWriter) send(b []byte) (int, error) { return w.p.s.priorities.write(w.entry, b) }

// WriteObject sends an object. Ids must rise. It does not go together with Write on the same stream.
func (w *SubgroupWriter) WriteObject(h ObjectHeader, payload []byte) error {
	o := wire.ObjectHeader{ID: h.ID, Properties: h.Properties, PayloadLen: uint64(len(payload)), Status: h.Status}
	scratch := getBuffer()
	defer putBuffer(scratch)
	head, n := w.takeHeader((*scratch)[:0])
	head, err := w.cursor.Append(head, &o, w.p.s.version)
	*scratch = head
	if err != nil {
		w.mu.Lock()
		w.held = n // still to be written
		w.mu.Unlock()
		return err
	}
	_, err = w.write(head, payload, n > 0)
	return err
}

// Close ends the stream: it holds all objects of the subgroup that the subscriber wants.
func (w *SubgroupWriter) Close() error {
	w.mu.Lock()
	empty := w.held > 0 && !w.ended
	w.mu.Unlock()
	if empty {
		if _, err := w.Write(nil); err != nil { // the header
			w.stream.Reset(uint64(wire.StreamInternalError))
			return err
		}
	}
	w.mu.Lock()
	w.ended, w.closed = true, true
	w.mu.Unlock()
	return w.stream.Close()
}

// Reset abandons the stream: not all objects were written. The header is delivered even so if the transport can do that,
// also if no object was written.
//
// "If a sender will not deliver any objects from a Subgroup, it MAY send a SUBGROUP_HEADER on a new stream, with no
// objects, and then send RESET_STREAM_AT with a reliable_size equal to the length of the stream header. This explicitly
// tells the receiver there is an unsent Subgroup."
// [MOQT-18] Section 11.4.3, Closing Subgroup Streams
func (w *SubgroupWriter) Reset(code wire.StreamCode) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.ended = true
	if w.held > 0 {
		// Nothing was written before, so there is room, and nobody else writes: takeHeader gives nothing any more.
		w.stream.SetWriteDeadline(time.Now().Add(resetHeaderTimeout))
		if _, err := w.stream.Write(w.header[:w.held]); err == nil {
			w.stream.SetReliableBoundary()
		}
		w.held = 0
	}
	w.stream.Reset(uint64(code))
}

// Expire is Reset, and gives up what was not delivered after Close too. Of what was delivered, the subscriber may lose what it
// has not read.
//
// "If the timer expires before the underlying transport stream reaches "all data committed" state ... the implementation MUST
// reset the stream."
// [MOQT-18] Section 8, Delivery Timeouts and Data Reliability
func (w *SubgroupWriter) Expire(code wire.StreamCode) {
	w.mu.Lock()
	closed := w.closed
	w.mu.Unlock()
	if closed {
		w.stream.Reset(uint64(code))
		return
	}
	w.Reset(code)
}

// resetHeaderTimeout bounds how long Reset may wait for room for a header.
const resetHeaderTimeout = 10 * time.Millisecond

// SetWriteDeadline sets when a blocked Write gives up; the error then matches os.ErrDeadlineExceeded.
func (w *SubgroupWriter) SetWriteDeadline(t time.Time) error { return w.stream.SetWriteDeadline(t) }

// Context ends when the stream is finished, reset or stopped by the peer.
func (w *SubgroupWriter) Context() context.Context { return w.stream.Context() }

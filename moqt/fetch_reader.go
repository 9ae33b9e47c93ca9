package moqt

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// FetchReader receives the answer to a FETCH. One goroutine reads; Stop, Update and Context may be called from others.
// It must be read to its end or stopped.
type FetchReader struct {
	noRole
	s     *Session
	h     *handle
	ctx   context.Context // ends when the answer is complete or given up
	end_  context.CancelCauseFunc
	start wire.Opt[wire.Location] // where the answer begins, as far as it is known

	answered chan struct{}
	ok       FetchOK // fixed when answered is closed

	cursor wire.FetchCursor // owned by the goroutine that reads

	mu       sync.Mutex // guards what follows
	d        *dataReader
	attached signal // d was set, or there will be none
	err      error  // why there will be no stream
}

// Fetch asks for objects of the past. It waits for the answer: if it is no, the error is a [*RequestError].
func (s *Session) Fetch(ctx context.Context, req FetchRequest) (*FetchReader, error) {
	m, start := req.wire()
	r := &FetchReader{s: s, start: start, answered: make(chan struct{})}
	r.cursor.Descending = descending(&req.Params)
	r.ctx, r.end_ = context.WithCancelCause(s.ctx)
	h, err := s.openRequest(ctx, r, func(id uint64) wire.Message {
		m.RequestID = id
		return m
	}, func(h *handle) {
		r.h = h
		s.addFetch(r)
	})
	if err != nil {
		r.end_(err)
		return nil, err
	}
	select {
	case <-r.answered:
		return r, nil
	case <-h.ctx.Done():
		select {
		case <-r.answered: // and the request is complete
			return r, nil
		default:
			return nil, h.cause()
		}
	case <-ctx.Done():
		r.Stop(wire.StreamCancelled)
		return nil, ctx.Err()
	}
}

// wire returns the message and, if it is known, where the answer begins.
func (req *FetchRequest) wire() (*wire.Fetch, wire.Opt[wire.Location]) {
	if req.Joining == nil {
		return &wire.Fetch{
			FetchType: wire.FetchStandalone,
			Track:     req.Track,
			Start:     req.Start,
			End:       req.End,
			Params:    req.Params,
		}, wire.Some(req.Start)
	}
	m := &wire.Fetch{
		FetchType:        wire.FetchRelativeJoining,
		JoiningRequestID: req.Joining.h.id,
		JoiningStart:     req.JoiningStart,
		Params:           req.Params,
	}
	if !req.Absolute {
		return m, wire.Opt[wire.Location]{}
	}
	m.FetchType = wire.FetchAbsoluteJoining
	return m, wire.Some(wire.Location{Group: req.JoiningStart})
}

func (s *Session) addFetch(r *FetchReader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.registry.fetches[r.h.id] = r
}

func (s *Session) removeFetch(r *FetchReader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.registry.fetches, r.h.id)
}

// serveFetchStream reads the header of a fetch stream and hands the stream to its fetch.
func (s *Session) serveFetchStream(d *dataReader) {
	var header wire.FetchHeader
	err := d.header(func(b []byte) (n int, err error) {
		header, n, err = wire.ConsumeFetchHeader(b, s.version)
		return n, err
	})
	if err != nil || !s.waitReady(s.ctx) {
		return
	}
	d.objects = true
	s.mu.Lock()
	r := s.registry.fetches[header.RequestID]
	ours := header.RequestID < s.nextID && (header.RequestID^s.nextID)&1 == 0
	s.mu.Unlock()
	switch {
	case r != nil:
		if !r.attach(d) {
			s.violation("second stream for one FETCH")
		}
	case ours:
		s.stats.streamsLate.Add(1)
		d.stream.Stop(uint64(wire.StreamCancelled))
	default:
		s.violation("stream for a FETCH that was not sent")
	}
}

// attach gives the fetch its stream. It returns false if it has one.
//
// "The Objects in the response are delivered on a single unidirectional stream."
// [MOQT-18] Section 10.12.3, Fetch Handling
func (r *FetchReader) attach(d *dataReader) bool {
	r.mu.Lock()
	if r.d != nil {
		r.mu.Unlock()
		return false
	}
	r.d = d
	over := r.err != nil
	r.attached.fire()
	r.mu.Unlock()
	if over {
		r.s.stats.streamsLate.Add(1)
		d.stream.Stop(uint64(wire.StreamCancelled))
	}
	return true
}

// answer implements role.
func (r *FetchReader) answer(m wire.Message, malformed error) error {
	switch m := m.(type) {
	case *wire.RequestError:
		err := requestError(m)
		r.h.sendLast()
		r.finish(err, wire.StreamCancelled)
		r.h.end(err)
		return nil
	case *wire.FetchOK:
		refused := r.check(m, malformed)
		if refused != nil {
			r.finish(refused, wire.StreamCancelled)
			r.h.abort(wire.StreamCancelled, refused)
			return nil
		}
		if start, ok := r.start.Get(); ok {
			if err := m.Check(start); err != nil {
				return err
			}
		}
		// The objects come on another stream, and this one may be closed.
		r.h.setStopRule(stopIgnored)
		r.ok = FetchOK{End: m.End, EndOfTrack: m.EndOfTrack, Properties: m.Properties}
		close(r.answered)
		return nil
	}
	return unexpected(m)
}

// check returns why this side must not touch the track.
//
// "For FETCH_OK messages: the subscriber MUST cancel the fetch ..."
// [MOQT-18] Section 2.5.1, Mandatory Track Properties
func (r *FetchReader) check(m *wire.FetchOK, malformed error) *RequestError {
	t, err := m.Properties.Track(r.s.version)
	if malformed == nil {
		malformed = err
	}
	if malformed != nil {
		return &RequestError{Code: wire.RequestMalformedTrack, Reason: malformed.Error(), Local: true}
	}
	return refuseMandatory(&t)
}

// readEnd implements role. After a FIN the objects may still be on their way.
func (r *FetchReader) readEnd(err error) {
	if err == io.EOF && !r.h.awaitsAnswer() {
		r.awaitStream()
		return
	}
	cause := cancelCause(err)
	r.finish(cause, wire.StreamCancelled)
	r.h.abort(wire.StreamCancelled, cause)
}

// fetchStreamTimeout is how long the stream of an answer may take to come after the request was finished. It is long: the stream
// can have to wait for others.
const fetchStreamTimeout = 2 * time.Minute

// awaitStream gives the stream of the answer its time after the publisher has finished the request: what was reset before its
// header was there never comes.
func (r *FetchReader) awaitStream() {
	t := time.AfterFunc(fetchStreamTimeout, func() {
		r.mu.Lock()
		none := r.d == nil
		r.mu.Unlock()
		if none {
			r.finish(ErrCancelled, wire.StreamCancelled)
			r.h.abort(wire.StreamCancelled, ErrCancelled)
		}
	})
	context.AfterFunc(r.ctx, func() { t.Stop() })
}

// end implements role.
func (r *FetchReader) end() { r.finish(r.h.cause(), wire.StreamCancelled) }

// finish ends the fetch. A stream that is not at its end is stopped. Only the first call has an effect.
func (r *FetchReader) finish(cause error, code wire.StreamCode) {
	r.mu.Lock()
	first := r.err == nil
	if first {
		r.err = cause
	}
	d := r.d
	r.attached.fire()
	r.mu.Unlock()
	if !first {
		return
	}
	r.end_(cause)
	r.s.removeFetch(r)
	if d != nil {
		d.stream.Stop(uint64(code))
	}
}

// stream waits for the stream of the answer.
func (r *FetchReader) stream() (*dataReader, error) {
	for {
		r.mu.Lock()
		d, err := r.d, r.err
		attached := r.attached.wait()
		r.mu.Unlock()
		if d != nil {
			return d, nil
		}
		if err != nil {
			return nil, err
		}
		select {
		case <-attached:
		case <-r.s.ctx.Done():
			return nil, context.Cause(r.s.ctx)
		}
	}
}

// OK returns the publisher's answer.
func (r *FetchReader) OK() FetchOK { return r.ok }

// Next skips what is left of the current object and returns the next object or range. It returns io.EOF after a FIN: what
// was not sent does not exist. It returns a [*StreamError] after a reset.
func (r *FetchReader) Next() (FetchObject, error) {
	d, err := r.stream()
	if err != nil {
		return FetchObject{}, err
	}
	if err := d.skipPayload(); err != nil {
		return FetchObject{}, r.ended(d, err)
	}
	for {
		item, n, err := r.cursor.Consume(d.buffered(), r.s.version)
		if err == nil {
			d.take(n)
			d.left = item.PayloadLen
			return fetchObject(&item), nil
		}
		if !errors.Is(err, wire.ErrTruncated) {
			return FetchObject{}, r.ended(d, d.broken(err))
		}
		begun := len(d.buffered()) > 0
		if err := d.fill(); err != nil {
			return FetchObject{}, r.ended(d, d.finished(err, begun))
		}
	}
}

func fetchObject(item *wire.FetchItem) FetchObject {
	o := FetchObject{
		Group:      item.Location.Group,
		Object:     item.Location.Object,
		Subgroup:   item.SubgroupID,
		Datagram:   item.Datagram,
		Priority:   item.Priority,
		Properties: item.Properties,
		PayloadLen: item.PayloadLen,
	}
	switch item.Kind {
	case wire.FetchNonExistentRange:
		o.Gap = GapNonExistent
	case wire.FetchUnknownRange:
		o.Gap = GapUnknown
	}
	return o
}

// ended ends the fetch if nothing more comes. It returns err, or why the fetch has ended if that is the cause of it.
func (r *FetchReader) ended(d *dataReader, err error) error {
	if err == nil || d.err == nil {
		return err
	}
	r.mu.Lock()
	earlier := r.err
	r.mu.Unlock()
	if earlier != nil && err != io.EOF {
		return earlier
	}
	r.finish(err, wire.StreamCancelled)
	if err == io.EOF {
		r.h.sendLast()
		r.h.end(io.EOF)
	} else {
		r.h.abort(wire.StreamCancelled, err)
	}
	return err
}

// ReadChunk is as that of [SubgroupReader].
func (r *FetchReader) ReadChunk() ([]byte, error) {
	d, err := r.stream()
	if err != nil {
		return nil, err
	}
	b, err := d.chunk()
	if err != nil {
		return nil, r.payloadEnded(d, err)
	}
	return b, nil
}

// Read is as that of [SubgroupReader].
func (r *FetchReader) Read(b []byte) (int, error) {
	d, err := r.stream()
	if err != nil {
		return 0, err
	}
	n, err := d.readPayload(b)
	if err != nil {
		return n, r.payloadEnded(d, err)
	}
	return n, nil
}

// payloadEnded is ended for the end of a payload, which can be io.EOF without an end of the stream.
func (r *FetchReader) payloadEnded(d *dataReader, err error) error {
	if err == io.EOF {
		return err
	}
	return r.ended(d, err)
}

// Update changes the subscriber priority. It waits for the answer. A refusal ends the fetch.
func (r *FetchReader) Update(ctx context.Context, params wire.Params) error {
	_, err := r.h.sendUpdate(ctx, params, nil)
	return err
}

// Stop ends the fetch.
//
// "If the data stream is already open, the subscriber wishing to cancel the FETCH MAY send STOP_SENDING for the data stream
// as well as the bidi request stream. It MUST send STOP_SENDING for the bidi request stream."
// [MOQT-18] Section 5.2, Fetch State Management
func (r *FetchReader) Stop(code wire.StreamCode) {
	r.finish(ErrClosed, code)
	r.h.abort(code, ErrClosed)
}

// GoingAway is closed when the publisher wants the fetch to move elsewhere.
func (r *FetchReader) GoingAway() <-chan struct{} { return r.h.goingAwayChan() }

// PeerGoAway returns where the fetch should move, once GoingAway is closed.
func (r *FetchReader) PeerGoAway() (GoAway, bool) { return r.h.peerGoAway() }

// Context ends with the fetch. Its cause is io.EOF if all has come.
func (r *FetchReader) Context() context.Context { return r.ctx }

package moqt

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"
)

// maxPipePriorities bounds what [PipeStream.Priorities] remembers.
const maxPipePriorities = 64

var errPipeWriteAfterClose = errors.New("write on a closed stream")

// PipeStream is one end of a stream of a [Pipe]: what [PipeConn] returns as
// [Stream], [SendStream] or [ReceiveStream]. Tests may assert to it to look inside.
type PipeStream struct {
	c     *PipeConn   // the end that this stream belongs to
	peer  *PipeStream // the stream's other end
	kind  int
	index int
	mine  bool // opened here

	out, in *pipeHalf // nil if the stream has no such direction

	released bool // the peer may open another one; guarded by p.mu
}

// pipeHalf is one direction of a stream. All is guarded by p.mu except what never changes.
type pipeHalf struct {
	// At the sender.
	ctx        context.Context // ends with the sending half
	cancel     context.CancelCauseFunc
	sent       int64 // bytes accepted by Write
	limit      int64 // bytes that Write may accept in all
	boundary   int64
	fin        bool
	sendErr    *StreamError
	writeBy    time.Time
	writable   pipeSignal
	priorities []uint8

	// At the receiver.
	buf      []byte // arrived, not yet read
	readTo   int64
	gotFIN   bool
	reset    *StreamError // RESET_STREAM has arrived
	keep     int64        // what is below this offset outlives the reset
	stopped  *StreamError // Stop was called
	told     bool         // the reader has had its io.EOF or its error
	readBy   time.Time
	readable pipeSignal
}

func newPipeStreams(opener *PipeConn, kind, index int) (local, remote *PipeStream) {
	local = &PipeStream{c: opener, kind: kind, index: index, mine: true}
	remote = &PipeStream{c: opener.peer, peer: local, kind: kind, index: index}
	local.peer = remote
	connect := func(from, to *PipeStream) {
		h := &pipeHalf{limit: int64(opener.p.cfg.StreamWindow)}
		h.ctx, h.cancel = context.WithCancelCause(from.c.ctx)
		from.out, to.in = h, h
	}
	connect(local, remote)
	if kind == pipeBidi {
		connect(remote, local)
	}
	return local, remote
}

// transmit is [PipeConn.transmit] for frames of the stream, which make a new stream known.
func (s *PipeStream) transmit(f func()) {
	s.c.transmit(func() {
		if s.mine {
			s.c.peer.arrive(s.kind, s.index)
		}
		f()
	})
}

// Write implements [SendStream].
func (s *PipeStream) Write(b []byte) (n int, err error) {
	h := s.out
	s.c.p.mu.Lock()
	defer s.c.p.mu.Unlock()
	for {
		switch {
		case h.sendErr != nil:
			return n, h.sendErr
		case s.c.err != nil:
			return n, s.c.err
		case h.fin:
			return n, errPipeWriteAfterClose
		case passed(h.writeBy):
			return n, os.ErrDeadlineExceeded
		case n == len(b):
			return n, nil
		}
		if room := min(h.limit-h.sent, int64(len(b)-n)); room > 0 {
			data := slices.Clone(b[n : n+int(room)])
			n += int(room)
			h.sent += room
			s.transmit(func() { h.receive(data) })
			continue
		}
		if err := s.await(&h.writable, h.writeBy); err != nil {
			return n, err
		}
	}
}

func passed(deadline time.Time) bool { return !deadline.IsZero() && !time.Now().Before(deadline) }

// await waits for the pipeSignal or the deadline; the caller then looks at its state again.
func (s *PipeStream) await(sig *pipeSignal, deadline time.Time) error {
	var by <-chan time.Time
	if !deadline.IsZero() {
		t := time.NewTimer(time.Until(deadline))
		defer t.Stop()
		by = t.C
	}
	return s.c.await(context.Background(), sig, by)
}

// Close implements [SendStream].
func (s *PipeStream) Close() error {
	h := s.out
	s.c.p.mu.Lock()
	defer s.c.p.mu.Unlock()
	switch {
	case h.sendErr != nil:
		return h.sendErr
	case s.c.err != nil:
		return s.c.err
	case h.fin:
		return nil
	}
	h.fin = true
	h.cancel(context.Canceled)
	h.writable.fire()
	s.transmit(func() {
		if h.reset == nil {
			h.gotFIN = true
			h.readable.fire()
		}
		s.peer.release()
	})
	s.release()
	return nil
}

// Reset implements [SendStream]. After Close it does nothing: all bytes are on their way already.
func (s *PipeStream) Reset(code uint64) {
	s.c.p.mu.Lock()
	defer s.c.p.mu.Unlock()
	s.abandon(&StreamError{Code: code})
}

// abandon ends the sending half. The caller holds p.mu.
func (s *PipeStream) abandon(err *StreamError) {
	h := s.out
	if h.sendErr != nil || h.fin || s.c.err != nil {
		return
	}
	h.sendErr = err
	h.cancel(err)
	h.writable.fire()
	code, keep := err.Code, h.boundary
	s.transmit(func() {
		h.reset, h.keep = &StreamError{Remote: true, Code: code}, keep
		h.buf = h.buf[:min(int64(len(h.buf)), max(0, keep-h.readTo))]
		h.readable.fire()
		s.peer.release()
	})
	s.release()
}

// SetReliableBoundary implements [SendStream].
func (s *PipeStream) SetReliableBoundary() {
	s.c.p.mu.Lock()
	defer s.c.p.mu.Unlock()
	s.out.boundary = s.out.sent
}

// SetPriority implements [SendStream].
func (s *PipeStream) SetPriority(urgency uint8) {
	s.c.p.mu.Lock()
	defer s.c.p.mu.Unlock()
	h := s.out
	if len(h.priorities) == maxPipePriorities {
		h.priorities = slices.Delete(h.priorities, 0, 1)
	}
	h.priorities = append(h.priorities, urgency)
}

// SetWriteDeadline implements [SendStream].
func (s *PipeStream) SetWriteDeadline(t time.Time) error {
	s.c.p.mu.Lock()
	defer s.c.p.mu.Unlock()
	s.out.writeBy = t
	s.out.writable.fire()
	return nil
}

// Context implements [SendStream].
func (s *PipeStream) Context() context.Context { return s.out.ctx }

// Read implements [ReceiveStream].
func (s *PipeStream) Read(b []byte) (int, error) {
	h := s.in
	s.c.p.mu.Lock()
	defer s.c.p.mu.Unlock()
	for {
		switch {
		case h.stopped != nil:
			return 0, h.stopped
		case s.c.err != nil:
			return 0, s.c.err
		case passed(h.readBy):
			return 0, os.ErrDeadlineExceeded
		case len(h.buf) > 0:
			n := copy(b, h.buf)
			h.buf = h.buf[n:]
			h.readTo += int64(n)
			s.grant(int64(n))
			return n, nil
		case h.reset != nil:
			s.tell()
			return 0, h.reset
		case h.gotFIN:
			s.tell()
			return 0, io.EOF
		case len(b) == 0:
			return 0, nil
		}
		if err := s.await(&h.readable, h.readBy); err != nil {
			return 0, err
		}
	}
}

// Stop implements [ReceiveStream].
func (s *PipeStream) Stop(code uint64) {
	h := s.in
	s.c.p.mu.Lock()
	defer s.c.p.mu.Unlock()
	if h.stopped != nil || h.told || s.c.err != nil {
		return
	}
	h.stopped = &StreamError{Code: code}
	h.buf = nil
	h.readable.fire()
	s.release()
	// The sender answers with a reset, as QUIC does.
	s.transmit(func() { s.peer.abandon(&StreamError{Remote: true, Code: code}) })
}

// SetReadDeadline implements [ReceiveStream].
func (s *PipeStream) SetReadDeadline(t time.Time) error {
	s.c.p.mu.Lock()
	defer s.c.p.mu.Unlock()
	s.in.readBy = t
	s.in.readable.fire()
	return nil
}

// Priorities are the urgencies set on the sending half of this end, in order (the last 64).
func (s *PipeStream) Priorities() []uint8 { return s.priorities(s.out) }

// PeerPriorities are the urgencies that the peer set on what arrives here, in order (the last 64).
func (s *PipeStream) PeerPriorities() []uint8 { return s.priorities(s.in) }

func (s *PipeStream) priorities(h *pipeHalf) []uint8 {
	if h == nil {
		return nil
	}
	s.c.p.mu.Lock()
	defer s.c.p.mu.Unlock()
	return slices.Clone(h.priorities)
}

// receive takes data that has arrived.
func (h *pipeHalf) receive(data []byte) {
	if h.stopped != nil || h.reset != nil {
		return
	}
	h.buf = append(h.buf, data...)
	h.readable.fire()
}

// grant lets the sender write n more bytes.
func (s *PipeStream) grant(n int64) {
	h := s.in
	s.c.transmit(func() {
		h.limit += n
		h.writable.fire()
	})
}

// tell notes that the reader knows of the end.
func (s *PipeStream) tell() {
	s.in.told = true
	s.release()
}

// release lets the peer open another stream once one of its streams has ended here in both directions.
func (s *PipeStream) release() {
	if s.mine || s.released {
		return
	}
	ended := s.in.gotFIN || s.in.reset != nil
	if !ended || !s.in.told && s.in.stopped == nil {
		return
	}
	if s.out != nil && !s.out.fin && s.out.sendErr == nil {
		return
	}
	s.released = true
	kind := s.kind
	s.c.transmit(func() {
		s.c.peer.openLimit[kind]++
		s.c.peer.openable.fire()
	})
}

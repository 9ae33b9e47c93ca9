package moqt

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// handle is one request: its messages go out and come in through here. In
// draft-18 it is a bidirectional stream.
type handle struct {
	s      *Session
	stream Stream
	in     *messageReader
	opener wire.MessageType // type of the message that opened the request
	local  bool             // opened by this side
	id     uint64
	ctx    context.Context // ends with the request

	registers []*sentToken // tokens that the first message registers; fixed when it is sent
	cancel    context.CancelCauseFunc

	finished atomic.Bool // FIN or reset was sent
	wmu      sync.Mutex  // held while writing
	umu      sync.Mutex  // held while an update is written; taken before wmu

	ended sync.Once

	mu         sync.Mutex // guards what follows
	role       role
	over       bool            // role was told the end
	answered   bool            // the first answer was sent or has arrived
	updates    []pendingUpdate // of this side, in order
	updated    signal          // updates has shrunk
	goAway     GoAway          // of the peer
	hasGoAway  bool
	sentGoAway bool
	goingAway  chan struct{} // made on demand
	readClosed bool          // the peer sends no more
	sent       bool          // the answer to the peer's request has gone out
	answerOut  signal        // sent was set
	stop       *StreamError  // STOP_SENDING of the peer
	onStop     stopRule
}

// stopRule says what STOP_SENDING of the peer does to a request.
type stopRule uint8

const (
	// stopLater ends the request, but the peer has a moment to send what it still has to say: some peers stop one
	// direction and finish the other at the same time.
	stopLater stopRule = iota
	// stopAtOnce ends the request.
	stopAtOnce
	// stopIgnored does nothing: this side has nothing more to send.
	stopIgnored
)

// Times that a request stream is given.
const (
	// stopGrace is how long after STOP_SENDING the peer may go on sending.
	stopGrace = time.Second
	// lingerTimeout is how long the peer may leave its side of a request stream open after this side has finished.
	lingerTimeout = 5 * time.Second
)

func (s *Session) newHandle(stream Stream, local bool) *handle {
	h := &handle{s: s, stream: stream, local: local, in: newMessageReader(s, stream, nil), role: noRole{}}
	h.ctx, h.cancel = context.WithCancelCause(s.ctx)
	return h
}

// watchStop ends the request when the peer stops it. It returns at once.
func (h *handle) watchStop() {
	context.AfterFunc(h.stream.Context(), h.stopped)
}

// stopped is called when the sending side of the stream has ended.
func (h *handle) stopped() {
	h.wmu.Lock()
	if h.finished.Load() {
		h.wmu.Unlock()
		return
	}
	_, err := h.stream.Write(nil) // says why
	h.wmu.Unlock()
	var se *StreamError
	if !errors.As(err, &se) {
		return // the connection has ended
	}
	h.mu.Lock()
	h.stop = se
	rule := h.onStop
	if rule == stopLater && h.readClosed {
		rule = stopAtOnce
	}
	h.mu.Unlock()
	switch rule {
	case stopAtOnce:
		h.abort(wire.StreamCancelled, se)
	case stopLater:
		h.in.limit(time.Now().Add(stopGrace))
	}
}

// setStopRule says what STOP_SENDING does from now on.
func (h *handle) setStopRule(rule stopRule) {
	h.mu.Lock()
	h.onStop = rule
	stop := h.stop
	h.mu.Unlock()
	if stop != nil && rule == stopAtOnce {
		h.abort(wire.StreamCancelled, stop)
	}
}

// send writes messages in one piece.
func (h *handle) send(msgs ...wire.Message) error {
	return h.write(false, msgs)
}

// sendLast writes messages and FIN. The request goes on until end is called.
func (h *handle) sendLast(msgs ...wire.Message) error {
	return h.write(true, msgs)
}

func (h *handle) write(fin bool, msgs []wire.Message) error {
	bp := getBuffer()
	defer putBuffer(bp)
	b := (*bp)[:0]
	var err error
	for _, m := range msgs {
		if b, err = wire.AppendMessage(b, m, h.s.version); err != nil {
			return err
		}
		h.s.logMessage("created", m.Type())
	}
	*bp = b
	h.wmu.Lock()
	defer h.wmu.Unlock()
	if h.finished.Load() {
		return h.cause()
	}
	if len(b) > 0 {
		h.stream.SetWriteDeadline(time.Now().Add(h.s.cfg.MessageTimeout))
		if _, err = h.stream.Write(b); err != nil {
			return h.writeError(err)
		}
	}
	if fin {
		h.finished.Store(true)
		h.stream.Close()
		h.in.limit(time.Now().Add(lingerTimeout))
	}
	return nil
}

// writeError returns what went wrong in the terms of a request.
func (h *handle) writeError(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		// "If the publisher is unable to send NAMESPACE or NAMESPACE_DONE messages in a timely manner because the
		// SUBSCRIBE_NAMESPACE response stream is blocked by flow control, the publisher MAY reset the
		// SUBSCRIBE_NAMESPACE response stream."
		// [MOQT-18] Section 10.18, SUBSCRIBE_NAMESPACE
		// The same for all others.
		h.abort(wire.StreamExcessiveLoad, err)
	}
	if h.s.ctx.Err() != nil {
		return context.Cause(h.s.ctx)
	}
	return err
}

// cause returns why the request has ended, or [ErrClosed] if it has not.
func (h *handle) cause() error {
	if err := context.Cause(h.ctx); err != nil {
		return err
	}
	return ErrClosed
}

// reset abandons both directions.
func (h *handle) reset(code wire.StreamCode) {
	if h.finished.CompareAndSwap(false, true) {
		h.stream.Reset(uint64(code))
	}
	h.stream.Stop(uint64(code))
}

// abort cancels the request.
//
// "Implementations SHOULD cancel requests by abruptly terminating any directions of a stream that are still open by
// resetting or sending STOP_SENDING."
// [MOQT-18] Section 3.3.2, Request Cancellation and Rejection
func (h *handle) abort(code wire.StreamCode, cause error) {
	h.reset(code)
	h.end(cause)
}

// end notes that the request is over. cause is what the context gives.
func (h *handle) end(cause error) {
	h.ended.Do(func() {
		h.cancel(cause)
		h.mu.Lock()
		h.over = true
		r := h.role
		h.mu.Unlock()
		r.end()
		h.s.handleEnded(h)
	})
}

// setRole says what the request is for, once that is known.
func (h *handle) setRole(r role) {
	h.mu.Lock()
	h.role = r
	over := h.over
	h.mu.Unlock()
	if over {
		r.end()
	}
}

func (h *handle) currentRole() role {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.role
}

package moqt

import (
	"context"
	"errors"
	"io"
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
	cancel context.CancelCauseFunc

	finished atomic.Bool // FIN or reset was sent
	wmu      sync.Mutex  // held while writing
	umu      sync.Mutex  // held while an update is written; taken before wmu

	ended sync.Once

	mu         sync.Mutex // guards what follows
	role       role
	over       bool            // role was told the end
	answered   bool            // the first answer was sent or has arrived
	updates    []pendingUpdate // of this side, in order
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

// role is what a handle is for. Its methods are called by the goroutine that reads
// the request, so they may block only until ctx ends. An error that is a
// [*wire.Error] closes the session.
type role interface {
	// answer takes the answer to a request of this side: *wire.RequestOK, *wire.SubscribeOK, *wire.FetchOK or
	// *wire.RequestError. malformed is set if the answer says that the track is malformed.
	answer(m wire.Message, malformed error) error
	// update takes a REQUEST_UPDATE of the peer and answers it.
	update(m *wire.RequestUpdate) error
	// message takes any other message.
	message(m wire.Message) error
	// readEnd is told why no more comes: io.EOF after a FIN, a *StreamError after a reset, or another error when this side
	// has stopped reading. It is called unless the session ended.
	readEnd(err error)
	// end is called once, when the request has ended and the handle's context with it. It must neither block nor write to
	// the request's stream.
	end()
}

// noRole has what most roles do not need.
type noRole struct{}

func (noRole) answer(m wire.Message, _ error) error { return unexpected(m) }
func (noRole) update(m *wire.RequestUpdate) error {
	return unexpected(m)
}
func (noRole) message(m wire.Message) error { return unexpected(m) }
func (noRole) readEnd(error)                {}
func (noRole) end()                         {}

// unexpected is the error for a message that has no place where it came.
func unexpected(m wire.Message) error {
	return &wire.Error{Code: wire.SessionProtocolViolation, Reason: m.Type().String() + " has no place here on a request stream"}
}

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

// resetEnds is what readEnd does for a request of the peer that goes on after a FIN.
func (h *handle) resetEnds(err error) {
	if err == io.EOF {
		return
	}
	h.abort(wire.StreamCancelled, cancelCause(err))
}

// cancelCause returns the error of a request that the peer has cancelled, given what reading it has returned.
func cancelCause(err error) error {
	var se *StreamError
	if errors.As(err, &se) {
		return se
	}
	return ErrCancelled
}

// read reads the request until nothing more comes, and hands its messages to the role.
func (h *handle) read() {
	defer h.in.close()
	for {
		typ, body, err := h.in.next()
		if err == nil {
			err = h.dispatch(typ, body)
			if err == nil {
				continue
			}
			h.s.failWire(err)
		}
		var lost *ConnError
		if errors.As(err, &lost) {
			<-h.s.ctx.Done() // the session ends with its connection, and knows why
		}
		if h.s.ctx.Err() != nil {
			h.end(context.Cause(h.s.ctx))
			return
		}
		h.mu.Lock()
		h.readClosed = true
		updates := h.updates
		h.updates = nil
		h.mu.Unlock()
		for _, u := range updates {
			u.answer <- updateAnswer{err: ErrCancelled}
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			h.stream.Stop(uint64(wire.StreamCancelled))
			err = ErrCancelled
		}
		h.currentRole().readEnd(err)
		h.mu.Lock()
		stop := h.stop
		if h.onStop == stopIgnored {
			stop = nil
		}
		h.mu.Unlock()
		if stop != nil {
			h.abort(wire.StreamCancelled, stop)
		}
		return
	}
}

// dispatch hands one message on. A [*wire.Error] closes the session.
func (h *handle) dispatch(typ wire.MessageType, body []byte) error {
	m, err := wire.ParseMessage(typ, body, h.s.version)
	if m == nil {
		return err
	}
	switch m := m.(type) {
	case *wire.GoAway:
		return h.receiveGoAway(m)
	case *wire.RequestUpdate:
		return h.receiveUpdate(m)
	case *wire.SubscribeOK, *wire.FetchOK:
		if !h.takeAnswer() {
			return unexpected(m)
		}
		return h.currentRole().answer(m, err)
	case *wire.RequestOK:
		if !h.takeAnswer() {
			return h.updateAnswered(m, updateAnswer{ok: m})
		}
		if err := m.Check(h.opener); err != nil {
			return err
		}
		return h.currentRole().answer(m, err)
	case *wire.RequestError:
		if !h.takeAnswer() {
			return h.updateAnswered(m, updateAnswer{err: requestError(m)})
		}
		if err := m.Check(h.opener, h.s.server); err != nil {
			return err
		}
		return h.currentRole().answer(m, nil)
	}
	return h.currentRole().message(m)
}

// takeAnswer reports whether the first answer to a request of this side is still to come, and notes that it has.
func (h *handle) takeAnswer() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.local || h.answered {
		return false
	}
	h.answered = true
	return true
}

// awaitsAnswer reports whether the first answer is still to come, or to be sent.
func (h *handle) awaitsAnswer() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.answered
}

// claimAnswer reports whether this side may answer the peer's request now, which it may once.
func (h *handle) claimAnswer() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.answered {
		return ErrAnswered
	}
	h.answered = true
	return nil
}

// answerSent notes that the answer to the peer's request has gone out.
func (h *handle) answerSent() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sent = true
	h.answerOut.fire()
}

// awaitAnswerSent waits until the answer to the peer's request has gone out, because the answers to its updates come after it.
func (h *handle) awaitAnswerSent() {
	for {
		h.mu.Lock()
		sent := h.sent
		out := h.answerOut.wait()
		h.mu.Unlock()
		if sent {
			return
		}
		select {
		case <-out:
		case <-h.ctx.Done():
			return
		}
	}
}

// receiveUpdate takes a REQUEST_UPDATE.
func (h *handle) receiveUpdate(m *wire.RequestUpdate) error {
	// "The sender of a request can later send a REQUEST_UPDATE on the same bidi stream as the request to modify it. A
	// subscriber can also send REQUEST_UPDATE to modify parameters of a subscription established with PUBLISH."
	// [MOQT-18] Section 10.9, REQUEST_UPDATE
	if h.local && (h.opener != wire.MsgPublish || h.awaitsAnswer()) {
		return unexpected(m)
	}
	if err := h.s.useRequestID(m.RequestID); err != nil {
		return err
	}
	h.s.requestBegun(m.RequestID)
	if err := m.Check(h.opener); err != nil {
		return err
	}
	tokens, refused, err := h.s.resolveTokens(m.Params.AuthTokens)
	if err != nil {
		return err
	}
	if !h.local {
		h.awaitAnswerSent()
	}
	if h.ctx.Err() != nil || h.finished.Load() {
		return nil // it has crossed the end of the request
	}
	if refused != nil {
		return h.refuseUpdate(refused)
	}
	m.Params.AuthTokens = tokens
	return h.currentRole().update(m)
}

// refuseUpdate answers an update with an error, which ends the request.
//
// "When a REQUEST_UPDATE fails for a SUBSCRIBE_NAMESPACE or PUBLISH_NAMESPACE, the responder MUST close the bidi
// stream."
// [MOQT-18] Section 10.9.1, Updating Subscriptions
func (h *handle) refuseUpdate(err *RequestError) error {
	h.sendLast(err.wire())
	h.end(err)
	return nil
}

// pendingUpdate is a REQUEST_UPDATE of this side that waits for its answer.
type pendingUpdate struct {
	answer chan updateAnswer     // has room for one
	taken  func(*wire.RequestOK) // called by the goroutine that reads, before it reads on; may be nil
}

// updateAnswer is what the peer says to a REQUEST_UPDATE.
type updateAnswer struct {
	ok  *wire.RequestOK
	err error
}

// sendUpdate changes a request and waits for the answer. taken, if not nil, is called when the answer is yes, before any later message
// of the request is looked at.
func (h *handle) sendUpdate(ctx context.Context, params wire.Params, taken func(*wire.RequestOK)) (*wire.RequestOK, error) {
	m := &wire.RequestUpdate{Params: params}
	if err := m.Check(h.opener); err != nil {
		return nil, err
	}
	u := pendingUpdate{answer: make(chan updateAnswer, 1), taken: taken}
	if err := h.writeUpdate(m, u); err != nil {
		return nil, err
	}
	select {
	case a := <-u.answer:
		return a.ok, a.err
	case <-h.ctx.Done():
		select {
		case a := <-u.answer: // the answer that ended it
			return a.ok, a.err
		default:
			return nil, h.cause()
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// writeUpdate writes an update and notes that its answer is to come. The answers come in the order of the updates, so the order of writing
// and that of noting must be the same.
func (h *handle) writeUpdate(m *wire.RequestUpdate, u pendingUpdate) error {
	h.umu.Lock()
	defer h.umu.Unlock()
	h.mu.Lock()
	if h.readClosed || h.ctx.Err() != nil {
		h.mu.Unlock()
		return h.cause()
	}
	h.updates = append(h.updates, u)
	h.mu.Unlock()
	m.RequestID = h.s.takeRequestID()
	return h.send(m)
}

// updateAnswered hands the answer to an update to who waits for it.
func (h *handle) updateAnswered(m wire.Message, a updateAnswer) error {
	h.mu.Lock()
	if len(h.updates) == 0 {
		h.mu.Unlock()
		// "The receiver of a REQUEST_UPDATE MUST respond with exactly one REQUEST_OK or REQUEST_ERROR."
		// [MOQT-18] Section 10.9, REQUEST_UPDATE
		return unexpected(m)
	}
	u := h.updates[0]
	h.updates = h.updates[1:]
	h.mu.Unlock()
	if a.ok != nil {
		if err := a.ok.Check(wire.MsgRequestUpdate); err != nil {
			return err
		}
		if u.taken != nil {
			u.taken(a.ok)
		}
	}
	u.answer <- a
	return nil
}

// sendGoAway asks the peer to make the request anew elsewhere.
//
// "When sent on a request stream, the sender SHOULD reset the stream with GOING_AWAY after the indicated timeout. A value of
// 0 indicates the sender has no specific timeout."
// [MOQT-18] Section 10.4, GOAWAY
func (h *handle) sendGoAway(uri string, timeout time.Duration) error {
	if !h.s.server && uri != "" {
		return errClientURI
	}
	h.mu.Lock()
	again := h.sentGoAway
	h.sentGoAway = true
	h.mu.Unlock()
	if again {
		return errGoAwayTwice
	}
	if err := h.send(&wire.GoAway{NewSessionURI: uri, Timeout: wire.MillisOf(timeout)}); err != nil {
		return err
	}
	if timeout > 0 {
		h.s.spawn(func() {
			t := time.NewTimer(timeout)
			defer t.Stop()
			select {
			case <-h.ctx.Done():
			case <-t.C:
				h.abort(wire.StreamGoingAway, ErrClosed)
			}
		})
	}
	return nil
}

// receiveGoAway takes a GOAWAY on the request's stream.
func (h *handle) receiveGoAway(m *wire.GoAway) error {
	if err := m.Check(false, h.s.server); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hasGoAway {
		return &wire.Error{Code: wire.SessionProtocolViolation, Reason: "second GOAWAY on a request stream"}
	}
	h.hasGoAway = true
	h.goAway = GoAway{URI: m.NewSessionURI, Timeout: m.Timeout.Duration()}
	if h.goingAway == nil {
		h.goingAway = make(chan struct{})
	}
	close(h.goingAway)
	return nil
}

func (h *handle) goingAwayChan() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.goingAway == nil {
		h.goingAway = make(chan struct{})
	}
	return h.goingAway
}

func (h *handle) peerGoAway() (GoAway, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.goAway, h.hasGoAway
}

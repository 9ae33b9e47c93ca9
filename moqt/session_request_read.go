package moqt

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

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
	h.s.logMessage("parsed", typ)
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
		if err := m.Check(h.opener, h.s.version); err != nil {
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
	for _, t := range h.registers {
		t.confirmed.Store(true)
	}
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

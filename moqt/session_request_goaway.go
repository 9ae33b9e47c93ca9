package moqt

import (
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// sendGoAway asks the peer to make the request anew elsewhere.
//
// "When sent on a request stream, the sender SHOULD reset the stream with GOING_AWAY after the indicated timeout. A value of
// 0 indicates the sender has no specific timeout ..."
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
	if err := m.Check(false, h.s.server, h.s.version); err != nil {
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

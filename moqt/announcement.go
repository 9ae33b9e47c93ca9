package moqt

import (
	"context"
	"io"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// Announcement is a PUBLISH_NAMESPACE that the peer has accepted.
type Announcement struct {
	noRole
	h         *handle
	namespace wire.Namespace
	accepted  chan struct{}
}

// PublishNamespace tells the peer that this side has tracks in a namespace. It waits for the answer: if it is no, the error is a
// [*RequestError].
func (s *Session) PublishNamespace(ctx context.Context, ns wire.Namespace, tokens ...wire.Token) (*Announcement, error) {
	a := &Announcement{namespace: ns, accepted: make(chan struct{})}
	h, err := s.openRequest(ctx, a, func(id uint64) wire.Message {
		return &wire.PublishNamespace{RequestID: id, Namespace: ns, Params: wire.Params{AuthTokens: tokens}}
	}, func(h *handle) { a.h = h })
	if err != nil {
		return nil, err
	}
	if err := h.awaitYes(ctx, a.accepted); err != nil {
		return nil, err
	}
	return a, nil
}

// awaitYes waits until yes is closed. If the request ends before, it returns why; if ctx ends, it cancels the request.
func (h *handle) awaitYes(ctx context.Context, yes <-chan struct{}) error {
	select {
	case <-yes:
		return nil
	case <-h.ctx.Done():
		return h.cause()
	case <-ctx.Done():
		h.abort(wire.StreamCancelled, ErrClosed)
		return ctx.Err()
	}
}

// answerNamespace is answer for requests that REQUEST_OK without parameters answers.
func (h *handle) answerNamespace(m wire.Message, yes chan<- struct{}) error {
	switch m := m.(type) {
	case *wire.RequestError:
		err := requestError(m)
		h.sendLast()
		h.end(err)
		return nil
	case *wire.RequestOK:
		close(yes)
		return nil
	}
	return unexpected(m)
}

func (a *Announcement) answer(m wire.Message, _ error) error {
	return a.h.answerNamespace(m, a.accepted)
}

// readEnd implements role. A FIN after the answer revokes nothing: it says that the peer has nothing more to say.
func (a *Announcement) readEnd(err error) {
	if err == io.EOF && !a.h.awaitsAnswer() {
		return
	}
	a.h.abort(wire.StreamCancelled, cancelCause(err))
}

// Namespace returns the namespace.
func (a *Announcement) Namespace() wire.Namespace { return a.namespace }

// Context ends when the peer has revoked the announcement, after Withdraw, and with the session.
func (a *Announcement) Context() context.Context { return a.h.ctx }

// Withdraw ends the announcement.
func (a *Announcement) Withdraw() { a.h.abort(wire.StreamCancelled, ErrClosed) }

// GoingAway is closed when the peer wants this announcement to move elsewhere.
func (a *Announcement) GoingAway() <-chan struct{} { return a.h.goingAwayChan() }

// PeerGoAway returns where this announcement should move, once GoingAway is closed.
func (a *Announcement) PeerGoAway() (GoAway, bool) { return a.h.peerGoAway() }

// IncomingPublishNamespace is an announcement of the peer. Its Context ends when the peer has withdrawn it.
type IncomingPublishNamespace struct {
	noRole
	Namespace wire.Namespace
	Tokens    []wire.Token

	h *handle
}

func (s *Session) beginPublishNamespace(h *handle, m *wire.PublishNamespace) {
	r := &IncomingPublishNamespace{Namespace: m.Namespace, Tokens: m.Params.AuthTokens, h: h}
	h.setRole(r)
	h.setStopRule(stopAtOnce)
	s.offer(r)
}

// update implements role. There is nothing in it but tokens.
func (r *IncomingPublishNamespace) update(*wire.RequestUpdate) error {
	r.h.send(&wire.RequestOK{})
	return nil
}

// readEnd implements role. A FIN withdraws nothing: it says that the peer will not change the request.
func (r *IncomingPublishNamespace) readEnd(err error) { r.h.resetEnds(err) }

// Context implements [Request].
func (r *IncomingPublishNamespace) Context() context.Context { return r.h.ctx }

// Accept answers with REQUEST_OK.
func (r *IncomingPublishNamespace) Accept() error { return r.h.accept(&wire.RequestOK{}) }

// Reject implements [Request].
func (r *IncomingPublishNamespace) Reject(err *RequestError) error { return r.h.reject(err) }

// Revoke takes back an Accept.
func (r *IncomingPublishNamespace) Revoke(code wire.StreamCode) { r.h.abort(code, ErrClosed) }

// GoAway asks the peer to make the announcement anew elsewhere (empty: on this session). After timeout, if it is not 0, it ends here.
func (r *IncomingPublishNamespace) GoAway(uri string, timeout time.Duration) error {
	return r.h.sendGoAway(uri, timeout)
}

func (r *IncomingPublishNamespace) isRequest() {}

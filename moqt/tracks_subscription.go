package moqt

import (
	"context"
	"io"
	"sync"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// TracksSubscription is a SUBSCRIBE_TRACKS that the peer has accepted.
type TracksSubscription struct {
	noRole
	h        *handle
	accepted chan struct{}

	mu      sync.Mutex // guards what follows; no other lock is taken with it held
	prefix  wire.Namespace
	blocked queue[wire.FullTrackName]
	changed signal
	err     error // why there will be no more
}

// SubscribeTracks asks for a PUBLISH of each track in the namespaces with the given prefix. They come as [*IncomingPublish]
// from [Session.Accept], in the Forward State given here. It waits for the answer: if it is no, the error is a
// [*RequestError].
func (s *Session) SubscribeTracks(ctx context.Context, prefix wire.Namespace, forward bool, tokens ...wire.Token) (*TracksSubscription, error) {
	t := &TracksSubscription{prefix: prefix, accepted: make(chan struct{})}
	params := wire.Params{AuthTokens: tokens}
	if !forward {
		params.Forward = wire.Some(false)
	}
	h, err := s.openRequest(ctx, t, func(id uint64) wire.Message {
		return &wire.SubscribeTracks{RequestID: id, Prefix: prefix, Params: params}
	}, func(h *handle) { t.h = h })
	if err != nil {
		return nil, err
	}
	if err := h.awaitYes(ctx, t.accepted); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *TracksSubscription) answer(m wire.Message, _ error) error {
	return t.h.answerNamespace(m, t.accepted)
}

// message implements role.
func (t *TracksSubscription) message(m wire.Message) error {
	b, ok := m.(*wire.PublishBlocked)
	if !ok || t.h.awaitsAnswer() {
		return unexpected(m)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	ns, err := t.prefix.Join(b.Track.Namespace)
	if err != nil {
		return err
	}
	if t.blocked.len() >= t.h.s.cfg.MaxNamespaces {
		return errTooMany
	}
	t.blocked.push(wire.FullTrackName{Namespace: ns, Name: b.Track.Name})
	t.changed.fire()
	return nil
}

// readEnd implements role.
func (t *TracksSubscription) readEnd(err error) {
	switch {
	case err == io.EOF && !t.h.awaitsAnswer():
		t.h.sendLast()
		t.h.end(io.EOF)
	case err == errTooMany:
		t.h.abort(wire.StreamExcessiveLoad, err)
	default:
		t.h.abort(wire.StreamCancelled, cancelCause(err))
	}
}

// end implements role.
func (t *TracksSubscription) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = t.h.cause()
	t.changed.fire()
}

// Blocked waits for the next track that the peer could not offer for want of streams (PUBLISH_BLOCKED). A SUBSCRIBE can get
// it. It ends as [NamespaceSubscription.Next] does.
func (t *TracksSubscription) Blocked(ctx context.Context) (wire.FullTrackName, error) {
	for {
		t.mu.Lock()
		if t.blocked.len() > 0 {
			track := t.blocked.pop()
			t.mu.Unlock()
			return track, nil
		}
		if err := t.err; err != nil {
			t.mu.Unlock()
			return wire.FullTrackName{}, err
		}
		changed := t.changed.wait()
		t.mu.Unlock()
		select {
		case <-changed:
		case <-t.h.s.ctx.Done():
			return wire.FullTrackName{}, context.Cause(t.h.s.ctx)
		case <-ctx.Done():
			return wire.FullTrackName{}, ctx.Err()
		}
	}
}

// Update changes the prefix. It waits for the answer.
func (t *TracksSubscription) Update(ctx context.Context, prefix wire.Namespace) error {
	_, err := t.h.sendUpdate(ctx, wire.Params{TrackNamespacePrefix: wire.Some(prefix)}, func(*wire.RequestOK) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.prefix = prefix
	})
	return err
}

// Context ends with the subscription.
func (t *TracksSubscription) Context() context.Context { return t.h.ctx }

// Close ends the subscription. The tracks that were accepted go on.
func (t *TracksSubscription) Close() { t.h.abort(wire.StreamCancelled, ErrClosed) }

// GoingAway is closed when the peer wants this subscription to move elsewhere.
func (t *TracksSubscription) GoingAway() <-chan struct{} { return t.h.goingAwayChan() }

// PeerGoAway returns where this subscription should move, once GoingAway is closed.
func (t *TracksSubscription) PeerGoAway() (GoAway, bool) { return t.h.peerGoAway() }

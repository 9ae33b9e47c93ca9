package moqt

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// NamespaceSubscription is a SUBSCRIBE_NAMESPACE that the peer has accepted.
type NamespaceSubscription struct {
	noRole
	h        *handle
	accepted chan struct{}

	mu      sync.Mutex // guards what follows; no other lock is taken with it held
	prefix  wire.Namespace
	active  map[wire.Namespace]struct{} // whole names
	events  queue[NamespaceEvent]
	changed signal
	err     error // why there will be no more
}

// NamespaceEvent says that a namespace has appeared or gone.
type NamespaceEvent struct {
	Namespace wire.Namespace // whole: prefix and suffix
	Suffix    wire.Namespace
	Gone      bool
}

// SubscribeNamespace asks which namespaces with the given prefix there are. It waits for the answer: if it is no, the error
// is a [*RequestError].
func (s *Session) SubscribeNamespace(ctx context.Context, prefix wire.Namespace, tokens ...wire.Token) (*NamespaceSubscription, error) {
	n := &NamespaceSubscription{prefix: prefix, accepted: make(chan struct{}), active: make(map[wire.Namespace]struct{})}
	h, err := s.openRequest(ctx, n, func(id uint64) wire.Message {
		return &wire.SubscribeNamespace{RequestID: id, Prefix: prefix, Params: wire.Params{AuthTokens: tokens}}
	}, func(h *handle) { n.h = h })
	if err != nil {
		return nil, err
	}
	if err := h.awaitYes(ctx, n.accepted); err != nil {
		return nil, err
	}
	return n, nil
}

func (n *NamespaceSubscription) answer(m wire.Message, _ error) error {
	return n.h.answerNamespace(m, n.accepted)
}

// message implements role.
func (n *NamespaceSubscription) message(m wire.Message) error {
	// "If the subscriber receives any message other than a REQUEST_OK or a REQUEST_ERROR as the first message on the
	// response half of the stream, then it MUST close the session with a PROTOCOL_VIOLATION."
	// [MOQT-18] Section 10.18, SUBSCRIBE_NAMESPACE
	if n.h.awaitsAnswer() {
		return unexpected(m)
	}
	switch m := m.(type) {
	case *wire.NamespaceAdded:
		return n.added(m.Suffix)
	case *wire.NamespaceDone:
		return n.gone(m.Suffix)
	}
	return unexpected(m)
}

// added takes a NAMESPACE. One that is known already is no news.
func (n *NamespaceSubscription) added(suffix wire.Namespace) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	ns, err := n.prefix.Join(suffix)
	if err != nil {
		return err
	}
	if _, known := n.active[ns]; known {
		return nil
	}
	limit := n.h.s.cfg.MaxNamespaces
	if len(n.active) >= limit || n.events.len() >= 2*limit {
		return errTooMany
	}
	n.active[ns] = struct{}{}
	n.push(NamespaceEvent{Namespace: ns, Suffix: suffix})
	return nil
}

// gone takes a NAMESPACE_DONE.
//
// "If a subscriber receives a NAMESPACE_DONE before the corresponding NAMESPACE, it MUST close the session with a
// PROTOCOL_VIOLATION."
// [MOQT-18] Section 10.18, SUBSCRIBE_NAMESPACE
func (n *NamespaceSubscription) gone(suffix wire.Namespace) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	ns, err := n.prefix.Join(suffix)
	if err != nil {
		return err
	}
	if _, known := n.active[ns]; !known {
		return &wire.Error{Code: wire.SessionProtocolViolation, Reason: "NAMESPACE_DONE before NAMESPACE"}
	}
	delete(n.active, ns)
	n.push(NamespaceEvent{Namespace: ns, Suffix: suffix, Gone: true})
	return nil
}

// push adds an event. n.mu is held.
func (n *NamespaceSubscription) push(e NamespaceEvent) {
	n.events.push(e)
	n.changed.fire()
}

// errTooMany cancels a request because more came than is kept.
var errTooMany = errors.New("moqt: too many namespaces")

// readEnd implements role.
func (n *NamespaceSubscription) readEnd(err error) {
	switch {
	case err == io.EOF && !n.h.awaitsAnswer():
		n.h.sendLast()
		n.h.end(io.EOF)
	case err == errTooMany:
		n.h.abort(wire.StreamExcessiveLoad, err)
	default:
		n.h.abort(wire.StreamCancelled, cancelCause(err))
	}
}

// end implements role.
//
// "When a subscriber receives a stream reset or FIN on a SUBSCRIBE_NAMESPACE response stream, it SHOULD treat this as though
// each active namespace received a NAMESPACE_DONE."
// [MOQT-18] Section 10.18, SUBSCRIBE_NAMESPACE
func (n *NamespaceSubscription) end() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.err = n.h.cause()
	for ns := range n.active {
		suffix, _ := ns.CutPrefix(n.prefix)
		n.push(NamespaceEvent{Namespace: ns, Suffix: suffix, Gone: true})
	}
	clear(n.active)
	n.changed.fire()
}

// Prefix returns the prefix asked for.
func (n *NamespaceSubscription) Prefix() wire.Namespace {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.prefix
}

// Next waits for the next change. When the subscription ends, all namespaces go; then it returns io.EOF after a FIN, a
// [*StreamError] after a reset and [ErrClosed] after Close. It must be called all the time: if far more waits for it than
// [Config].MaxNamespaces, the subscription ends.
func (n *NamespaceSubscription) Next(ctx context.Context) (NamespaceEvent, error) {
	for {
		n.mu.Lock()
		if n.events.len() > 0 {
			e := n.events.pop()
			n.mu.Unlock()
			return e, nil
		}
		if err := n.err; err != nil {
			n.mu.Unlock()
			return NamespaceEvent{}, err
		}
		changed := n.changed.wait()
		n.mu.Unlock()
		select {
		case <-changed:
		case <-n.h.s.ctx.Done():
			return NamespaceEvent{}, context.Cause(n.h.s.ctx)
		case <-ctx.Done():
			return NamespaceEvent{}, ctx.Err()
		}
	}
}

// Update changes the prefix. It waits for the answer. Namespaces that do not have the new prefix go, those that do stay.
//
// "If the update is accepted, NAMESPACE and NAMESPACE_DONE messages following the REQUEST_OK will contain Track Namespace
// suffixes relative to the updated prefix."
// [MOQT-18] Section 10.9.2, Updating Namespace Subscriptions
func (n *NamespaceSubscription) Update(ctx context.Context, prefix wire.Namespace) error {
	_, err := n.h.sendUpdate(ctx, wire.Params{TrackNamespacePrefix: wire.Some(prefix)}, func(*wire.RequestOK) {
		n.mu.Lock()
		defer n.mu.Unlock()
		for ns := range n.active {
			if ns.HasPrefix(prefix) {
				continue
			}
			suffix, _ := ns.CutPrefix(n.prefix)
			delete(n.active, ns)
			n.push(NamespaceEvent{Namespace: ns, Suffix: suffix, Gone: true})
		}
		n.prefix = prefix
	})
	return err
}

// Context ends with the subscription.
func (n *NamespaceSubscription) Context() context.Context { return n.h.ctx }

// Close ends the subscription.
func (n *NamespaceSubscription) Close() { n.h.abort(wire.StreamCancelled, ErrClosed) }

// GoingAway is closed when the peer wants this subscription to move elsewhere.
func (n *NamespaceSubscription) GoingAway() <-chan struct{} { return n.h.goingAwayChan() }

// PeerGoAway returns where this subscription should move, once GoingAway is closed.
func (n *NamespaceSubscription) PeerGoAway() (GoAway, bool) { return n.h.peerGoAway() }

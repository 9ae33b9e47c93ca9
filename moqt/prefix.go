package moqt

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// prefixRequest is a SUBSCRIBE_NAMESPACE or SUBSCRIBE_TRACKS of the peer.
type prefixRequest struct {
	noRole
	h          *handle
	namespaces *IncomingSubscribeNamespace // this one,
	tracks     *IncomingSubscribeTracks    // or this one

	mu        sync.Mutex // guards what follows; held while messages are written, so that they go out in order
	prefix    wire.Namespace
	announced map[wire.Namespace]struct{}     // whole names
	blocked   map[wire.FullTrackName]struct{} // of which PUBLISH_BLOCKED was sent
}

// prefixes are the live prefixRequests of one kind, guarded by Session.mu.
type prefixes map[*prefixRequest]wire.Namespace

func (r *prefixRequest) others() prefixes {
	if r.namespaces != nil {
		return r.h.s.registry.namespaces
	}
	return r.h.s.registry.tracks
}

// claim makes prefix that of the request. It returns what is in the way.
//
// "Within a session, if a publisher receives a SUBSCRIBE_NAMESPACE with a Track Namespace Prefix that shares a common
// prefix with an established SUBSCRIBE_NAMESPACE, it MUST respond with REQUEST_ERROR with error code PREFIX_OVERLAP.
// SUBSCRIBE_NAMESPACE and SUBSCRIBE_TRACKS have independent overlap spaces ..."
// [MOQT-18] Section 10.18, SUBSCRIBE_NAMESPACE
func (r *prefixRequest) claim(prefix wire.Namespace) (blocked *handle) {
	r.h.s.mu.Lock()
	defer r.h.s.mu.Unlock()
	others := r.others()
	for o, p := range others {
		if o != r && p.Overlaps(prefix) {
			return o.h
		}
	}
	others[r] = prefix
	return nil
}

var errOverlap = &RequestError{Code: wire.RequestPrefixOverlap, Reason: "prefix overlaps with that of another request"}

// begin hands a new request to the application.
func (r *prefixRequest) begin(req Request) {
	if !r.h.retryFor(func() *handle { return r.claim(r.prefix) }) {
		r.h.refuse(errOverlap)
		return
	}
	r.h.setRole(r)
	r.h.setStopRule(stopAtOnce)
	r.h.s.offer(req)
}

// update implements role.
func (r *prefixRequest) update(m *wire.RequestUpdate) error {
	prefix, ok := m.Params.TrackNamespacePrefix.Get()
	if !ok {
		r.h.send(&wire.RequestOK{})
		return nil
	}
	u := &IncomingPrefixUpdate{
		Namespaces: r.namespaces,
		Tracks:     r.tracks,
		Prefix:     prefix,
		Tokens:     m.Params.AuthTokens,
		r:          r,
		done:       make(chan struct{}),
	}
	r.h.s.offer(u)
	select {
	case <-u.done:
	case <-r.h.ctx.Done():
	}
	return nil
}

// readEnd implements role.
//
// "A SUBSCRIBE_NAMESPACE or SUBSCRIBE_TRACKS can be cancelled by closing the stream with either a FIN or RESET_STREAM."
// [MOQT-18] Section 6.1, Subscribing to Namespaces
//
// Later a FIN only says that the peer will not change the request.
// [MOQT-19] Section 3.3.2, Graceful Request Stream Closure
func (r *prefixRequest) readEnd(err error) {
	if err == io.EOF && r.h.s.version >= wire.Draft19 {
		return
	}
	if err == io.EOF {
		if r.h.claimAnswer() == nil {
			r.h.abort(wire.StreamCancelled, ErrCancelled)
			return
		}
		r.h.sendLast()
		r.h.end(ErrCancelled)
		return
	}
	r.h.abort(wire.StreamCancelled, cancelCause(err))
}

// end implements role.
func (r *prefixRequest) end() {
	r.h.s.mu.Lock()
	defer r.h.s.mu.Unlock()
	delete(r.others(), r)
}

var errNoPrefix = errors.New("moqt: name does not begin with the prefix asked for")

// suffix returns what follows the prefix in ns. r.mu is held.
func (r *prefixRequest) suffix(ns wire.Namespace) (wire.Namespace, error) {
	if r.h.awaitsAnswer() {
		return wire.Namespace{}, errors.New("moqt: request was not accepted")
	}
	suffix, ok := ns.CutPrefix(r.prefix)
	if !ok {
		return wire.Namespace{}, errNoPrefix
	}
	return suffix, nil
}

// announce sends a NAMESPACE.
func (r *prefixRequest) announce(ns wire.Namespace) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	suffix, err := r.suffix(ns)
	if err != nil {
		return err
	}
	if _, known := r.announced[ns]; known {
		return nil
	}
	if err := r.h.send(&wire.NamespaceAdded{Suffix: suffix}); err != nil {
		return err
	}
	if r.announced == nil {
		r.announced = make(map[wire.Namespace]struct{})
	}
	r.announced[ns] = struct{}{}
	return nil
}

// withdraw sends a NAMESPACE_DONE.
//
// "The publisher MUST NOT send NAMESPACE_DONE for a namespace suffix before the corresponding NAMESPACE."
// [MOQT-18] Section 10.18, SUBSCRIBE_NAMESPACE
func (r *prefixRequest) withdraw(ns wire.Namespace) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	suffix, err := r.suffix(ns)
	if err != nil {
		return err
	}
	if _, known := r.announced[ns]; !known {
		return nil
	}
	delete(r.announced, ns)
	return r.h.send(&wire.NamespaceDone{Suffix: suffix})
}

// move changes the prefix and answers the update that asked for it.
func (r *prefixRequest) move(prefix wire.Namespace) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.claim(prefix) != nil {
		r.h.refuseUpdate(errOverlap)
		return errOverlap
	}
	r.prefix = prefix
	for ns := range r.announced {
		if !ns.HasPrefix(prefix) {
			delete(r.announced, ns)
		}
	}
	return r.h.send(&wire.RequestOK{})
}

// IncomingSubscribeNamespace is the peer's wish to know the namespaces with a prefix.
type IncomingSubscribeNamespace struct {
	Prefix wire.Namespace // as asked for first; see IncomingPrefixUpdate
	Tokens []wire.Token

	r *prefixRequest
}

func (s *Session) beginSubscribeNamespace(h *handle, m *wire.SubscribeNamespace) {
	req := &IncomingSubscribeNamespace{Prefix: m.Prefix, Tokens: m.Params.AuthTokens}
	req.r = &prefixRequest{h: h, prefix: m.Prefix, namespaces: req}
	req.r.begin(req)
}

// Context implements [Request].
func (r *IncomingSubscribeNamespace) Context() context.Context { return r.r.h.ctx }

// Accept answers with REQUEST_OK.
func (r *IncomingSubscribeNamespace) Accept() error { return r.r.h.accept(&wire.RequestOK{}) }

// Reject implements [Request].
func (r *IncomingSubscribeNamespace) Reject(err *RequestError) error { return r.r.h.reject(err) }

// Announce tells the peer of a namespace, which must begin with the prefix. One that it knows already is not told again.
func (r *IncomingSubscribeNamespace) Announce(ns wire.Namespace) error { return r.r.announce(ns) }

// Withdraw tells the peer that a namespace has gone. One that it does not know is left out.
func (r *IncomingSubscribeNamespace) Withdraw(ns wire.Namespace) error { return r.r.withdraw(ns) }

// Cancel ends the subscription from this side.
func (r *IncomingSubscribeNamespace) Cancel(code wire.StreamCode) { r.r.h.abort(code, ErrClosed) }

// GoAway asks the peer to make the request anew elsewhere (empty: on this session). After timeout, if it is not 0, it ends here.
func (r *IncomingSubscribeNamespace) GoAway(uri string, timeout time.Duration) error {
	return r.r.h.sendGoAway(uri, timeout)
}

func (r *IncomingSubscribeNamespace) isRequest() {}

// IncomingSubscribeTracks is the peer's wish to be offered all tracks with a prefix.
type IncomingSubscribeTracks struct {
	Prefix  wire.Namespace // as asked for first; see IncomingPrefixUpdate
	Forward bool           // the Forward State that those PUBLISHes must have
	Tokens  []wire.Token

	// Params are what holds for those subscriptions unless PUBLISH_OK says something else. Draft-19 only.
	Params wire.Params

	r *prefixRequest
}

func (s *Session) beginSubscribeTracks(h *handle, m *wire.SubscribeTracks) {
	req := &IncomingSubscribeTracks{
		Prefix:  m.Prefix,
		Forward: m.Params.Forward.Or(wire.DefaultForward),
		Tokens:  m.Params.AuthTokens,
		Params:  m.Params,
	}
	req.r = &prefixRequest{h: h, prefix: m.Prefix, tracks: req}
	req.r.begin(req)
}

// Context implements [Request].
func (r *IncomingSubscribeTracks) Context() context.Context { return r.r.h.ctx }

// Accept answers with REQUEST_OK.
func (r *IncomingSubscribeTracks) Accept() error { return r.r.h.accept(&wire.RequestOK{}) }

// Reject implements [Request].
func (r *IncomingSubscribeTracks) Reject(err *RequestError) error { return r.r.h.reject(err) }

// Blocked tells the peer that a track could not be offered for want of streams, and never will be.
//
// "The Publisher MUST NOT send a PUBLISH for a Track after PUBLISH_BLOCKED has been sent."
// [MOQT-18] Section 6.1, Subscribing to Namespaces
func (r *IncomingSubscribeTracks) Blocked(track wire.FullTrackName) error { return r.r.block(track) }

// Cancel ends the subscription from this side.
func (r *IncomingSubscribeTracks) Cancel(code wire.StreamCode) { r.r.h.abort(code, ErrClosed) }

// GoAway asks the peer to make the request anew elsewhere (empty: on this session). After timeout, if it is not 0, it ends here.
func (r *IncomingSubscribeTracks) GoAway(uri string, timeout time.Duration) error {
	return r.r.h.sendGoAway(uri, timeout)
}

func (r *IncomingSubscribeTracks) isRequest() {}

// IncomingPrefixUpdate is the peer's wish to change the prefix of a SUBSCRIBE_NAMESPACE or SUBSCRIBE_TRACKS.
// A refusal ends that request.
type IncomingPrefixUpdate struct {
	Namespaces *IncomingSubscribeNamespace // of this one,
	Tracks     *IncomingSubscribeTracks    // or of this one
	Prefix     wire.Namespace
	Tokens     []wire.Token

	r    *prefixRequest
	once sync.Once
	done chan struct{}
}

// Context implements [Request]. It is that of the request to be changed.
func (r *IncomingPrefixUpdate) Context() context.Context { return r.r.h.ctx }

// Accept answers with REQUEST_OK. From then on Announce and Withdraw go by the new prefix; namespaces that were announced
// and do not have it are forgotten, those that do have it stay announced. If the new prefix overlaps with that of another
// request, it answers with PREFIX_OVERLAP instead and returns that error.
func (r *IncomingPrefixUpdate) Accept() error {
	return r.answer(func() error { return r.r.move(r.Prefix) })
}

// Reject implements [Request].
func (r *IncomingPrefixUpdate) Reject(err *RequestError) error {
	if err == nil {
		err = &RequestError{Code: wire.RequestNotSupported}
	}
	return r.answer(func() error { return r.r.h.refuseUpdate(err) })
}

func (r *IncomingPrefixUpdate) answer(f func() error) error {
	err := ErrAnswered
	r.once.Do(func() {
		err = f()
		close(r.done)
	})
	return err
}

func (r *IncomingPrefixUpdate) isRequest() {}

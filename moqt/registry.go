package moqt

import (
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// registry finds the requests of a session by what they are about. It is guarded
// by Session.mu.
type registry struct {
	// What this side sends, by track: from the moment SUBSCRIBE has come or PUBLISH was sent.
	publications map[wire.FullTrackName]*Publication
	// The same by request id of the SUBSCRIBE or PUBLISH, for joining fetches.
	publicationIDs map[uint64]*Publication
	// Ids of requests of the peer that are being looked at.
	beginning map[uint64]struct{}
	joinable  signal // beginning has changed

	// What this side receives, by track: from the moment SUBSCRIBE was sent or a PUBLISH was accepted.
	subscriptions map[wire.FullTrackName]*Subscription
	// Those whose answer was yes.
	established map[*Subscription]struct{}
	// PUBLISHes of the peer that were not answered.
	offers map[wire.FullTrackName]*Subscription

	fetches map[uint64]*FetchReader // of this side, by request id

	namespaces prefixes // SUBSCRIBE_NAMESPACE of the peer
	tracks     prefixes // SUBSCRIBE_TRACKS of the peer
}

func (r *registry) init() {
	r.publications = make(map[wire.FullTrackName]*Publication)
	r.publicationIDs = make(map[uint64]*Publication)
	r.beginning = make(map[uint64]struct{})
	r.subscriptions = make(map[wire.FullTrackName]*Subscription)
	r.established = make(map[*Subscription]struct{})
	r.offers = make(map[wire.FullTrackName]*Subscription)
	r.fetches = make(map[uint64]*FetchReader)
	r.namespaces = make(prefixes)
	r.tracks = make(prefixes)
}

// errDuplicate refuses a second subscription to a track.
//
// "For a given Track, an endpoint can have at most one subscription to a Track acting as the publisher and at most one
// acting as a subscriber. If an endpoint receives a message attempting to establish a second subscription to a Track with
// the same role, it MUST fail that request with a DUPLICATE_SUBSCRIPTION error."
// [MOQT-18] Section 5.1, Subscriptions
func errDuplicate(local bool) *RequestError {
	return &RequestError{Code: wire.RequestDuplicateSubscription, Reason: "there is a subscription to this track already", Local: local}
}

// replaceGrace is how long a request that is in the way of a new one may take to end. Streams race: that the peer has
// ended the old one can be known later than the new one.
const replaceGrace = 250 * time.Millisecond

// retryFor calls f until it returns nil or what is in the way has had its time to end. blocked is what is in the way.
func (h *handle) retryFor(f func() (blocked *handle)) bool {
	var timer *time.Timer
	for {
		blocked := f()
		if blocked == nil {
			return true
		}
		if timer == nil {
			timer = time.NewTimer(replaceGrace)
			defer timer.Stop()
		}
		select {
		case <-blocked.ctx.Done():
		case <-h.ctx.Done():
			return false
		case <-timer.C:
			return false
		}
	}
}

// addSubscription registers a SUBSCRIBE of this side.
func (s *Session) addSubscription(sub *Subscription) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.registry.subscriptions[sub.track] != nil {
		return errDuplicate(true)
	}
	s.registry.subscriptions[sub.track] = sub
	return nil
}

// establish notes that a SUBSCRIBE of this side was answered with yes. It returns false if it was superseded.
func (s *Session) establish(sub *Subscription) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.registry.subscriptions[sub.track] != sub {
		return false
	}
	s.registry.established[sub] = struct{}{}
	return true
}

// removeSubscription takes a subscription off the books.
func (s *Session) removeSubscription(sub *Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.registry
	if r.subscriptions[sub.track] == sub {
		delete(r.subscriptions, sub.track)
	}
	if r.offers[sub.track] == sub {
		delete(r.offers, sub.track)
	}
	delete(r.established, sub)
}

// addOffer registers a PUBLISH of the peer. It returns what is in the way.
func (s *Session) addOffer(sub *Subscription) (blocked *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.registry
	if old := r.subscriptions[sub.track]; old != nil {
		if _, established := r.established[old]; established {
			return old.h
		}
	}
	if old := r.offers[sub.track]; old != nil {
		return old.h
	}
	r.offers[sub.track] = sub
	return nil
}

// takeOffer makes an accepted PUBLISH the subscription to its track. It returns the SUBSCRIBE of this side that has to
// end for that, and whether it can be done at all.
//
// "If a subscriber receives a PUBLISH for a Track with a subscription in the Pending (Subscriber) state, it MUST ensure the
// subscription it initiated transitions to the Terminated state before sending PUBLISH_OK."
// [MOQT-18] Section 5.1, Subscriptions
func (s *Session) takeOffer(sub *Subscription) (old *Subscription, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.registry
	if r.offers[sub.track] != sub {
		return nil, false
	}
	old = r.subscriptions[sub.track]
	if _, established := r.established[old]; established {
		return nil, false
	}
	delete(r.offers, sub.track)
	r.subscriptions[sub.track] = sub
	r.established[sub] = struct{}{}
	return old, true
}

// publishes reports whether this side has a publication of the track.
func (s *Session) publishes(track wire.FullTrackName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.registry.publications[track] != nil && !s.severalPerTrack()
}

// addPublication registers what this side sends. It returns what is in the way.
func (s *Session) addPublication(p *Publication) (blocked *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.registry.publications[p.track]; old != nil && !s.severalPerTrack() {
		return old.h
	}
	s.registry.publications[p.track] = p
	s.registry.publicationIDs[p.h.id] = p
	return nil
}

// severalPerTrack reports whether a track may have several subscriptions with the same roles.
//
// "An endpoint MAY have multiple concurrent subscriptions to the same Track, each identified by a unique Request ID."
// [MOQT-19] Section 5.1, Subscriptions
//
// This side takes them from its subscribers. It does not ask for them itself.
func (s *Session) severalPerTrack() bool { return s.version >= wire.Draft19 }

func (s *Session) removePublication(p *Publication) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.registry.publications[p.track] == p {
		delete(s.registry.publications, p.track)
	}
	if s.registry.publicationIDs[p.h.id] == p {
		delete(s.registry.publicationIDs, p.h.id)
	}
}

// takeAlias returns the alias of a new publication. Aliases are not used again, so that late objects are never mistaken.
func (s *Session) takeAlias() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextAlias++
	return s.nextAlias
}

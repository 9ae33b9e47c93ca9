package relay

import (
	"context"
	"errors"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// subscribeTracks offers the peer the tracks below its prefix, as they come. Those are the tracks that are published here: by
// PUBLISH or by this process. What publishers would bring if they were asked for it is not known.
//
// "When a relay receives an incoming PUBLISH message, it MUST send a PUBLISH request to each subscriber that has sent
// SUBSCRIBE_TRACKS for the Track's namespace or a prefix thereof." [MOQT-18] Section 9.5, Publisher Interactions
func (s *session) subscribeTracks(req *moqt.IncomingSubscribeTracks) *moqt.RequestError {
	if refused := checkName(req.Prefix); refused != nil {
		return refused
	}
	if err := req.Accept(); err != nil {
		return nil
	}
	s.accepted(RequestSubscribeTracks)
	offered := make(map[*route]struct{})
	for {
		now, changed := s.relay.published(req.CurrentPrefix(), s)
		for rt := range offered {
			if _, there := now[rt]; !there {
				delete(offered, rt)
			}
		}
		for rt := range now {
			if _, again := offered[rt]; again {
				continue
			}
			offered[rt] = struct{}{}
			if !s.offerable(req, rt.track.name) {
				continue
			}
			offer := func() {
				defer s.freeTrack()
				s.offer(req, rt)
			}
			if !s.spawn(offer) {
				s.freeTrack()
				return nil
			}
		}
		select {
		case <-changed:
		case <-req.Context().Done():
			return nil
		}
	}
}

// published returns the tracks below a prefix that are published here, but for those of one session, and a channel that is
// closed when there may be others.
//
// "SUBSCRIBE_TRACKS requests track subscriptions: the publisher sends PUBLISH messages for tracks within matching
// namespaces, excluding tracks published by the subscriber." [MOQT-18] Section 6.1, Subscribing to Namespaces
func (r *Relay) published(prefix wire.Namespace, but *session) (map[*route]struct{}, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[*route]struct{})
	for name := range r.carried.below(prefix) {
		rt := r.routes[name]
		if rt.state == routeEstablished && (rt.local || rt.pushed()) && rt.sessions[but] == 0 {
			all[rt] = struct{}{}
		}
	}
	return all, r.arrived.wait()
}

// offerable claims a track for an offer. If the peer has as many as it may have it is told so: it can SUBSCRIBE when it has
// ended others. This is done by the request's own goroutine, so that no more run than there may be tracks.
func (s *session) offerable(req *moqt.IncomingSubscribeTracks, name wire.FullTrackName) bool {
	if s.claimTrack() == nil {
		return true
	}
	if req.Blocked(name) == nil {
		s.relay.stats.Offers[OfferBlocked].Add(1)
	}
	return false
}

// offer sends the peer a PUBLISH of a track and, if it wants the track, the track.
//
// "However, if the relay is holding a downstream SUBSCRIBE awaiting a publisher for this Track, it MUST proceed with the
// SUBSCRIBE and MUST NOT also forward the PUBLISH to that subscriber." [MOQT-18] Section 9.5, Publisher Interactions
//
// The session sees to that: a track of which the peer has a subscription, or has asked for one, is not offered.
func (s *session) offer(req *moqt.IncomingSubscribeTracks, rt *route) {
	pub, err := req.Offer(s.ctx, moqt.PublishRequest{
		Track: rt.track.name, Properties: rt.track.properties(), Largest: rt.track.largestObject,
	})
	var refused *moqt.RequestError
	switch {
	case err == nil:
		s.relay.stats.Offers[OfferAccepted].Add(1)
	case errors.Is(err, moqt.ErrBlocked):
		s.relay.stats.Offers[OfferBlocked].Add(1)
		return
	case errors.As(err, &refused), errors.Is(err, context.Canceled):
		s.relay.stats.Offers[OfferRefused].Add(1)
		return
	default:
		return
	}
	s.relay.mu.Lock()
	h := rt.hold(pub.State().Forward)
	s.relay.mu.Unlock()
	defer h.release()
	s.serve(pub, h, nil)
}

package relay

import (
	"context"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// hold is what keeps a track going for one subscriber.
type hold struct {
	route   *route // fixed
	forward bool   // it wants objects; guarded by Relay.mu
}

// hold notes one more who wants the track, and whether objects of it. relay.mu is held.
func (rt *route) hold(forward bool) *hold {
	rt.holds++
	rt.idle = time.Time{}
	h := &hold{route: rt}
	h.set(forward)
	return h
}

// set notes whether the subscriber wants objects. relay.mu is held.
//
// "If the SUBSCRIBE has Forward State=1 and the upstream subscriptions are in Forward State=0, the Relay MUST send
// REQUEST_UPDATE with Forward=1 to all publishers." [MOQT-18] Section 9.5, Publisher Interactions
func (h *hold) set(forward bool) {
	rt := h.route
	switch {
	case forward && !h.forward:
		rt.forwards++
		rt.quiet = time.Time{}
		rt.want(true)
	case !forward && h.forward:
		if rt.forwards--; rt.forwards == 0 {
			rt.quiet = rt.relay.cfg.Now()
		}
	}
	h.forward = forward
}

// setForward is set for those who do not hold relay.mu.
func (h *hold) setForward(forward bool) {
	h.route.relay.mu.Lock()
	defer h.route.relay.mu.Unlock()
	h.set(forward)
}

// release gives back a hold. The last one leaves the track to linger.
func (h *hold) release() {
	rt := h.route
	rt.relay.mu.Lock()
	defer rt.relay.mu.Unlock()
	h.set(false)
	rt.holds--
	switch {
	case rt.holds > 0:
	case !rt.listed():
		rt.track.clear()
	default:
		rt.idle = rt.relay.cfg.Now()
	}
}

// wish is what a subscriber asks for when it comes.
type wish struct {
	track    wire.FullTrackName
	wait     time.Duration // for a publisher, at most
	forward  bool
	newGroup wire.Opt[uint64] // NEW_GROUP_REQUEST
}

// acquire returns a hold on a track, once a publisher has agreed. If there is no publisher it waits for one up to the given
// time, and as long as one that was cut off may come back.
//
// "The relay MUST have an Established upstream subscription before sending SUBSCRIBE_OK"
// [MOQT-18] Section 9.4, Subscriber Interactions
func (r *Relay) acquire(ctx context.Context, w wish) (*hold, *moqt.RequestError) {
	w.wait = min(w.wait, r.cfg.RendezvousMax)
	var deadline <-chan time.Time
	if w.wait > 0 {
		timer := time.NewTimer(w.wait)
		defer timer.Stop()
		deadline = timer.C
	}
	for {
		r.mu.Lock()
		rt, refused := r.find(w)
		if refused != nil {
			r.mu.Unlock()
			return nil, refused
		}
		if rt == nil {
			changed := r.arrived.wait()
			hopeless := w.wait <= 0 && !r.mayReturn(w.track.Namespace)
			r.mu.Unlock()
			if hopeless {
				return nil, refuse(wire.RequestDoesNotExist, "no publisher has announced this track")
			}
			select {
			case <-changed:
				continue
			case <-deadline:
				return nil, refuse(wire.RequestTimeout, "no publisher came in time")
			case <-ctx.Done():
				return nil, errGone
			}
		}
		h := rt.hold(w.forward)
		r.mu.Unlock()
		if refused := h.established(ctx); refused != nil {
			h.release()
			return nil, refused
		}
		return h, nil
	}
}

// errGone is what those are told who have cancelled, if they listen.
var errGone = refuse(wire.RequestInternalError, "cancelled")

// established waits for a publisher's answer and, if the publishers were told just now to send, until they have said how far
// the track is.
func (h *hold) established(ctx context.Context) *moqt.RequestError {
	rt, r := h.route, h.route.relay
	select {
	case <-rt.settled:
	case <-ctx.Done():
		return errGone
	}
	for {
		r.mu.Lock()
		state, refused := rt.state, rt.refused
		telling := h.forward && rt.telling()
		told := rt.told.wait()
		r.mu.Unlock()
		if state != routeEstablished {
			return refused
		}
		if !telling {
			return nil
		}
		select {
		case <-told:
		case <-ctx.Done():
			return errGone
		}
	}
}

// telling reports whether a publisher is being told to send; relay.mu is held.
func (rt *route) telling() bool {
	for l := range rt.links {
		if l.updating {
			return true
		}
	}
	return false
}

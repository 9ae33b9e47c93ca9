package relay

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// updateTimeout is how long a publisher may take to answer REQUEST_UPDATE.
const updateTimeout = 5 * time.Second

// route ties a track to those who bring it and those who want it. Relay.mu guards it, but for what
// is fixed.
type route struct {
	relay *Relay // fixed
	track *track // fixed; a track that begins anew gets a new route
	local bool   // fixed: this process publishes it

	links map[*session]*link // who brings it, or was asked to
	holds int                // subscriptions downstream
	idle  time.Time          // when holds became 0; zero while there are some, or nothing is due
	lost  time.Time          // when the last link was lost; zero otherwise

	established bool
	refused     *moqt.RequestError // the last answer of a publisher that would not
	settled     chan struct{}      // closed when established or refused by all
}

// link is one publisher's subscription for a track.
type link struct {
	// Fixed.
	session *session // nil for the process itself
	pushed  bool     // born from the publisher's PUBLISH

	brought atomic.Bool // something of it was taken
	gone    atomic.Bool // it will bring nothing more

	// Guarded by Relay.mu.
	sub     *moqt.Subscription // nil until the publisher agreed
	forward bool               // the publisher was told to send
}

// newRoute registers a route; r.mu is held.
func (r *Relay) newRoute(name wire.FullTrackName, local bool) *route {
	rt := &route{
		relay: r, track: newTrack(name, r.cache, &r.stats), local: local,
		links: make(map[*session]*link), settled: make(chan struct{}),
	}
	r.routes[name] = rt
	r.stats.Tracks.Store(int64(len(r.routes)))
	r.wake()
	return rt
}

// remove takes a route off the books. Its track goes on for those who hold it, and its memory with
// the last of them. r.mu is held.
func (r *Relay) remove(rt *route) {
	if !rt.listed() {
		return
	}
	delete(r.routes, rt.track.name)
	r.stats.Tracks.Store(int64(len(r.routes)))
	if rt.holds == 0 {
		rt.track.clear()
	}
	r.wake()
}

// listed reports whether new subscribers get this route; relay.mu is held.
func (rt *route) listed() bool { return rt.relay.routes[rt.track.name] == rt }

// acquire returns the route of a track with one more hold on it, once a publisher has agreed. If there is no
// publisher it waits for one up to the given time.
//
// "The relay MUST have an Established upstream subscription before sending SUBSCRIBE_OK"
// [MOQT-18] Section 9.4, Subscriber Interactions
func (r *Relay) acquire(ctx context.Context, name wire.FullTrackName, wait time.Duration) (*route, *moqt.RequestError) {
	wait = min(wait, r.cfg.RendezvousMax)
	var deadline <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		deadline = timer.C
	}
	for {
		r.mu.Lock()
		rt := r.routes[name]
		if rt == nil {
			if len(r.routes) >= r.cfg.MaxTracks {
				r.mu.Unlock()
				return nil, refuse(wire.RequestExcessiveLoad, "too many tracks")
			}
			if ss := r.publishers(name.Namespace); len(ss) > 0 {
				rt = r.newRoute(name, false)
				for _, s := range ss {
					rt.attach(s)
				}
			}
		}
		if rt == nil {
			changed := r.wait()
			r.mu.Unlock()
			if wait <= 0 {
				return nil, refuse(wire.RequestDoesNotExist, "no publisher has announced this track")
			}
			select {
			case <-changed:
				continue
			case <-deadline:
				return nil, refuse(wire.RequestTimeout, "no publisher came in time")
			case <-ctx.Done():
				return nil, refuse(wire.RequestInternalError, "cancelled")
			}
		}
		rt.hold()
		r.mu.Unlock()

		select {
		case <-rt.settled:
		case <-ctx.Done():
			rt.release()
			return nil, refuse(wire.RequestInternalError, "cancelled")
		}
		r.mu.Lock()
		ok, refused := rt.established, rt.refused
		r.mu.Unlock()
		if ok {
			rt.setForward(true)
			return rt, nil
		}
		rt.release()
		return nil, refused
	}
}

func (rt *route) hold() {
	rt.holds++
	rt.idle = time.Time{}
}

// release gives back a hold. The last one leaves the track to linger.
func (rt *route) release() {
	rt.relay.mu.Lock()
	defer rt.relay.mu.Unlock()
	rt.holds--
	switch {
	case rt.holds > 0:
	case !rt.listed():
		rt.track.clear()
	default:
		rt.idle = rt.relay.cfg.Now()
	}
}

// pushed reports whether a publisher keeps the track going by itself; relay.mu is held.
func (rt *route) pushed() bool {
	for _, l := range rt.links {
		if l.pushed {
			return true
		}
	}
	return false
}

// pause ends the upstream subscriptions of a track that nobody watches. Those born from a
// PUBLISH are kept, but told to send nothing.
func (rt *route) pause() {
	var pulled []*moqt.Subscription
	rt.relay.mu.Lock()
	for _, l := range rt.links {
		if !l.pushed && l.sub != nil {
			pulled = append(pulled, l.sub)
		}
	}
	rt.relay.mu.Unlock()
	for _, s := range pulled {
		s.Close()
	}
	rt.setForward(false)
}

// setForward tells the publishers to send, or not.
//
// "If the SUBSCRIBE has Forward State=1 and the upstream subscriptions are in Forward State=0, the Relay MUST send
// REQUEST_UPDATE with Forward=1 to all publishers." [MOQT-18] Section 9.5, Publisher Interactions
func (rt *route) setForward(forward bool) {
	rt.relay.mu.Lock()
	defer rt.relay.mu.Unlock()
	for _, l := range rt.links {
		if l.sub == nil || l.forward == forward {
			continue
		}
		l.forward = forward
		l.session.spawn(func() {
			ctx, cancel := context.WithTimeout(l.session.ctx, updateTimeout)
			defer cancel()
			l.sub.Update(ctx, wire.Params{Forward: wire.Some(forward)})
		})
	}
}

// attach asks a session for the track, unless it was asked before; relay.mu is held. The
// subscription is run by the publisher's session.
func (rt *route) attach(s *session) {
	if rt.links[s] != nil {
		return
	}
	l := &link{session: s}
	rt.links[s] = l
	if !s.spawn(func() { rt.pull(s.ctx, l) }) {
		delete(rt.links, s)
		rt.settle(refuse(wire.RequestDoesNotExist, "the publisher is leaving"))
	}
}

// pull subscribes at the publisher and feeds the track until that ends.
func (rt *route) pull(ctx context.Context, l *link) {
	sub, err := l.session.moqt.Subscribe(ctx, moqt.SubscribeRequest{
		Track: rt.track.name,
		// "relays that aggregate upstream subscriptions can subscribe using the Largest Object filter"
		// [MOQT-18] Section 9.4, Subscriber Interactions
		Params: wire.Params{Filter: wire.Some(wire.Filter{Type: wire.FilterLargestObject})},
	})
	if err != nil {
		var refused *moqt.RequestError
		if !errors.As(err, &refused) {
			refused = refuse(wire.RequestDoesNotExist, "the publisher was lost")
		}
		rt.drop(l, refused)
		return
	}
	rt.feed(ctx, l, sub)
}

// feed runs an established upstream subscription.
func (rt *route) feed(ctx context.Context, l *link, sub *moqt.Subscription) {
	r := rt.relay
	info := sub.Info()
	rt.track.setProperties(info.Properties, info.Largest)
	r.mu.Lock()
	l.sub = sub
	l.forward = !l.pushed || rt.holds > 0
	rt.lost = time.Time{}
	rt.settle(nil)
	listed := rt.listed()
	r.mu.Unlock()
	if !listed { // nobody waited for the answer
		sub.Close()
	}

	u := &upstream{link: l, sub: sub, stats: &r.stats, now: r.cfg.Now, route: rt}
	err := u.run(ctx)
	sub.Close()
	l.gone.Store(true)

	var done *moqt.DoneError
	if errors.As(err, &done) {
		u.current().finished(l, done)
	} else {
		u.current().drop(l, nil)
	}
}

// settle notes a publisher's answer: nil if it agreed. relay.mu is held.
func (rt *route) settle(refused *moqt.RequestError) {
	if rt.established {
		return
	}
	if refused == nil {
		rt.established = true
		close(rt.settled)
		return
	}
	rt.refused = refused
	if len(rt.links) > 0 {
		return // others may still agree
	}
	select {
	case <-rt.settled:
	default:
		close(rt.settled)
		rt.relay.remove(rt)
	}
}

// unlink takes a link off, unless another of the same session has its place by now. relay.mu is held.
func (rt *route) unlink(l *link) {
	if rt.links[l.session] == l {
		delete(rt.links, l.session)
	}
}

// drop takes a link off after its session was lost or its publisher refused.
func (rt *route) drop(l *link, refused *moqt.RequestError) {
	r := rt.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	rt.unlink(l)
	if !rt.established {
		if refused == nil {
			refused = refuse(wire.RequestDoesNotExist, "the publisher was lost")
		}
		rt.settle(refused)
		return
	}
	if len(rt.links) == 0 && rt.lost.IsZero() {
		rt.lost = r.cfg.Now()
	}
}

// finished takes a link off after its publisher said PUBLISH_DONE. With the last one the track ends.
func (rt *route) finished(l *link, done *moqt.DoneError) {
	r := rt.relay
	r.mu.Lock()
	rt.unlink(l)
	last := len(rt.links) == 0
	if last {
		r.remove(rt)
	}
	r.mu.Unlock()
	if last {
		rt.track.end(done.Code, done.Reason)
	}
}

// restart moves a link to a new route under the same name, because its publisher has begun anew with smaller
// group ids. The subscribers of the old one are told that the track ended, and its namespace is
// announced again, so that they ask anew.
func (rt *route) restart(l *link) *route {
	r := rt.relay
	r.mu.Lock()
	rt.unlink(l)
	r.remove(rt)
	next := r.newRoute(rt.track.name, false)
	next.links[l.session] = l
	next.settle(nil)
	next.idle = r.cfg.Now()
	for ns := range r.announcements {
		if rt.track.name.Namespace.HasPrefix(ns) {
			r.restarts[ns]++
		}
	}
	r.wake()
	r.mu.Unlock()
	r.stats.Takeovers.Add(1)
	next.track.setProperties(rt.track.properties(), wire.Opt[wire.Location]{})
	rt.track.end(wire.DoneTrackEnded, "the publisher has begun anew")
	return next
}

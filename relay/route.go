package relay

import (
	"slices"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// route ties a track to those who bring it and those who want it. Relay.mu guards it, but for what
// is fixed.
type route struct {
	relay *Relay // fixed
	track *track // fixed; a track that begins anew gets a new route
	local bool   // fixed: this process publishes it

	links    map[*link]struct{} // who brings it, or was asked to
	sessions map[*session]int   // how many of the links are the session's
	holds    int                // subscriptions downstream
	forwards int                // those that want objects
	wanted   bool               // some wanted objects not longer than the linger time ago: publishers are to send
	quiet    time.Time          // when forwards became 0; zero while there are some, or nothing is due
	idle     time.Time          // when holds became 0; zero while there are some, or nothing is due
	lost     time.Time          // when the last link was lost; zero otherwise

	newGroup wire.Opt[uint64] // a NEW_GROUP_REQUEST that goes with the next SUBSCRIBE to a publisher
	told     signal           // a publisher has answered whether it sends

	state   routeState
	refused *moqt.RequestError // the last answer of a publisher that would not
	settled chan struct{}      // closed when the state is no longer routePending
}

// routeState says how far a track is.
type routeState uint8

const (
	routePending     routeState = iota // publishers were asked, none has agreed yet
	routeEstablished                   // one has agreed
	routeRefused                       // all have refused or were lost; it is off the books
)

// sources returns the route of a track, if it is established, and who can be asked about it, those first who bring it.
// current says that what the route's track tells is of now: a track that nobody sends may have gone on. r.mu is held.
func (r *Relay) sources(name wire.FullTrackName) (rt *route, current bool, publishers []*session) {
	if rt = r.routes[name]; rt != nil && rt.state != routeEstablished {
		rt = nil
	}
	if rt != nil && rt.local {
		return rt, true, nil
	}
	if rt != nil {
		for l := range rt.links {
			if l.sub != nil {
				current = current || l.forward
				publishers = append(publishers, l.session)
			}
		}
	}
	for _, p := range r.publishers(name.Namespace) {
		if !slices.Contains(publishers, p) {
			publishers = append(publishers, p)
		}
	}
	return rt, current, publishers
}

// newRoute registers a route; r.mu is held.
func (r *Relay) newRoute(name wire.FullTrackName, local bool) *route {
	rt := &route{
		relay: r, track: newTrack(name, r.cache, &r.stats), local: local,
		links: make(map[*link]struct{}), sessions: make(map[*session]int), settled: make(chan struct{}),
	}
	rt.track.observer = r.cfg.observe(name)
	r.routes[name] = rt
	r.carried.add(name)
	r.stats.Tracks.Store(int64(len(r.routes)))
	return rt
}

// remove takes a route off the books, and ends what is left of its links. Its track goes on for those who hold it,
// and its memory with the last of them. r.mu is held.
func (r *Relay) remove(rt *route) {
	if !rt.listed() {
		return
	}
	delete(r.routes, rt.track.name)
	r.carried.remove(rt.track.name)
	r.stats.Tracks.Store(int64(len(r.routes)))
	for l := range rt.links {
		l.cancel()
	}
	if rt.track.observer != nil {
		rt.track.observer.Ended()
	}
	if rt.holds == 0 {
		rt.track.clear()
	}
}

// listed reports whether new subscribers get this route; relay.mu is held.
func (rt *route) listed() bool { return rt.relay.routes[rt.track.name] == rt }

// find returns the route of a track. If nobody has watched it so far, or nobody brings it now, all its publishers are
// asked. It returns nil if there are none. r.mu is held.
//
// "Relays MUST send SUBSCRIBE messages to all matching publishers." [MOQT-18] Section 9.5, Publisher Interactions
func (r *Relay) find(w wish) (*route, *moqt.RequestError) {
	name := w.track
	rt := r.routes[name]
	if rt != nil && (rt.local || rt.holds > 0 && len(rt.links) > 0) {
		return rt, nil
	}
	publishers := r.publishers(name.Namespace)
	if rt == nil {
		if len(publishers) == 0 {
			return nil, nil
		}
		if len(r.routes) >= r.cfg.MaxTracks {
			return nil, refuse(wire.RequestExcessiveLoad, "too many tracks")
		}
		rt = r.newRoute(name, false)
		// "Relays SHOULD set the `Forward` flag to 1 when a new subscription needs to be sent upstream, regardless of the
		// value of the `Forward` field from the downstream subscription."
		// [MOQT-18] Section 9.2, Forward Handling
		rt.wanted, rt.quiet = true, r.cfg.Now()
	}
	if rt.state == routePending {
		rt.newGroup = newest(rt.newGroup, w.newGroup)
	}
	for _, s := range publishers {
		rt.attach(s)
	}
	if rt.state == routePending && len(rt.links) == 0 { // all of them are leaving
		r.remove(rt)
		return nil, nil
	}
	return rt, nil
}

// newest returns the one of two NEW_GROUP_REQUESTs that asks for more: 0 asks for a new group in any case.
func newest(a, b wire.Opt[uint64]) wire.Opt[uint64] {
	x, ok := a.Get()
	y, also := b.Get()
	if !ok || also && x != 0 && (y == 0 || y > x) {
		return b
	}
	return a
}

// want notes whether the track is wanted, and tells those who push it. relay.mu is held.
func (rt *route) want(wanted bool) {
	rt.wanted = wanted
	for l := range rt.links {
		if l.sub == nil || l.updating || l.forward == wanted {
			continue
		}
		l.updating = l.session.spawn(l.tell)
	}
}

// pushed reports whether a publisher keeps the track going by itself; relay.mu is held.
func (rt *route) pushed() bool {
	for l := range rt.links {
		if l.pushed {
			return true
		}
	}
	return false
}

// pause ends the upstream subscriptions of a track that nobody watches. Those born from a
// PUBLISH are kept, but told to send nothing. relay.mu is held.
func (rt *route) pause() {
	for l := range rt.links {
		if !l.pushed {
			rt.unlink(l)
			l.cancel()
		}
	}
	rt.want(false)
}

// agreed notes that a publisher agreed to bring the track; relay.mu is held.
func (rt *route) agreed(l *link, info moqt.SubscriptionInfo) {
	if _, ok := rt.links[l]; !ok {
		return // too late, nobody waits for it any more
	}
	l.forward = l.forward || !l.pushed
	rt.track.setProperties(info.Properties, info.Largest)
	rt.track.setMaxCache(info.MaxCacheDuration)
	if n, ok := l.asked.Get(); ok && info.DynamicGroups {
		rt.track.wantGroup(n) // it is outstanding
	}
	rt.lost = time.Time{}
	rt.newGroup = wire.Opt[uint64]{}
	rt.establish()
	rt.want(rt.wanted)      // that may have changed since it was answered
	rt.relay.arrived.fire() // for those who want all tracks of a namespace
}

// establish lets those go on who wait for a publisher's answer; relay.mu is held.
func (rt *route) establish() {
	if rt.state == routePending {
		rt.state = routeEstablished
		close(rt.settled)
	}
}

// refusedBy notes the refusal of a publisher while none has agreed, and gives up if it was the last. relay.mu is held.
func (rt *route) refusedBy(refused *moqt.RequestError) {
	rt.refused = refused
	if len(rt.links) > 0 {
		return // others may still agree
	}
	rt.state = routeRefused
	close(rt.settled)
	rt.relay.remove(rt)
}

// restart makes a new route under the same name, because a publisher has begun anew with smaller group ids. The
// subscribers of the old one are told that the track ended, and its namespace is announced again, so that they ask
// anew. It returns the route that the publisher feeds from now on: this one if another publisher still brings the track,
// unless sure says that none goes on.
func (rt *route) restart(l *link, sure bool) *route {
	r := rt.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := l.route.Load(); now != rt {
		return now // another stream of it was first
	}
	if _, ok := rt.links[l]; !ok || !rt.listed() {
		return rt
	}
	for other := range rt.links {
		if !sure && other != l && other.brought.Load() && !other.gone.Load() {
			return rt
		}
	}
	next := r.newRoute(rt.track.name, false) // in the old one's place
	next.links, next.sessions, next.wanted = rt.links, rt.sessions, rt.wanted
	next.quiet = r.cfg.Now()
	rt.links, rt.sessions = nil, nil
	for l := range next.links {
		l.route.Store(next)
		l.brought.Store(false)
	}
	next.idle = r.cfg.Now()
	next.track.setProperties(rt.track.properties(), wire.Opt[wire.Location]{})
	next.establish()
	for ns := range prefixes(rt.track.name.Namespace) {
		if len(r.announcements[ns]) > 0 {
			r.restarts[ns]++
		}
	}
	r.names.fire()
	r.stats.Takeovers.Add(1)
	rt.track.end(wire.DoneTrackEnded, "the publisher has begun anew")
	rt.track.wakeGroupWatchers() // they follow the link
	r.arrived.fire()
	if rt.holds == 0 {
		rt.track.clear()
	}
	return next
}

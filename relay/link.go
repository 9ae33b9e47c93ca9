package relay

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// Times that a publisher is given.
const (
	// answerTimeout is how long it may take to answer SUBSCRIBE.
	answerTimeout = 10 * time.Second

	// updateTimeout is how long it may take to answer REQUEST_UPDATE.
	updateTimeout = 5 * time.Second

	// doneTimeout is how long after its PUBLISH_DONE streams may stay open.
	doneTimeout = 10 * time.Second
)

// link is one publisher's subscription for a track. A goroutine of the publisher's session runs it.
type link struct {
	// Fixed.
	session *session
	pushed  bool            // born from the publisher's PUBLISH
	ctx     context.Context // ends with the session, or when the track is no longer wanted from here
	cancel  context.CancelFunc
	done    chan struct{} // closed when nothing of it runs any more

	route   atomic.Pointer[route] // changes, with Relay.mu held, if the track begins anew
	brought atomic.Bool           // something of it was taken
	gone    atomic.Bool           // it will bring nothing more

	// Guarded by Relay.mu.
	sub      *moqt.Subscription // nil until the publisher agreed
	asked    wire.Opt[uint64]   // the NEW_GROUP_REQUEST in its SUBSCRIBE
	forward  bool               // the publisher was told to send
	updating bool               // a goroutine tells it otherwise
}

// link adds a link to the route. It returns a channel, nil if there is no need, that is closed when the session's
// subscription to the same track before this one has ended: there can be one at a time. relay.mu is held.
func (rt *route) link(s *session, pushed bool) (l *link, before <-chan struct{}) {
	l = &link{session: s, pushed: pushed, done: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(s.ctx)
	l.route.Store(rt)
	rt.links[l] = struct{}{}
	rt.sessions[s]++
	if old := s.upstreams[rt.track.name]; old != nil {
		before = old.done
	}
	s.upstreams[rt.track.name] = l
	return l, before
}

// unlink takes a link off and reports whether it was there. relay.mu is held.
func (rt *route) unlink(l *link) bool {
	if _, ok := rt.links[l]; !ok {
		return false
	}
	delete(rt.links, l)
	if rt.sessions[l.session]--; rt.sessions[l.session] == 0 {
		delete(rt.sessions, l.session)
	}
	return true
}

// attach asks a session for the track, unless it brings it already or was asked before. relay.mu is held.
func (rt *route) attach(s *session) {
	if rt.sessions[s] > 0 {
		return
	}
	l, before := rt.link(s, false)
	if !s.spawn(func() { l.pull(before) }) { // the session is ending
		rt.unlink(l)
		l.ended()
	}
}

// ended frees what the link holds; relay.mu is held.
func (l *link) ended() {
	l.cancel()
	if name := l.route.Load().track.name; l.session.upstreams[name] == l {
		delete(l.session.upstreams, name)
	}
	close(l.done)
}

// finish is the last thing that a link's goroutine does.
func (l *link) finish() {
	r := l.session.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	l.ended()
}

// pull subscribes at the publisher and feeds the track until that ends.
func (l *link) pull(before <-chan struct{}) {
	defer l.finish()
	if before != nil {
		select {
		case <-before:
		case <-l.ctx.Done():
		}
	}
	rt := l.route.Load()
	rt.relay.mu.Lock()
	l.asked = rt.newGroup
	rt.relay.mu.Unlock()
	ctx, cancel := context.WithTimeout(l.ctx, answerTimeout)
	sub, err := l.session.moqt.Subscribe(ctx, moqt.SubscribeRequest{
		Track: rt.track.name,
		Params: wire.Params{
			// "relays that aggregate upstream subscriptions can subscribe using the Largest Object filter"
			// [MOQT-18] Section 9.4, Subscriber Interactions
			Filter: wire.Some(wire.Filter{Type: wire.FilterLargestObject}),
			// "A relay that receives a NEW_GROUP_REQUEST for a Track without an `Established` subscription MUST include the
			// NEW_GROUP_REQUEST when subscribing upstream." [MOQT-18] Section 10.2.13, NEW GROUP REQUEST Parameter
			NewGroupRequest: l.asked,
		},
	})
	cancel()
	var refused *moqt.RequestError
	switch {
	case err == nil:
		l.feed(sub)
	case errors.As(err, &refused):
		l.drop(refused)
	case errors.Is(err, context.DeadlineExceeded):
		l.drop(refuse(wire.RequestTimeout, "the publisher did not answer"))
	default:
		l.drop(errLost)
	}
}

// errLost is what those are told who wait for a publisher that is lost.
var errLost = refuse(wire.RequestDoesNotExist, "the publisher was lost")

// feed runs an established upstream subscription.
func (l *link) feed(sub *moqt.Subscription) {
	r := l.session.relay
	info := sub.Info()
	r.mu.Lock()
	l.sub = sub
	l.route.Load().agreed(l, info)
	r.mu.Unlock()

	defer context.AfterFunc(l.ctx, sub.Close)()
	over := make(chan struct{})
	defer close(over)
	if info.DynamicGroups {
		l.session.spawn(func() { l.passGroupRequests(over) })
	}
	if !l.pushed {
		l.session.spawn(func() { l.follow(over) })
	}
	u := &upstream{link: l, sub: sub, stats: &r.stats, now: r.cfg.Now}
	err := u.run(l.ctx)
	sub.Close()
	l.gone.Store(true)

	var done *moqt.DoneError
	if errors.As(err, &done) {
		l.leave(done)
	} else {
		l.drop(errLost)
	}
}

// drop takes a link off after its session was lost or its publisher refused.
func (l *link) drop(refused *moqt.RequestError) {
	r := l.session.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	rt := l.route.Load()
	if !rt.unlink(l) {
		return
	}
	switch {
	case rt.state == routePending:
		rt.refusedBy(refused)
	case len(rt.links) == 0 && rt.lost.IsZero():
		rt.lost = r.cfg.Now()
	}
}

// leave takes a link off after its publisher said PUBLISH_DONE. With the last one the track ends.
func (l *link) leave(done *moqt.DoneError) {
	r := l.session.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	rt := l.route.Load()
	if rt.unlink(l) && len(rt.links) == 0 {
		r.remove(rt)
		rt.track.end(done.Code, done.Reason)
	}
}

// tell sends the publisher whether the track is wanted, until it knows. Only one goroutine does so at a time, so that
// the last word is the right one.
func (l *link) tell() {
	r := l.session.relay
	for {
		r.mu.Lock()
		want := l.route.Load().wanted
		if l.forward == want || l.ctx.Err() != nil {
			l.updating = false
			l.route.Load().told.fire()
			r.mu.Unlock()
			return
		}
		l.forward = want
		r.mu.Unlock()
		ctx, cancel := context.WithTimeout(l.ctx, updateTimeout)
		largest, err := l.sub.Update(ctx, wire.Params{Forward: wire.Some(want)}) // a refusal ends the subscription, which run notices
		cancel()
		if err == nil {
			l.route.Load().track.heard(largest)
		}
	}
}

// passGroupRequests passes requests for a new group on to the publisher, until the subscription ends.
//
// "A relay that receives a NEW_GROUP_REQUEST for an `Established` subscription with a value of 0 or a value larger than the
// Largest Group MUST send a REQUEST_UPDATE including the NEW_GROUP_REQUEST to the publisher unless: 1. The Track does not
// support dynamic Groups 2. There is already an outstanding NEW_GROUP_REQUEST from this Relay with a greater or equal value"
// [MOQT-18] Section 10.2.13, NEW GROUP REQUEST Parameter
func (l *link) passGroupRequests(over <-chan struct{}) {
	known := l.asked // what went with SUBSCRIBE is not sent again
	for {
		n, asked := l.route.Load().track.wantsGroup()
		if n.IsSet() && n != known {
			ctx, cancel := context.WithTimeout(l.ctx, updateTimeout)
			l.sub.Update(ctx, wire.Params{NewGroupRequest: n})
			cancel()
		}
		known = wire.Opt[uint64]{}
		select {
		case <-asked:
		case <-over:
			return
		}
	}
}

// follow subscribes anew if the publisher asks for that. The publisher is a client, or the connection was made from here for
// this publisher alone, so that there is no other session to go to.
//
// "Upon receiving a GOAWAY on a request stream, the endpoint SHOULD re-issue that specific request on a session at the
// specified URI (or the current session if no URI is provided), and close the old request stream"
// [MOQT-18] Section 10.4, GOAWAY
func (l *link) follow(over <-chan struct{}) {
	select {
	case <-l.sub.GoingAway():
	case <-over:
		return
	}
	if g, _ := l.sub.PeerGoAway(); g.URI != "" {
		return
	}
	r := l.session.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	if rt := l.route.Load(); rt.unlink(l) {
		rt.attach(l.session) // once the old one has ended
		l.cancel()
	}
}

// spoil ends a track that its publisher has made malformed, for everybody.
//
// "When a subscriber detects a Malformed Track, it MUST cancel any corresponding subscription or fetches for that Track from
// that publisher" [MOQT-18] Section 2.4.2, Malformed Tracks
func (l *link) spoil(why error) {
	r := l.session.relay
	r.mu.Lock()
	rt := l.route.Load()
	there := rt.unlink(l)
	if there {
		rt.track.doom() // before its streams end, which FETCHes wait for
		r.remove(rt)
	}
	r.mu.Unlock()
	if !there {
		return
	}
	r.stats.Refusals[RefusedMalformed].Add(1)
	l.session.log.Warn("malformed track", "track", rt.track.name.String(), "error", why)
	rt.track.spoil(why.Error())
	l.sub.Cancel(wire.StreamMalformedTrack)
}

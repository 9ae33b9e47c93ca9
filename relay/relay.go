package relay

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// janitorPeriod is how often ages are looked at: groups, laggards, lingering tracks, lost publishers.
const janitorPeriod = 100 * time.Millisecond

// Relay connects publishers with subscribers.
//
// New builds it, Run owns its housekeeping, and each connection is served by a call of Serve or Connect.
type Relay struct {
	// Fixed after New.
	cfg   Config
	stats Stats
	cache *cache

	nextSession atomic.Uint64 // the number of sessions so far

	// Lock order: mu, then track.mu, then subgroup.mu. None is held while a message is
	// sent or a stream is written.
	mu            sync.Mutex
	sessions      map[*session]struct{}
	announcements map[wire.Namespace][]*announcement
	routes        map[wire.FullTrackName]*route
	announced     index                     // the keys of announcements, without names
	carried       index                     // the keys of routes
	restarts      map[wire.Namespace]uint64 // how often the tracks below began anew; see route.restart
	arrived       signal                    // a track, or an announcement of its namespace, may be there that was not before
	names         signal                    // announcements or restarts have changed
	draining      bool
	past          moqt.Stats // sums of the sessions that have ended
}

// announcement is one publisher's word that it serves a namespace.
type announcement struct {
	session *session
	lost    time.Time // when its session was lost; zero while it lives
}

// New returns a relay.
func New(cfg Config) *Relay {
	r := &Relay{
		cfg:           cfg.withDefaults(),
		sessions:      make(map[*session]struct{}),
		announcements: make(map[wire.Namespace][]*announcement),
		routes:        make(map[wire.FullTrackName]*route),
		restarts:      make(map[wire.Namespace]uint64),
	}
	r.cache = &cache{max: r.cfg.CacheBytes, maxTrack: r.cfg.CacheTrackBytes, tracks: r.tracks}
	return r
}

// Stats returns the live counters.
func (r *Relay) Stats() *Stats { return &r.stats }

// SessionStats returns the counters of all sessions so far, added up.
func (r *Relay) SessionStats() moqt.Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := r.past
	for s := range r.sessions {
		sum.Add(s.moqt.Stats())
	}
	return sum
}

// CacheBytes returns how many bytes the cache holds now.
func (r *Relay) CacheBytes() int64 { return r.cache.total.Load() }

// Run does the housekeeping until ctx ends. It has to run while sessions are served.
func (r *Relay) Run(ctx context.Context) error {
	tick := time.NewTicker(janitorPeriod)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.expire(r.cfg.Now())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Shutdown sends every session GOAWAY and waits until they have gone or ctx ends. Those that are
// left then are closed. New sessions are refused from the start.
func (r *Relay) Shutdown(ctx context.Context) error {
	r.mu.Lock()
	r.draining = true
	left := slices.Collect(maps.Keys(r.sessions))
	r.mu.Unlock()
	var timeout time.Duration
	if at, ok := ctx.Deadline(); ok {
		timeout = max(0, time.Until(at))
	}
	for _, s := range left {
		s.moqt.GoAway("", timeout)
	}
	for _, s := range left {
		select {
		case <-s.done:
		case <-ctx.Done():
			s.moqt.Close(wire.SessionNoError, "shutting down")
			<-s.done
		}
	}
	if r.stats.Sessions.Load() == 0 && ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}

func (r *Relay) tracks() []*track {
	r.mu.Lock()
	defer r.mu.Unlock()
	ts := make([]*track, 0, len(r.routes))
	for _, rt := range r.routes {
		ts = append(ts, rt.track)
	}
	return ts
}

// expire does what is due at now.
func (r *Relay) expire(now time.Time) {
	for _, t := range r.tracks() {
		t.expire(now, r.cfg.CacheAge, r.cfg.MaxLag)
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	for ns, as := range r.announcements {
		kept := slices.DeleteFunc(as, func(a *announcement) bool {
			return !a.lost.IsZero() && now.Sub(a.lost) >= r.cfg.PublisherGrace
		})
		r.setAnnouncements(ns, kept)
	}
	for _, rt := range r.routes {
		switch {
		case rt.local:
		case len(rt.links) == 0 && !rt.lost.IsZero() && now.Sub(rt.lost) >= r.cfg.PublisherGrace:
			r.remove(rt)
			rt.track.end(wire.DoneInternalError, "the publisher was lost")
		case rt.forwards == 0 && rt.holds > 0 && !rt.quiet.IsZero() && now.Sub(rt.quiet) >= r.cfg.Linger:
			rt.quiet = time.Time{}
			rt.want(false)
		case rt.holds == 0 && !rt.idle.IsZero() && now.Sub(rt.idle) >= r.cfg.Linger:
			rt.idle = time.Time{}
			if rt.pushed() {
				rt.pause()
			} else {
				r.remove(rt)
			}
		}
	}
}

// setAnnouncements replaces the publishers of a namespace; r.mu is held.
func (r *Relay) setAnnouncements(ns wire.Namespace, as []*announcement) {
	before := len(r.announcements[ns])
	if len(as) == before {
		return
	}
	if len(as) == 0 {
		delete(r.announcements, ns)
		delete(r.restarts, ns)
		r.announced.remove(wire.FullTrackName{Namespace: ns})
	} else {
		r.announcements[ns] = as
	}
	r.stats.Namespaces.Store(int64(len(r.announcements)))
	r.names.fire()
	r.arrived.fire() // who waits for a lost publisher must know that it will not return
}

// Why something ended early.
var (
	errDraining = errors.New("the relay is shutting down")
	errFull     = errors.New("the relay has too many sessions")
	errEvicted  = errors.New("the object has left the cache")
)

// announce notes that a session serves a namespace, and asks it for the tracks below that
// have subscribers.
//
// "When a relay receives an authorized PUBLISH_NAMESPACE for a namespace that matches one or more existing
// subscriptions to other upstream sessions, it MUST send a SUBSCRIBE to the publisher"
// [MOQT-18] Section 9.5, Publisher Interactions
func (r *Relay) announce(s *session, ns wire.Namespace) (*announcement, *moqt.RequestError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.announcements[ns]) == 0 && len(r.announcements) >= r.cfg.MaxNamespaces {
		return nil, refuse(wire.RequestExcessiveLoad, "too many namespaces")
	}
	a := &announcement{session: s}
	// A publisher that comes back takes the place of the one that was lost.
	as := slices.DeleteFunc(slices.Clone(r.announcements[ns]), func(a *announcement) bool { return !a.lost.IsZero() })
	if len(as) < len(r.announcements[ns]) {
		r.stats.Takeovers.Add(1)
	}
	r.announcements[ns] = append(as, a)
	r.announced.add(wire.FullTrackName{Namespace: ns})
	r.stats.Namespaces.Store(int64(len(r.announcements)))
	r.names.fire()
	r.arrived.fire()
	for name := range r.carried.below(ns) {
		rt := r.routes[name]
		if wanted := rt.holds > 0 || !rt.idle.IsZero(); wanted && !rt.local {
			rt.attach(s)
		}
	}
	return a, nil
}

// withdraw ends an announcement: at once if the publisher said so, after the grace period if it was lost.
func (r *Relay) withdraw(ns wire.Namespace, a *announcement, lost bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if lost && r.cfg.PublisherGrace > 0 {
		a.lost = r.cfg.Now()
		return
	}
	r.setAnnouncements(ns, slices.DeleteFunc(slices.Clone(r.announcements[ns]), func(b *announcement) bool { return a == b }))
}

// prefixes iterates over a namespace's prefixes, from the empty one to the namespace itself.
func prefixes(ns wire.Namespace) iter.Seq[wire.Namespace] {
	return func(yield func(wire.Namespace) bool) {
		var prefix wire.Namespace
		if !yield(prefix) {
			return
		}
		for field := range ns.All() {
			next, err := wire.NewNamespace(field)
			if err == nil {
				prefix, err = prefix.Join(next)
			}
			if err != nil || !yield(prefix) { // a prefix of what is valid is valid
				return
			}
		}
	}
}

// publishers returns the live sessions that announced the namespace or a prefix of it; r.mu is held.
func (r *Relay) publishers(ns wire.Namespace) (ss []*session) {
	seen := make(map[*session]struct{})
	for announced := range prefixes(ns) {
		for _, a := range r.announcements[announced] {
			if _, again := seen[a.session]; a.lost.IsZero() && !again {
				seen[a.session] = struct{}{}
				ss = append(ss, a.session)
			}
		}
	}
	return ss
}

// mayReturn reports whether a publisher of the namespace was cut off so recently that it is still waited for;
// r.mu is held.
func (r *Relay) mayReturn(ns wire.Namespace) bool {
	for announced := range prefixes(ns) {
		for _, a := range r.announcements[announced] {
			if !a.lost.IsZero() {
				return true
			}
		}
	}
	return false
}

// namespaces returns the announced namespaces below prefix, each with a number that changes when its
// tracks begin anew, and a channel that is closed at the next change.
func (r *Relay) namespaces(prefix wire.Namespace) (map[wire.Namespace]uint64, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[wire.Namespace]uint64)
	for name := range r.announced.below(prefix) {
		all[name.Namespace] = r.restarts[name.Namespace]
	}
	return all, r.names.wait()
}

func refuse(code wire.RequestCode, reason string) *moqt.RequestError {
	return &moqt.RequestError{Code: code, Reason: reason}
}

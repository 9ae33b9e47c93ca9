package relay

import (
	"cmp"
	"slices"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// SessionInfo is what a relay knows of one session, at one moment.
type SessionInfo struct {
	ID            uint64 // counts the sessions of this relay from 1
	Began         time.Time
	Conn          moqt.ConnInfo
	Namespaces    int // announced by the peer now
	Upstreams     int // tracks that the peer brings now
	Subscriptions int // tracks that the peer gets now
	Stats         moqt.Stats
}

// Sessions returns the sessions in order of their begin. It takes about a microsecond for each.
func (r *Relay) Sessions() []SessionInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	infos := make([]SessionInfo, 0, len(r.sessions))
	announced := make(map[*session]int)
	for _, as := range r.announcements {
		for _, a := range as {
			if a.lost.IsZero() {
				announced[a.session]++
			}
		}
	}
	for s := range r.sessions {
		s.mu.Lock()
		subscriptions := len(s.tracks)
		s.mu.Unlock()
		infos = append(infos, SessionInfo{
			ID: s.id, Began: s.began, Conn: s.moqt.Conn().Info(), Namespaces: announced[s], Upstreams: len(s.upstreams),
			Subscriptions: subscriptions, Stats: s.moqt.Stats(),
		})
	}
	slices.SortFunc(infos, func(a, b SessionInfo) int { return cmp.Compare(a.ID, b.ID) })
	return infos
}

// TrackInfo is what a relay knows of one track, at one moment.
type TrackInfo struct {
	Name        wire.FullTrackName
	Local       bool // published by this process
	Pending     bool // publishers were asked and none has agreed yet
	Publishers  int  // who bring it
	Subscribers int
	Groups      int // in the cache
	CacheBytes  int
	Largest     wire.Opt[wire.Location]
	Observer    TrackObserver // of Config.Observer, or nil
}

// Tracks returns the tracks that are carried, by name.
func (r *Relay) Tracks() []TrackInfo {
	r.mu.Lock()
	infos := make([]TrackInfo, 0, len(r.routes))
	tracks := make([]*track, 0, len(r.routes))
	for name, rt := range r.routes {
		infos = append(infos, TrackInfo{
			Name: name, Local: rt.local, Pending: rt.state == routePending,
			Publishers: len(rt.links), Subscribers: rt.holds, Observer: rt.track.observer,
		})
		tracks = append(tracks, rt.track)
	}
	r.mu.Unlock()
	for i, t := range tracks {
		infos[i].Groups, infos[i].CacheBytes, infos[i].Largest = t.inspect()
	}
	slices.SortFunc(infos, func(a, b TrackInfo) int {
		return cmp.Or(cmp.Compare(a.Name.Namespace.String(), b.Name.Namespace.String()), cmp.Compare(a.Name.Name, b.Name.Name))
	})
	return infos
}

func (t *track) inspect() (groups, bytes int, largest wire.Opt[wire.Location]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.published {
		largest = wire.Some(t.largest)
	}
	return len(t.groups), t.cost, largest
}

// joined counts whether a new subscriber found something of its track in the cache.
func (t *track) joined(p position) {
	t.mu.Lock()
	hit := p.subgroup < t.next
	t.mu.Unlock()
	t.stats.CacheJoins.count(hit)
}

package relay

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// Bounds of one track's log beside those of the cache's Config.
const (
	// maxDatagrams is how many of the newest datagrams a track keeps: what a subscriber may fall
	// behind before it misses some, 5 s of 20 ms audio frames.
	maxDatagrams = 256

	// orphanTime is how long after a publisher that led has gone one that is behind it may catch up. Then it is taken for
	// one that counts its groups in another way.
	orphanTime = 2 * time.Second

	// maxSubgroups bounds the subgroups that a track keeps, however small they are. Of a track that never begins a new
	// group, the oldest subgroups go.
	maxSubgroups = 2048
)

// track is the log of one track: its newest groups and datagrams. Upstreams write it, subscribers
// hold positions in it.
type track struct {
	// Fixed after newTrack.
	name     wire.FullTrackName
	cache    *cache
	stats    *Stats
	observer TrackObserver // or nil; set by newRoute

	mu        sync.Mutex // guards what follows; taken before subgroup.mu, after Relay.mu
	props     wire.Properties
	groups    []*group    // by rising id
	arrivals  []*subgroup // those of the groups, by rising sequence number
	next      uint64      // sequence number of the next subgroup
	datagrams []datagram  // the newest, maxDatagrams at most
	dgNext    uint64      // sequence number of the next datagram; the last of datagrams has the one before
	kept      []*kept     // of answers to FETCH, the oldest first
	keptCost  int         // of these
	cost      int         // of everything
	largest   wire.Location
	published bool      // an object has arrived or an upstream has told of one: largest is valid
	floor     uint64    // groups below were evicted: late streams of theirs are refused
	leader    *link     // who brought the newest group or datagram
	back      time.Time // when leader first brought one below floor after the last that was taken; zero if it has not
	orphaned  time.Time // when somebody else first brought an older one after leader had gone; zero if nobody has
	ended     *ending
	changed   signal

	maxCache wire.Opt[time.Duration] // how long an object may be served after it came in
	trackEnd wire.Opt[wire.Location] // of the track's last object, once its publisher has said so
	spoiling context.Context         // see spoiled; nil while nobody has asked
	spoilt   context.CancelFunc

	toldLarge atomic.Bool // a warning of datagrams that do not fit was logged

	groupWanted wire.Opt[uint64] // see wantGroup
	groupAsked  signal           // groupWanted was set
}

// group holds the subgroups of one group that are in the cache.
type group struct {
	id         uint64
	subgroups  []*subgroup
	superseded time.Time // when a later group began; zero for the newest
}

// ending says how a track ended, in the words of PUBLISH_DONE.
type ending struct {
	code   wire.DoneCode
	reason string
}

// position is a subscriber's place in a track's log.
type position struct {
	subgroup uint64 // sequence number of the next arrival to look at
	datagram uint64 // sequence number of the next datagram
}

func newTrack(name wire.FullTrackName, c *cache, st *Stats) *track {
	return &track{name: name, cache: c, stats: st}
}

// refusal says why a track does not take what a publisher brings.
type refusal uint8

const (
	taken      refusal = iota
	notTaken           // there is nothing to be done about it
	newIfAlone         // it is older than what came before, but whoever brought that is gone
	newForSure         // the same, and nobody has gone on from there for orphanTime
)

// openSubgroup begins the log of a subgroup that a publisher brings. The log is nil if the track does not take it:
// it is there already and did not end in a reset, its group was evicted, or it is older than what another publisher
// has brought.
func (t *track) openSubgroup(h moqt.SubgroupHeader, by *link, now time.Time) (s *subgroup, why refusal) {
	t.mu.Lock()
	if t.ended != nil {
		t.mu.Unlock()
		return nil, notTaken
	}
	if why := t.stale(h.Group, by, now); why != taken {
		t.mu.Unlock()
		return nil, why
	}
	if h.Group < t.floor {
		why := t.wentBack(by, now)
		t.mu.Unlock()
		return nil, why
	}
	if by == t.leader {
		t.back = time.Time{}
	}
	g := t.group(h.Group, now)
	for _, other := range g.subgroups {
		if other.header.Subgroup == h.Subgroup && !other.wasReset() {
			t.mu.Unlock()
			return nil, notTaken
		}
	}
	s = newSubgroup(h, t.next, now)
	s.maxCache = t.maxCache
	t.next++
	g.subgroups = append(g.subgroups, s)
	t.arrivals = append(t.arrivals, s)
	t.addCost(s.charged())
	if g == t.groups[len(t.groups)-1] {
		t.lead(by)
	}
	old := t.fit()
	t.changed.fire()
	t.mu.Unlock()
	cut(old, CutEvicted)
	return s, taken
}

// stale refuses a group that is older than the newest that another publisher has brought. If that other one is gone, this
// one has begun anew if it has brought nothing yet, or if it does not catch up. t.mu is held.
func (t *track) stale(group uint64, by *link, now time.Time) refusal {
	switch {
	case t.leader == nil || t.leader == by || group >= t.largest.Group:
		return taken
	case !t.leader.gone.Load():
		return notTaken
	case t.orphaned.IsZero():
		t.orphaned = now
	case now.Sub(t.orphaned) >= orphanTime:
		return newForSure
	}
	if by.brought.Load() {
		return notTaken
	}
	return newIfAlone
}

// wentBack refuses a group that has left the cache. It may be a straggler; but if the publisher that leads has brought nothing
// else for a while, it has begun anew within its subscription. t.mu is held.
func (t *track) wentBack(by *link, now time.Time) refusal {
	switch {
	case by == nil || by != t.leader:
	case t.back.IsZero():
		t.back = now
	case now.Sub(t.back) >= orphanTime:
		return newForSure
	}
	return notTaken
}

// lead notes who brought the newest; t.mu is held.
func (t *track) lead(by *link) { t.leader, t.orphaned = by, time.Time{} }

// group returns the group with this id, new if need be, and notes which groups it supersedes.
func (t *track) group(id uint64, now time.Time) *group {
	i, found := slices.BinarySearchFunc(t.groups, id, func(g *group, id uint64) int { return cmp.Compare(g.id, id) })
	if found {
		return t.groups[i]
	}
	g := &group{id: id}
	t.stats.GroupsIn.Add(1)
	if i < len(t.groups) {
		g.superseded = now
	} else {
		for _, older := range t.groups {
			if older.superseded.IsZero() {
				older.superseded = now
			}
		}
	}
	t.groups = slices.Insert(t.groups, i, g)
	return g
}

// objectBegan notes an object's place and what its header cost.
func (t *track) objectBegan(at wire.Location, grown int) {
	t.mu.Lock()
	t.saw(at)
	t.mu.Unlock()
	t.grew(grown)
}

func (t *track) saw(at wire.Location) {
	if !t.published || t.largest.Less(at) {
		if at.Group > t.largest.Group {
			t.groupWanted = wire.Opt[uint64]{}
		}
		t.largest, t.published = at, true
	}
}

// wantGroup notes that a subscriber asks for a new group. The request stays outstanding, and others like it are part of it,
// until a new group begins.
//
// "A relay that receives a NEW_GROUP_REQUEST for an Established subscription with a value of 0 or a value larger than the
// Largest Group MUST send a REQUEST_UPDATE including the NEW_GROUP_REQUEST to the publisher unless ... There is already an
// outstanding NEW_GROUP_REQUEST from this Relay with a greater or equal value"
// [MOQT-18] Section 10.2.13, NEW GROUP REQUEST Parameter
func (t *track) wantGroup(n uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n != 0 && t.published && n <= t.largest.Group {
		return // it has begun already
	}
	if out, ok := t.groupWanted.Get(); ok && out >= n {
		return
	}
	t.groupWanted = wire.Some(n)
	t.groupAsked.fire()
}

// wakeGroupWatchers makes those look again who wait for wantsGroup.
func (t *track) wakeGroupWatchers() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.groupAsked.fire()
}

// wantsGroup returns the outstanding request for a new group, and a channel that is closed when there is another.
func (t *track) wantsGroup() (n wire.Opt[uint64], asked <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.groupWanted, t.groupAsked.wait()
}

// end says that no more objects will come. Only the first call has an effect.
func (t *track) end(code wire.DoneCode, reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended == nil {
		t.ended = &ending{code: code, reason: reason}
		t.changed.fire()
	}
}

// setProperties replaces the Track Properties by a newer full set and takes over what
// the publisher says of the largest object.
//
// "Relays MUST NOT attempt to merge sets" [MOQT-18] Section 2.5, Properties
func (t *track) setProperties(p wire.Properties, largest wire.Opt[wire.Location]) {
	t.mu.Lock()
	t.props = p
	t.mu.Unlock()
	t.heard(largest)
}

// heard takes over what a publisher says of the largest object.
//
// "A relay MUST set LARGEST_OBJECT to the largest of the following: 1. Any LARGEST_OBJECT value received from the upstream
// publisher in SUBSCRIBE_OK, PUBLISH, or REQUEST_UPDATE_OK 2. The largest Location of an Object received on an upstream
// subscription" [MOQT-18] Section 10.2.11, LARGEST OBJECT Parameter
func (t *track) heard(largest wire.Opt[wire.Location]) {
	if at, ok := largest.Get(); ok {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.saw(at)
		t.changed.fire()
	}
}

// setMaxCache takes over how long objects may be served from the cache.
func (t *track) setMaxCache(age wire.Opt[time.Duration]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.maxCache = age
}

func (t *track) properties() wire.Properties {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.props
}

// largestObject returns the largest location known, if there is any.
func (t *track) largestObject() (wire.Location, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.largest, t.published
}

// standing is where a track stood at some moment.
type standing struct {
	largest   wire.Location
	published bool   // whether there is any
	datagram  uint64 // what the next datagram is numbered
}

// stand returns where the track stands now.
func (t *track) stand() standing {
	t.mu.Lock()
	defer t.mu.Unlock()
	return standing{t.largest, t.published, t.dgNext}
}

// reached returns the largest group of which something is known, if only that it has begun.
func (t *track) reached() (group uint64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.groups); n > 0 {
		return max(t.largest.Group, t.groups[n-1].id), true
	}
	return t.largest.Group, t.published
}

// over reports whether no more objects will come.
func (t *track) over() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended != nil
}

// start returns the position of a subscriber that is to see everything cached from this group on,
// and of the datagrams those yet to come.
func (t *track) start(group uint64) position {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := position{subgroup: t.next, datagram: t.dgNext}
	for _, s := range t.arrivals {
		if s.header.Group >= group {
			p.subgroup = s.seq
			break
		}
	}
	return p
}

// after appends what has arrived since p to subs and dgs and moves p on. missed counts the
// datagrams that were overwritten before they were looked at. ended is set once nothing more will come.
// The channel is closed at the next change.
func (t *track) after(p *position, subs []*subgroup, dgs []datagram) (_ []*subgroup, _ []datagram, missed uint64, ended *ending, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	first, _ := slices.BinarySearchFunc(t.arrivals, p.subgroup, func(s *subgroup, seq uint64) int { return cmp.Compare(s.seq, seq) })
	subs = append(subs, t.arrivals[first:]...)
	p.subgroup = t.next
	if oldest := t.dgNext - uint64(len(t.datagrams)); p.datagram < oldest {
		missed = oldest - p.datagram
		p.datagram = oldest
	}
	dgs = append(dgs, t.datagrams[uint64(len(t.datagrams))-(t.dgNext-p.datagram):]...)
	p.datagram = t.dgNext
	return subs, dgs, missed, t.ended, t.changed.wait()
}

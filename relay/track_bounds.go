package relay

import (
	"slices"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// grew notes that a subgroup costs more, and evicts what no longer fits.
func (t *track) grew(n int) {
	if n == 0 {
		return
	}
	t.mu.Lock()
	t.addCost(n)
	old := t.fit()
	t.mu.Unlock()
	cut(old, CutEvicted)
	t.cache.trim()
}

// fit evicts until the track is within its bounds and returns the cursors that were still reading what is
// evicted. The newest group goes last, and only if it alone is over the bound. t.mu is held.
func (t *track) fit() (old []*cursor) {
	for t.cost > t.cache.maxTrack && !t.empty() {
		old = append(old, t.evictNext()...)
		t.stats.CacheEvictions[EvictBytes].Add(1)
	}
	for len(t.arrivals) > maxSubgroups {
		if len(t.groups) > 1 {
			old = append(old, t.evictOldest()...)
		} else {
			old = append(old, t.evictFirstArrival()...)
		}
		t.stats.CacheEvictions[EvictCount].Add(1)
	}
	return old
}

// empty reports whether nothing is left to evict; t.mu is held.
func (t *track) empty() bool { return len(t.groups) == 0 && len(t.datagrams) == 0 && len(t.kept) == 0 }

// evictNext drops what is missed least: what was kept of FETCHes, old groups, then the datagrams, which are kept for
// stragglers alone, then the newest group. It returns the cursors that were still reading it. There is something to drop; t.mu
// is held.
func (t *track) evictNext() (old []*cursor) {
	if len(t.kept) > 0 {
		t.dropKept(0)
		return nil
	}
	if len(t.datagrams) > 0 && len(t.groups) <= 1 {
		t.dropDatagrams(len(t.datagrams))
		return nil
	}
	return t.evictOldest()
}

// addCost changes the books of track and cache; t.mu is held.
func (t *track) addCost(n int) {
	t.cost += n
	t.cache.total.Add(int64(n))
}

// evictOldest drops the group with the smallest id and returns the cursors that were still reading it.
func (t *track) evictOldest() (old []*cursor) {
	g := t.groups[0]
	t.groups = slices.Delete(t.groups, 0, 1)
	t.floor = max(t.floor, g.id+1)
	for _, s := range g.subgroups {
		readers, cost := s.evict()
		t.addCost(-cost)
		old = append(old, readers...)
	}
	t.arrivals = slices.DeleteFunc(t.arrivals, func(s *subgroup) bool { return s.header.Group == g.id })
	return old
}

// evictFirstArrival drops the subgroup of the only group that came first, and returns the cursors that were still reading it.
// t.mu is held.
func (t *track) evictFirstArrival() (old []*cursor) {
	first, g := t.arrivals[0], t.groups[0]
	t.arrivals = slices.Delete(t.arrivals, 0, 1)
	g.subgroups = slices.DeleteFunc(g.subgroups, func(s *subgroup) bool { return s == first })
	old, cost := first.evict()
	t.addCost(-cost)
	return old
}

// expire evicts groups that were superseded, and datagrams and answers to FETCH that arrived, longer than age ago. It cuts
// the cursors that are still reading a group that was superseded longer than lag ago.
//
// A subscriber that is cut goes on with the newest group: what it reads of the others is cut too. Else a path that is a
// little too slow would carry the beginning of every group and the whole of none.
func (t *track) expire(now time.Time, age, lag time.Duration) {
	t.mu.Lock()
	var evicted, late []*cursor
	for len(t.groups) > 1 && !t.groups[0].superseded.IsZero() && now.Sub(t.groups[0].superseded) > age {
		evicted = append(evicted, t.evictOldest()...)
		t.stats.CacheEvictions[EvictAge].Add(1)
	}
	stale := 0
	for stale < len(t.datagrams) && now.Sub(t.datagrams[stale].arrived) > age {
		stale++
	}
	t.dropDatagrams(stale)
	t.expireKept(now, age)
	var laggards map[*subscriber]struct{}
	for _, g := range t.groups {
		if !g.superseded.IsZero() && now.Sub(g.superseded) > lag {
			late = append(late, g.stragglers(func(c *cursor) bool {
				if laggards == nil {
					laggards = make(map[*subscriber]struct{})
				}
				laggards[c.of] = struct{}{}
				return true
			})...)
		}
	}
	if len(laggards) > 0 {
		for _, g := range t.groups {
			if !g.superseded.IsZero() && now.Sub(g.superseded) <= lag {
				late = append(late, g.stragglers(func(c *cursor) bool {
					_, ok := laggards[c.of]
					return ok
				})...)
			}
		}
	}
	t.mu.Unlock()
	cut(evicted, CutEvicted)
	cut(late, CutLag)
}

// stragglers returns the cursors that are still reading the group and that match.
func (g *group) stragglers(match func(*cursor) bool) (cs []*cursor) {
	for _, s := range g.subgroups {
		for _, c := range s.stragglers() {
			if c.why.Load() == 0 && match(c) {
				cs = append(cs, c)
			}
		}
	}
	return cs
}

// oldest returns when the oldest group that could be evicted was superseded, or came in answer to a FETCH.
func (t *track) oldest() (superseded time.Time, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.kept) > 0 {
		return t.kept[0].began, true // it goes first
	}
	if len(t.groups) == 0 || t.groups[0].superseded.IsZero() {
		return time.Time{}, false
	}
	return t.groups[0].superseded, true
}

// bytes returns what the track costs.
func (t *track) bytes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cost
}

// evict drops what was kept of a FETCH, the oldest group or, if there is only the newest, the datagrams or that.
func (t *track) evict() {
	t.mu.Lock()
	var old []*cursor
	if !t.empty() {
		old = t.evictNext()
		t.stats.CacheEvictions[EvictBytes].Add(1)
	}
	t.mu.Unlock()
	cut(old, CutEvicted)
}

// clear drops everything for good: the track is no longer carried.
func (t *track) clear() {
	t.mu.Lock()
	if t.ended == nil {
		t.ended = &ending{code: wire.DoneSubscriptionEnded}
	}
	var old []*cursor
	for len(t.groups) > 0 {
		old = append(old, t.evictOldest()...)
	}
	t.dropDatagrams(len(t.datagrams))
	for len(t.kept) > 0 {
		t.dropKept(0)
	}
	t.changed.fire()
	t.mu.Unlock()
	cut(old, CutEnded)
}

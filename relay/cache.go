package relay

import (
	pq "container/heap"
	"sync/atomic"
	"time"
)

// cache keeps the books over the bytes of all tracks.
type cache struct {
	max      int64 // bytes over all tracks
	maxTrack int   // bytes of one track

	total atomic.Int64

	tracks   func() []*track // every track there is
	trimming atomic.Bool     // one goroutine trims at a time
}

// trim evicts the oldest groups over all tracks until the total is a twentieth below the bound, so
// that it does not run again at once. When only the newest groups are left, the tracks that take
// most lose theirs too.
func (c *cache) trim() {
	if c.total.Load() <= c.max || !c.trimming.CompareAndSwap(false, true) {
		return
	}
	defer c.trimming.Store(false)
	tracks := c.tracks()
	var old oldestFirst
	for _, t := range tracks {
		if at, ok := t.oldest(); ok {
			old = append(old, superseded{t, at})
		}
	}
	pq.Init(&old)
	for goal := c.max - c.max/20; c.total.Load() > goal; {
		if len(old) == 0 {
			victim := largest(tracks)
			if victim == nil {
				return
			}
			victim.evict()
			continue
		}
		first := &old[0]
		first.track.evict()
		if at, ok := first.track.oldest(); ok {
			first.at = at
			pq.Fix(&old, 0)
		} else {
			pq.Pop(&old)
		}
	}
}

// superseded is a track by when its oldest group that could be evicted was superseded.
type superseded struct {
	track *track
	at    time.Time
}

// oldestFirst is a heap, so that trimming looks at each track once and not once for each group that goes.
type oldestFirst []superseded

func (h oldestFirst) Len() int           { return len(h) }
func (h oldestFirst) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h oldestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *oldestFirst) Push(x any)        { *h = append(*h, x.(superseded)) }
func (h *oldestFirst) Pop() (x any) {
	last := len(*h) - 1
	x, *h = (*h)[last], (*h)[:last]
	return x
}

// largest returns the track that takes most, if any takes something.
func largest(tracks []*track) (victim *track) {
	most := 0
	for _, t := range tracks {
		if n := t.bytes(); n > most {
			victim, most = t, n
		}
	}
	return victim
}

package relay

import (
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
	for goal := c.max - c.max/20; c.total.Load() > goal; {
		var victim *track
		var oldest time.Time
		for _, t := range tracks {
			if at, ok := t.oldest(); ok && (victim == nil || at.Before(oldest)) {
				victim, oldest = t, at
			}
		}
		if victim == nil {
			if victim = largest(tracks); victim == nil {
				return
			}
		}
		victim.evict()
	}
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

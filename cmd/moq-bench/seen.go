package main

import (
	"maps"
	"slices"
	"time"
)

// delays are those of the frames captured in [from, to), sorted.
func (t *trackSeen) delays(from, to time.Time) (ds []time.Duration) {
	for _, f := range t.frames {
		if !f.captured.Before(from) && f.captured.Before(to) {
			ds = append(ds, f.delay())
		}
	}
	slices.Sort(ds)
	return ds
}

// quantile is the least of the sorted durations that the share q of them does not exceed; 0 if there are none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// between are the groups of which the first object began to arrive in [from, to), in order.
func (t *trackSeen) between(from, to time.Time) (gs []*groupSeen) {
	for _, id := range slices.Sorted(maps.Keys(t.groups)) {
		if g := t.groups[id]; !g.began.Before(from) && g.began.Before(to) {
			gs = append(gs, g)
		}
	}
	return gs
}

// sortedQuantile sorts the durations and returns a quantile of them.
func sortedQuantile(ds []time.Duration, q float64) time.Duration {
	slices.Sort(ds)
	return quantile(ds, q)
}

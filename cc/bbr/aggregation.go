package bbr

import "time"

// aggregation estimates how much more than the bandwidth acknowledgements bring
// at once. [BBR] BBR.extra_acked
//
// The draft measures from the start of a burst on; the reference ends the burst
// with the instant, and what it finds is the volume of one. The window needs this
// much in excess, so a larger estimate would change all of its rows.
type aggregation struct {
	filter maxFilter // BBR.ExtraACKedFilter
	value  int64     // BBR.extra_acked
	start  time.Duration
	acked  int64 // at start
}

func (g *aggregation) update(now time.Duration, acked, cwnd int64) {
	if now != g.start {
		g.start, g.acked = now, 0
	}
	g.acked += acked
	g.value = g.filter.update(min(g.acked, cwnd))
}

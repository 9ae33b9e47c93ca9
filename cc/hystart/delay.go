package hystart

import "time"

const (
	// delayWindow is how many samples the filter looks back, and also how many
	// excessive ones it takes to leave slow start.
	delayWindow = 7

	// delaySpacing keeps samples of one burst from filling the window.
	delaySpacing = time.Millisecond
)

// Delay watches the RTT during slow start. A window of delayWindow samples
// hides jitter: the highest of them at the quietest time is the base line, and
// the path counts as congested while even the lowest of them exceeds the base
// line by a quarter. The zero value is ready.
type Delay struct {
	samples  [delayWindow]time.Duration
	n        int // samples taken
	lastAt   time.Duration
	low      time.Duration // lowest of the window
	high     time.Duration // highest of the window
	baseLine time.Duration
	excess   int
}

// OnRTT takes a sample and reports whether slow start should end. packetTime is
// how long one packet takes at the present pacing rate: delays below it are no
// queue.
func (d *Delay) OnRTT(now, sample, packetTime time.Duration) bool {
	if now <= d.lastAt+delaySpacing {
		return false
	}
	d.lastAt = now
	d.samples[d.n%delayWindow] = sample
	d.n++
	n := min(d.n, delayWindow)
	d.low, d.high = d.samples[0], d.samples[0]
	for _, s := range d.samples[1:n] {
		d.low, d.high = min(d.low, s), max(d.high, s)
	}
	if d.n < delayWindow {
		return false
	}
	if d.baseLine == 0 || d.high < d.baseLine {
		d.baseLine = d.high
	}
	switch {
	case d.low <= d.baseLine:
		d.excess = 0
	case d.low > d.baseLine+max(d.baseLine/4, packetTime):
		d.excess++
		return d.excess >= delayWindow
	}
	return false
}

// BaseLine returns the RTT of the path with no queue of ours, 0 before there are
// enough samples.
func (d *Delay) BaseLine() time.Duration { return d.baseLine }

package media

import "time"

// Delay is a distribution of frame delays. The zero value is empty and ready.
type Delay struct {
	count    uint64
	max      time.Duration
	negative uint64
}

// Observe adds one delay. A negative one (clocks that disagree) counts as 0 and
// shows in Negative.
func (d *Delay) Observe(v time.Duration) {}

// Count is the number of delays, Max the largest, Negative how many were below 0.
func (d *Delay) Count() uint64 { return d.count }

// Max is the largest delay.
func (d *Delay) Max() time.Duration { return d.max }

// Negative is how many delays were below 0.
func (d *Delay) Negative() uint64 { return d.negative }

// Quantile is the delay that the share q (0 to 1) of the frames did not exceed,
// at most 3.2 % too large.
func (d *Delay) Quantile(q float64) time.Duration { return 0 }

// Merge adds the delays of other.
func (d *Delay) Merge(other *Delay) {}

// Lateness measures how much later a frame came than its nominal time, with no
// need for clocks to agree. The zero value is ready.
type Lateness struct{ _ int }

// Observe returns the lateness of a frame with presentation time pts.
func (l *Lateness) Observe(pts time.Duration, arrival time.Time) time.Duration { return 0 }

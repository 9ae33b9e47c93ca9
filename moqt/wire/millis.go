package wire

import (
	"math"
	"time"
)

// Millis is a number of milliseconds as the wire carries it, 0 to 2^64-1.
type Millis uint64

// MillisOf returns d in milliseconds, rounded up, so that a short wait does not
// become 0, which often means something else. A negative d gives 0.
func MillisOf(d time.Duration) Millis {
	if d <= 0 {
		return 0
	}
	m := Millis(d / time.Millisecond)
	if d%time.Millisecond != 0 {
		m++
	}
	return m
}

// Duration returns m as a time.Duration, or the largest one (292 years) if it
// does not fit.
func (m Millis) Duration() time.Duration {
	const limit = math.MaxInt64 / int64(time.Millisecond)
	if m > Millis(limit) {
		return math.MaxInt64
	}
	return time.Duration(m) * time.Millisecond
}

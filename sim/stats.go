package sim

import (
	"math"
	"time"
)

// flowStats count over one connection.
type flowStats struct {
	sent      int64 // bytes on the wire
	packets   int
	lost      int
	lostBytes int64
	marked    int64
	cancelled int
	rtt       rttStats
}

// rttStats are moments of round-trip samples.
type rttStats struct {
	n        int64
	sum, sq  float64 // us
	max, min time.Duration
}

func (r *rttStats) add(d time.Duration) {
	us := float64(d / time.Microsecond)
	r.n++
	r.sum += us
	r.sq += float64(us * us) // the conversion forbids fused multiply-add
	r.max = max(r.max, d)
	if r.n == 1 || d < r.min {
		r.min = d
	}
}

// mean and deviation (of the population), in us.
func (r *rttStats) mean() float64 {
	if r.n == 0 {
		return 0
	}
	return r.sum / float64(r.n)
}

func (r *rttStats) deviation() float64 {
	if r.n == 0 {
		return 0
	}
	m := r.mean()
	return math.Sqrt(max(0, r.sq/float64(r.n)-float64(m*m)))
}

type latencyStats struct {
	n        int64
	sum, max time.Duration
}

func (l *latencyStats) add(d time.Duration) {
	l.n++
	l.sum += d
	l.max = max(l.max, d)
}

func (l *latencyStats) mean() time.Duration {
	if l.n == 0 {
		return 0
	}
	return whole(l.sum / time.Duration(l.n))
}

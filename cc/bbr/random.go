package bbr

import (
	"math"
	"time"
)

// random draws the pauses between probes, so that flows do not probe in step.
// The generator is SplitMix64.
type random struct {
	seed    uint64
	mixed   bool
	context uint64
}

// randomContext is the reference's seed.
const randomContext = 0xfedcba9876543210

// mix lets the sequence depend on the time of the first packet, so that flows with
// equal seeds but different starts still differ.
func (r *random) mix(now time.Duration) {
	if r.mixed {
		return
	}
	r.mixed = true
	r.context = randomContext ^ r.seed ^ uint64(now.Microseconds())
}

func (r *random) next() uint64 {
	r.context += 0x9e3779b97f4a7c15
	z := r.context
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// below returns a number in [0, n).
func (r *random) below(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	// Reject the numbers that would make the remainder uneven.
	biased := math.MaxUint64 % n
	v := r.next()
	for v < biased {
		v = r.next()
	}
	return v % n
}

// upTo returns a time from 0 to d, in microseconds.
func (r *random) upTo(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(r.below(uint64(d.Microseconds())+1)) * time.Microsecond
}

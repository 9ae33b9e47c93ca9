package c4

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// Coef is a coefficient in units of 1/1024.
type Coef int64

// one is the coefficient 1.
const one Coef = 1024

// of returns c*v rounded down. v is at most 2^52 in magnitude.
func (c Coef) of(v int64) int64 { return (int64(c) * v) >> 10 }

// rate returns c*r.
func (c Coef) rate(r cc.Rate) cc.Rate { return cc.Rate(c.of(int64(r))) }

// time returns c*d, in whole microseconds.
func (c Coef) time(d time.Duration) time.Duration {
	return time.Duration(c.of(int64(d/time.Microsecond))) * time.Microsecond
}

// whole rounds d down to microseconds. Estimates are kept in these, as in the
// reference, so that the same inputs lead to exactly the same decisions.
func whole(d time.Duration) time.Duration { return d - d%time.Microsecond }

// Bounds on inputs, far beyond any real path. With them no product in this
// package overflows.
const (
	rateMax   = cc.Rate(1) << 40 // 1.1 TB/s
	rttMax    = time.Hour
	windowMax = int64(1) << 48
)

func clamp[T int64 | cc.Rate | time.Duration](v, low, high T) T {
	return min(max(v, low), high)
}

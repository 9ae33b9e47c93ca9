package link

import (
	"math"
	"time"
)

// Rand is the splitmix64 generator. It is small, and its output is the same on
// every platform and in every version of Go. The zero value is a valid seed.
type Rand struct{ state uint64 }

// NewRand returns a generator; equal seeds give equal numbers.
func NewRand(seed uint64) Rand { return Rand{seed} }

// Uint64 returns the next number.
func (r *Rand) Uint64() uint64 {
	r.state += 0x9E3779B97F4A7C15
	z := r.state
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB
	return z ^ (z >> 31)
}

// Below returns a number in [0, n), 0 if n is 0.
func (r *Rand) Below(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	least := math.MaxUint64 % n // leaves a multiple of n
	for {
		if v := r.Uint64(); v >= least {
			return v % n
		}
	}
}

// Duration returns a duration in [0, d) in whole microseconds, 0 if d is less
// than one.
func (r *Rand) Duration(d time.Duration) time.Duration {
	if d < time.Microsecond {
		return 0
	}
	return time.Duration(r.Below(uint64(d/time.Microsecond))) * time.Microsecond
}

// fraction returns a number in [0, 1) in units of 2^-30.
func (r *Rand) fraction() uint64 {
	v := r.Uint64()
	return (v ^ v>>30) & (1<<30 - 1)
}

// poisson counts how many uniform factors keep a product above expMinusLambda,
// which is exp(-lambda) in units of 2^-30 (Knuth's method).
func (r *Rand) poisson(expMinusLambda uint64) int64 {
	product := uint64(1 << 30)
	for n := int64(0); ; n++ {
		product = product * r.fraction() >> 30
		if product <= expMinusLambda {
			return n
		}
	}
}

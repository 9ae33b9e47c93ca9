package cc

import (
	"math"
	"math/bits"
	"time"
)

// Rate is a speed in bytes per second.
type Rate int64

// RateOf returns the rate that moves n bytes in d, rounded down. It saturates,
// and is 0 if n or d is not positive.
func RateOf(n int64, d time.Duration) Rate {
	if n <= 0 || d <= 0 {
		return 0
	}
	return Rate(mulDiv(n, int64(time.Second), int64(d)))
}

// Over returns how many bytes r moves in d, rounded down. It saturates, and is
// 0 if r or d is not positive.
func (r Rate) Over(d time.Duration) int64 {
	if r <= 0 || d <= 0 {
		return 0
	}
	return mulDiv(int64(r), int64(d), int64(time.Second))
}

// TimeFor returns how long n bytes take at r, rounded down. It saturates; it is
// 0 if n is not positive, and the longest duration if r is not.
func (r Rate) TimeFor(n int64) time.Duration {
	if n <= 0 {
		return 0
	}
	if r <= 0 {
		return math.MaxInt64
	}
	return time.Duration(mulDiv(n, int64(time.Second), int64(r)))
}

// mulDiv returns a*b/c rounded down, for positive operands, and math.MaxInt64
// if that does not fit.
func mulDiv(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi == 0 && lo <= math.MaxInt64 {
		return int64(lo) / c
	}
	if hi >= uint64(c) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	if q > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(q)
}

package ccinject

import (
	"math/bits"

	"github.com/moq-c4/moq-c4/cc"
)

// rateBits is how many bits of a measured rate count, 0.1 to 0.2 %.
const rateBits = 10

// coarse drops what a measured rate says beyond its precision. Acknowledgements are told from each other by some
// packets, and times by some microseconds: the same path gives rates that differ by hundredths of a percent. C4 takes any
// increase after a small probe for growth, and would push into a full queue because of them.
func coarse(r cc.Rate) cc.Rate {
	if r <= 0 {
		return r
	}
	shift := max(0, bits.Len64(uint64(r))-rateBits)
	return r >> shift << shift
}

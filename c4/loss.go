package c4

// fraction is a number from 0 to 1 in units of 2^-32.
type fraction int64

const certain fraction = 1 << 32

// lossMemory is how many packets since the last loss dilute the loss rate at
// most. [C4-REF]
const lossMemory = 32

// lossRate is the smoothed loss rate.
//
//	smoothed_loss_rate = (loss + 15*smoothed_loss_rate)/16, for every packet
//
// [C4-SPEC] Section 5.3, Detecting Excessive Losses
type lossRate struct {
	rate fraction
	last int64 // highest number lost so far
}

// count takes one loss, and with it the packets before that were not lost. It
// reports whether the loss was new.
func (l *lossRate) count(number int64) bool {
	if number <= l.last {
		return false
	}
	for range min(number-l.last, lossMemory) {
		l.rate -= l.rate / 16
	}
	l.rate += (certain - l.rate) / 16
	l.last = number
	return true
}

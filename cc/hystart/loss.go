package hystart

import "math"

const (
	lossGain  = 1.0 / 16
	lossReach = 32 // packets
)

// HeavyLoss is the smoothed loss rate above which the reference implementation
// takes losses for congestion.
const HeavyLoss = 0.15

// Loss is an average of the loss rate over the packet numbers: it falls by a
// sixteenth with each packet and rises by a sixteenth of the rest with each
// loss. The zero value is ready; packet 0 does not count.
type Loss struct {
	rate float64
	last int64
}

// OnLoss counts the loss of packet number and returns the rate, from 0 to 1.
// fresh is false, and the loss is not counted, if a later one already was.
func (l *Loss) OnLoss(number int64) (rate float64, fresh bool) {
	if number <= l.last {
		return l.rate, false
	}
	l.rate *= decay[min(number-l.last, lossReach)]
	l.rate += (1 - l.rate) * lossGain
	l.last = number
	return l.rate, true
}

// decay[n] is what n packets without loss leave of the rate.
var decay = func() (d [lossReach + 1]float64) {
	for n := range d {
		d[n] = math.Pow(1-lossGain, float64(n))
	}
	return d
}()

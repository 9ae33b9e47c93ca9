package sim

import "time"

// rttEstimator is that of RFC 9002 Section 5, with whole microseconds.
type rttEstimator struct {
	latest, smoothed, variance, min time.Duration
}

const rttInitial = 250 * time.Millisecond

func (e *rttEstimator) reset() { *e = rttEstimator{smoothed: rttInitial} }

func (e *rttEstimator) known() bool { return e.min > 0 }

// adjust removes the acknowledgement delay from a sample, if that leaves more
// than the least sample.
func (e *rttEstimator) adjust(sample, ackDelay time.Duration) time.Duration {
	if e.known() && e.min+ackDelay < sample {
		return sample - ackDelay
	}
	return sample
}

func (e *rttEstimator) add(sample time.Duration) {
	e.latest = sample
	if !e.known() {
		e.smoothed, e.variance, e.min = sample, whole(sample/2), sample
		return
	}
	e.min = min(e.min, sample)
	e.variance = whole((3*e.variance + (e.smoothed - sample).Abs()) / 4)
	e.smoothed = whole((7*e.smoothed + sample) / 8)
}

// whole rounds down to microseconds, the clock's resolution.
func whole(d time.Duration) time.Duration { return d - d%time.Microsecond }

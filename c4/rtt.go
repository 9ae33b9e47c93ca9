package c4

import "time"

const (
	// maxJitter bounds what is taken for jitter above the running min RTT.
	// [C4-DESIGN] Monitoring the nominal max RTT
	maxJitter = 250 * time.Millisecond

	// maxRTTFloor keeps wake-up delays of the hosts from being taken for
	// queues. [C4-SPEC] Section 6.3, Nominal max RTT on low latency links
	maxRTTFloor = time.Millisecond
)

// rttEstimate is what is known of the round trip.
type rttEstimate struct {
	// nominalMax is the longest round trip without queues: latency plus jitter.
	// 0 before the first sample.
	nominalMax time.Duration
	// runningMin is about the shortest; math.MaxInt64 before the first sample.
	runningMin time.Duration
	// threshold is what a sample may exceed nominalMax by, and excess what the
	// last one exceeded even that by.
	threshold time.Duration
	excess    time.Duration
}

// sampleRTT takes a sample and computes the excess.
//
// "The nominal max RTT will be set to the first assessed RTT value"
// [C4-SPEC] Section 4.2, Initial state
//
// "rtt_sample > nominal_max_rtt + delay_threshold"
// [C4-SPEC] Section 5.2, Detecting Excessive Delays
func (c *Controller) sampleRTT(sample time.Duration) {
	c.era.maxRTT = max(c.era.maxRTT, sample)
	c.era.minRTT = min(c.era.minRTT, sample)
	c.rtt.runningMin = min(c.rtt.runningMin, sample)
	c.recovery.shortest = min(c.recovery.shortest, sample)
	if c.rtt.nominalMax == 0 {
		c.setMaxRTT(sample)
		c.rtt.excess = 0
		return
	}
	c.rtt.excess = max(0, sample-c.rtt.nominalMax-c.rtt.threshold)
}

// updateMaxRTT updates running min and nominal max RTT at the end of an era, if
// the packets acknowledged in it were sent at no more than the nominal rate.
//
//	running_min = era_min if lower, else (7*running_min + era_min)/8
//	c           = min(era_max, running_min + max_jitter)
//	nominal_max = c if higher, else (7*nominal_max + c)/8
//
// [C4-SPEC] Section 3.2, Nominal max RTT. gamma = 1/8:
// [C4-DESIGN] Monitoring the nominal max RTT
func (c *Controller) updateMaxRTT() {
	if c.latestRTT <= 0 {
		return
	}
	// An era that has just begun has at least the sample that came with this
	// acknowledgement. [C4-REF]
	c.era.maxRTT = max(c.era.maxRTT, c.latestRTT)
	c.era.minRTT = min(c.era.minRTT, c.latestRTT)
	longest := min(c.era.maxRTT, min(c.rtt.runningMin, rttMax)+maxJitter)
	if c.alphaPrevious > one {
		if c.cfg.MaxRTTByJitter && c.growth.pushAlpha <= c.cfg.AlphaProbe && longest > c.rtt.nominalMax &&
			c.era.minRTT <= min(c.rtt.runningMin, rttMax)+c.rtt.threshold {
			c.setMaxRTT(longest)
		}
		return
	}
	if c.era.minRTT < c.rtt.runningMin {
		c.rtt.runningMin = c.era.minRTT
	} else {
		c.rtt.runningMin = whole((7*c.rtt.runningMin + c.era.minRTT) / 8)
	}
	longest = min(c.era.maxRTT, c.rtt.runningMin+maxJitter)
	if longest > c.rtt.nominalMax {
		c.setMaxRTT(longest)
		return
	}
	c.setMaxRTT((7*c.rtt.nominalMax + longest) / 8)
	c.recovery.drainFlag = true
}

// setMaxRTT sets the nominal max RTT and what depends on it.
func (c *Controller) setMaxRTT(d time.Duration) {
	c.rtt.nominalMax = clamp(whole(d), maxRTTFloor, rttMax)
	c.updateDelayThreshold()
}

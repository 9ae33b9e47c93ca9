package bbr

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// trySeed starts from the window of an earlier connection, once there is an RTT
// to compare with.
func (c *Controller) trySeed(now time.Duration) {
	if c.seed.Window == 0 || c.rtt.Smoothed == 0 {
		return
	}
	s := c.seed
	c.seed = cc.Seed{}
	if !s.Fits(c.rtt.Latest) {
		return
	}
	c.bdpSeed = s.Window
	// The reference compares bytes with a rate; what it means is: not if more
	// than the seed's bandwidth was measured already.
	if c.state == startup && c.bdpSeed > int64(c.maxBW) {
		c.enterStartupResume(now, cc.CauseSeed)
	}
}

// enterStartupResume sends at the seed's rate, and probes a little above it.
func (c *Controller) enterStartupResume(now time.Duration, why cc.Cause) {
	c.setState(now, startupResume, resumeGain, resumeGain, why)
}

// checkStartupResume goes on in Startup if the path has more than the seed, and
// to Drain if the bandwidth does not grow.
func (c *Controller) checkStartupResume(now time.Duration, rs *sample) {
	if c.state != startupResume {
		return
	}
	c.checkStartupHighLoss(rs)
	if !c.filledPipe && float64(c.maxBW) > resumeGrowth*float64(c.bdpSeed) {
		c.enterStartup(now, cc.CauseGrowth)
		return
	}
	if !c.filledPipe && c.roundStart && !rs.appLimited && !c.grown(resumeGrowth) {
		c.fullBWCount++
		c.filledPipe = c.fullBWCount >= startupFullBWRounds
	}
	if c.filledPipe {
		if c.fullBWCount > 0 {
			c.quickProbing = true
			c.fullBWCount = 0
		}
		c.enterDrain(now, cc.CauseNoGrowth)
	}
}

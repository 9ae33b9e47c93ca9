package bbr

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// enterStartup begins to double the sending rate each round.
// [BBR] Startup Dynamics
func (c *Controller) enterStartup(now time.Duration, why cc.Cause) {
	c.setState(now, startup, startupPacingGain, startupCwndGain, why)
}

// reenterStartup forgets that the pipe was full: the path has changed. If the
// old BDP is known to have worked, it is approached directly.
func (c *Controller) reenterStartup(now time.Duration, why cc.Cause) {
	c.fullBW = 0
	c.fullBWCount = 0
	c.filledPipe = false
	c.quickProbing = true
	if c.bdpSeed > 0 {
		c.enterStartupResume(now, why)
		return
	}
	c.enterStartup(now, why)
}

// checkStartupDone ends Startup when the pipe is full.
func (c *Controller) checkStartupDone(now time.Duration, rs *sample) {
	if c.state != startup {
		return
	}
	why := cc.CauseNoGrowth
	c.checkFullBW(rs)
	if c.checkStartupHighLoss(rs) {
		why = cc.CauseLoss
	}
	if c.minRTT.usable() && c.minRTT.tooHigh() {
		c.filledPipe = true
		why = cc.CauseDelay
	}
	if c.filledPipe {
		c.quickProbing = true
		c.fullBWCount = 0
		c.enterDrain(now, why)
	}
}

// checkFullBW looks for a bandwidth that no longer grows.
// [BBR] Exiting Acceleration Based on Bandwidth Plateau
func (c *Controller) checkFullBW(rs *sample) {
	if c.filledPipe || !c.roundStart || rs.appLimited {
		return
	}
	if c.grown(startupFullBWGrowth) && rs.ce < excessiveCE {
		return
	}
	c.fullBWCount++
	if c.fullBWCount >= startupFullBWRounds || rs.ce >= excessiveCE {
		c.filledPipe = true
	}
}

// grown reports whether max_bw has grown by the factor since full_bw was taken,
// and then takes it anew.
func (c *Controller) grown(factor float64) bool {
	if float64(c.maxBW) < factor*float64(c.fullBW) {
		return false
	}
	c.fullBW = c.maxBW
	c.fullBWCount = 0
	return true
}

// startupLosses counts the losses of a round in Startup.
type startupLosses struct {
	ranges  int
	tooHigh bool
}

// checkStartupHighLoss looks for a round with too many losses.
// [BBR] Exiting Startup Based on Packet Loss
func (c *Controller) checkStartupHighLoss(rs *sample) bool {
	l := &c.startupLosses
	l.ranges += rs.lostRanges
	l.tooHigh = l.tooHigh || c.isInflightTooHigh(rs)
	if !c.roundStart {
		return false
	}
	high := l.tooHigh && l.ranges >= startupFullLossRanges
	if high {
		c.filledPipe = true
	}
	*l = startupLosses{}
	return high
}

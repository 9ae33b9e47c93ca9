package bbr

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// checkProbeRTT begins and runs ProbeRTT when min_rtt is due. [BBR] ProbeRTT Logic
func (c *Controller) checkProbeRTT(now time.Duration, rs *sample) {
	if c.state != probeRTT && c.minRTT.expired && !c.idleRestart {
		c.setState(now, probeRTT, 1, probeRTTCwndGain, cc.CauseRound)
		c.minRTT.value = rs.rtt
		c.saveCwnd()
		c.probeRTTDoneStamp = 0
		c.ackPhase = acksProbeStopping
		c.startRound()
	}
	if c.state == probeRTT {
		c.handleProbeRTT(now, rs)
	}
	if rs.delivered > 0 {
		c.idleRestart = false
	}
}

// handleProbeRTT keeps little in flight for probeRTTDuration and a round. The
// measurements begin with packets that were sent when there was as little.
func (c *Controller) handleProbeRTT(now time.Duration, rs *sample) {
	switch {
	case c.probeRTTDoneStamp == 0:
		if rs.txInFlight <= c.probeRTTCwnd() {
			c.probeRTTDoneStamp = now + probeRTTDuration
			c.probeRTTRoundDone = false
			c.startRound()
		}
	default:
		if c.roundStart {
			c.probeRTTRoundDone = true
		}
		if c.probeRTTRoundDone {
			c.checkProbeRTTDone(now)
		}
	}
}

// checkProbeRTTDone ends ProbeRTT. [BBR] Exiting ProbeRTT
func (c *Controller) checkProbeRTTDone(now time.Duration) {
	if c.probeRTTDoneStamp == 0 || now <= c.probeRTTDoneStamp {
		return
	}
	c.minRTT.probeStamp = now
	c.restoreCwnd()
	c.resetLowerBounds()
	if c.filledPipe {
		c.enterProbeBW(now)
		c.startProbeBWCruise(now)
		return
	}
	c.enterStartup(now, cc.CauseRound)
}

// restartFromIdle keeps a pause of the application from looking like a burst.
// [BBR] Actions when Restarting from Idle
func (c *Controller) restartFromIdle(now time.Duration) {
	pause := max(c.rtt.Smoothed+3*c.rtt.Variance, idleMin)
	if c.lastSentAt == 0 || c.limitedUntil == 0 || now <= c.lastSentAt+pause {
		return
	}
	c.idleRestart = true
	switch {
	case c.state.inProbeBW():
		c.setPacingRate(1)
	case c.state == probeRTT:
		c.checkProbeRTTDone(now)
	}
}

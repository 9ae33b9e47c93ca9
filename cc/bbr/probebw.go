package bbr

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// enterProbeBW begins the cycle of bandwidth probing. [BBR] ProbeBW
func (c *Controller) enterProbeBW(now time.Duration) {
	c.ceiling = c.bw + c.bw/2
	c.startProbeBWDown(now, cc.CauseRound)
}

// updateProbeBWCyclePhase goes from phase to phase.
// [BBR] ProbeBW Algorithm Details
func (c *Controller) updateProbeBWCyclePhase(now time.Duration, rs *sample) {
	if !c.filledPipe {
		return
	}
	c.adaptUpperBounds(now, rs)
	switch c.state {
	case probeBWDown:
		if c.checkTimeToProbeBW(now, rs) || c.checkPathSaturated(now, rs) {
			return
		}
		if c.checkTimeToCruise() {
			c.judgeGrowth(rs)
			c.startProbeBWCruise(now)
		}
	case probeBWCruise:
		if c.checkPathSaturated(now, rs) || c.checkTimeToProbeBW(now, rs) {
			return
		}
	case probeBWRefill:
		// "After one round of REFILL, start UP"
		if c.roundStart {
			c.probeSamples = true
			c.startProbeBWUp(now)
		}
	case probeBWUp:
		c.checkProbeDone(now)
	default:
		return
	}
	if c.bw > c.ceiling {
		c.reenterStartup(now, cc.CauseGrowth)
	}
}

// startProbeBWDown sends less than is delivered. [BBR] ProbeBW_DOWN
func (c *Controller) startProbeBWDown(now time.Duration, why cc.Cause) {
	c.resetCongestionSignals()
	c.probeUpCnt = infinite // not growing inflight_longterm
	c.pickProbeWait()
	c.cycleStamp = now
	c.ackPhase = acksProbeStopping
	c.startRound()
	c.minRTT.excess = 0
	c.limited = limitedRounds{}
	c.setState(now, probeBWDown, downPacingGain, probeBWCwndGain, why)
}

// startProbeBWCruise sends what is delivered. [BBR] ProbeBW_CRUISE
func (c *Controller) startProbeBWCruise(now time.Duration) {
	c.setState(now, probeBWCruise, cruisePacingGain, probeBWCwndGain, cc.CauseRound)
}

// startProbeBWRefill fills the pipe, so that the probe that follows shows
// congestion only if it causes it. [BBR] ProbeBW_REFILL
func (c *Controller) startProbeBWRefill(now time.Duration) {
	c.resetLowerBounds()
	c.probeUpRounds = 0
	c.probeUpAcks = 0
	c.fullBW = c.maxBW
	c.ackPhase = acksRefilling
	c.startRound()
	c.setState(now, probeBWRefill, refillPacingGain, probeBWCwndGain, cc.CauseRound)
}

// startProbeBWUp sends more than is known to be delivered. [BBR] ProbeBW_UP
func (c *Controller) startProbeBWUp(now time.Duration) {
	c.minRTT.excess = 0
	c.ackPhase = acksProbeStarting
	c.startRound()
	c.cycleStamp = now
	c.setState(now, probeBWUp, upPacingGain, upCwndGain, cc.CauseRound)
	c.raiseInflightLongtermSlope()
}

// checkProbeDone ends the probe when it has built a queue: the RTT is too high,
// or more is in flight than the path and a quarter hold.
func (c *Controller) checkProbeDone(now time.Duration) {
	if now-c.cycleStamp <= c.minRTT.value || !c.minRTT.usable() {
		return
	}
	if c.minRTT.excess > 0 || c.inFlight > c.inflight(upPacingGain, c.maxBW) {
		c.startProbeBWDown(now, cc.CauseDelay)
	}
}

// checkTimeToCruise ends DOWN when there is room in the bottleneck's queue and
// the data in flight fits the path.
func (c *Controller) checkTimeToCruise() bool {
	return c.inFlight <= c.inflightWithHeadroom() && c.inFlight <= c.inflight(1, c.maxBW)
}

// judgeGrowth decides whether probes go on following each other quickly.
func (c *Controller) judgeGrowth(rs *sample) {
	marked := rs.ceEW > excessiveCE
	if 15*c.maxBW >= 16*c.fullBW && !marked {
		c.fullBW = c.maxBW
		c.fullBWCount = 0
		c.quickProbing = true
		return
	}
	c.fullBWCount++
	if c.fullBWCount > quickProbes || marked {
		c.quickProbing = false
		c.fullBWCount = 0
	}
}

// checkTimeToProbeBW begins a probe when the time has come.
// [BBR] Time Scale for Bandwidth Probing
func (c *Controller) checkTimeToProbeBW(now time.Duration, rs *sample) bool {
	if now > c.cycleStamp+c.probeWait || c.isRenoCoexistenceProbeTime() || c.limited.ended(c.roundStart, rs.appLimited) {
		c.startProbeBWRefill(now)
		return true
	}
	return false
}

// isRenoCoexistenceProbeTime is true after as many rounds as Reno would take to
// grow back. [BBR] A Dual-Time-Scale Approach for Coexistence
//
// The reference does not count the rounds, so this is true only while the window
// is a packet or less.
func (c *Controller) isRenoCoexistenceProbeTime() bool {
	return int64(c.roundsSince) >= min(c.targetInflight()/c.mtu, renoRoundsMax)
}

// pickProbeWait draws how long to wait before the next probe.
// [BBR] ProbeBW Algorithm Details, BBRPickProbeWait
func (c *Controller) pickProbeWait() {
	c.roundsSince = int(c.random.below(2))
	rtt := min(c.minRTT.value, minRTTFilterLen)
	long := rtt >= longRTT
	switch {
	case c.quickProbing && !long:
		c.probeWait = rtt + c.random.upTo(longRTT)
	case c.quickProbing:
		c.probeWait = rtt + c.random.upTo(rtt)
	case !long:
		c.probeWait = probeWaitBase + c.random.upTo(probeWaitRandom)
	default:
		c.probeWait = 8*rtt + c.random.upTo(4*rtt)
	}
}

// checkPathSaturated drains at once when the path delivers less than a third of
// what is sent and the RTT has doubled.
func (c *Controller) checkPathSaturated(now time.Duration, rs *sample) bool {
	if !c.state.inProbeBW() || rs.rtt <= 2*c.minRTT.value || c.roundsSince < 1 ||
		c.pacingRate <= 3*float64(rs.rate) {
		return false
	}
	c.recovery.priorCwnd = rs.delivered
	c.probeRTTDoneStamp = 0
	c.ackPhase = acksProbeStopping
	c.maxBWFilter.fill(int64(rs.rate))
	c.maxBW, c.fullBW = rs.rate, rs.rate
	c.enterDrain(now, cc.CauseDelay)
	c.startRound()
	return true
}

// limitedRounds notices when a sender that was app limited for some rounds is no
// longer: what it has measured meanwhile may be too low.
type limitedRounds struct {
	rounds    int
	thisRound bool
}

func (l *limitedRounds) ended(roundStart, appLimited bool) bool {
	if !roundStart {
		l.thisRound = l.thisRound || appLimited
		return false
	}
	ended := false
	if l.thisRound {
		l.rounds++
	} else {
		ended = l.rounds > appLimitedRounds
		l.rounds = 0
	}
	l.thisRound = false
	return ended
}

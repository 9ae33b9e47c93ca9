package bbr

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// adaptUpperBounds follows the phases of the acknowledgements and moves the
// long-term bound. [BBR] ProbeBW Algorithm Details, BBRAdaptLongTermModel
func (c *Controller) adaptUpperBounds(now time.Duration, rs *sample) {
	if c.roundStart {
		switch {
		case c.ackPhase == acksProbeStarting:
			c.ackPhase = acksProbeFeedback // samples of the probe begin to arrive
		case c.ackPhase == acksProbeStopping && c.state.inProbeBW() && !rs.appLimited:
			c.advanceMaxBWFilter() // end of the samples of the probe
		}
	}
	if c.isInflightTooHigh(rs) {
		if c.probeSamples {
			c.handleInflightTooHigh(now, rs)
		}
		return
	}
	// What was in flight did no harm.
	c.inflightLongterm = max(c.inflightLongterm, rs.txInFlight)
	if c.state == probeBWUp {
		c.probeInflightLongtermUpward(rs)
	}
}

// isInflightTooHigh reports whether losses or marks say that too much is in
// flight. A loss rate over a few packets says little, so it takes more than
// three.
// [BBR] Probing for Bandwidth In ProbeBW
func (c *Controller) isInflightTooHigh(rs *sample) bool {
	if rs.ceEW > excessiveCE {
		return true
	}
	return rs.prior > c.recovery.delivered &&
		rs.lostSince > int64(float64(rs.txInFlight)*lossThresh) &&
		rs.lostSince > 3*c.mtu
}

// handleInflightTooHigh takes what was in flight as the long-term bound, once in
// a probe.
func (c *Controller) handleInflightTooHigh(now time.Duration, rs *sample) {
	c.probeSamples = false
	if !rs.appLimited {
		c.inflightLongterm = max(rs.txInFlight, int64(beta*float64(c.targetInflight())))
	}
	if c.state == probeBWUp {
		c.startProbeBWDown(now, cc.CauseLoss)
	}
}

// handleLostPacket judges each loss while probing.
func (c *Controller) handleLostPacket(now time.Duration, l cc.Loss) {
	if !c.probeSamples || c.state != probeBWUp {
		return
	}
	rs := c.lossSample(l)
	if c.isInflightTooHigh(&rs) {
		rs.txInFlight = inflightAtLoss(&rs)
		c.handleInflightTooHigh(now, &rs)
	}
}

// inflightAtLoss returns how much was in flight when the losses passed
// lossThresh, somewhere within the lost packet.
// [BBR] Probing for Bandwidth In ProbeBW, BBRInflightAtLoss
func inflightAtLoss(rs *sample) int64 {
	inflightPrev := max(rs.txInFlight-rs.lost, 0)
	lostPrev := max(rs.lostSince-rs.lost, 0)
	if inflightPrev <= lostPrev {
		return rs.txInFlight
	}
	return inflightPrev + int64(lossThresh*float64(inflightPrev-lostPrev)/(1-lossThresh))
}

// raiseInflightLongtermSlope makes the bound grow exponentially while probing.
// [BBR] ProbeBW Algorithm Details, BBRRaiseInflightLongtermSlope
func (c *Controller) raiseInflightLongtermSlope() {
	growth := c.mtu << c.probeUpRounds
	c.probeUpRounds = min(c.probeUpRounds+1, 30)
	c.probeUpCnt = max(c.cwnd/growth, 1)
}

// probeInflightLongtermUpward raises the bound if the window is used up to it.
// [BBR] ProbeBW Algorithm Details, BBRProbeInflightLongtermUpward
func (c *Controller) probeInflightLongtermUpward(rs *sample) {
	if !rs.cwndLimited || c.cwnd < c.inflightLongterm {
		return
	}
	c.probeUpAcks += rs.acked
	if c.probeUpAcks/c.mtu >= c.probeUpCnt {
		delta := c.probeUpAcks / c.probeUpCnt
		c.probeUpAcks -= delta * c.probeUpCnt
		c.inflightLongterm += delta
	}
	if c.roundStart {
		c.raiseInflightLongtermSlope()
	}
}

// inflightWithHeadroom leaves room for others below the long-term bound.
// [BBR] ProbeBW_CRUISE
func (c *Controller) inflightWithHeadroom() int64 {
	return max(int64((1-headroom)*float64(c.inflightLongterm)), minPipeCwnd*c.mtu)
}

// targetInflight is how much the model wants in flight.
func (c *Controller) targetInflight() int64 { return min(c.bdp, c.cwnd) }

package bbr

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// OnAck implements [cc.Controller]. [BBR] Per-ACK Steps
func (c *Controller) OnAck(now time.Duration, a *cc.Ack) {
	c.sender.OnAck(now, a, c.window())
	c.inFlight = a.InFlight
	rs := c.ackSample(now, a)
	c.updateModelAndState(now, &rs)
	if c.state == startupLongRTT {
		c.growLongRTT(&rs, a.Sample.Peak)
	} else {
		c.updateControlParameters(&rs)
	}
	c.sender.OnControl(c.Control(), c.mtu, c.rtt.Smoothed)
}

// updateModelAndState: the order of the steps matters, each uses what those
// before it have found.
func (c *Controller) updateModelAndState(now time.Duration, rs *sample) {
	c.updateLatestDeliverySignals(rs)
	c.updateCongestionSignals(rs)
	c.extraAcked.update(now, rs.acked, c.cwnd)
	c.checkStartupLongRTT(now, rs)
	c.checkStartupResume(now, rs)
	c.checkStartupDone(now, rs)
	c.checkRecovery(now, rs)
	c.checkDrain(now)
	c.updateProbeBWCyclePhase(now, rs)
	c.updateMinRTT(now, rs)
	c.checkProbeRTT(now, rs)
	c.advanceLatestDeliverySignals(rs)
	if c.roundStart {
		c.ecn.advance(rs)
	}
	c.boundBWForModel()
}

func (c *Controller) updateControlParameters(rs *sample) {
	c.setPacingRate(c.pacingGain)
	c.setSendQuantum()
	c.setCwnd(rs)
}

// updateRound counts packet-timed round trips.
// [BBR] BBR.round_count: Tracking Packet-Timed Round Trips
//
// Rounds begin with the first packet sent after the handshake.
func (c *Controller) updateRound() {
	c.roundStart = c.sender.AckedTo() > c.roundEnd && !c.starting
	if c.roundStart {
		c.startRound()
		c.extraAcked.filter.advance()
	}
}

func (c *Controller) startRound() { c.roundEnd = c.sender.Next() }

package bbr

import "github.com/moq-c4/moq-c4/cc"

// setPacingRate paces at a gain times the bandwidth, less the margin. Until the
// pipe is full the rate only rises. [BBR] Pacing Rate
func (c *Controller) setPacingRate(gain float64) {
	rate := gain * float64(c.bw) * (100 - pacingMargin) / 100
	if c.state == startupResume && !c.filledPipe && c.bdpSeed > 0 && c.minRTT.value > 0 {
		rate = max(rate, float64(c.bdpSeed)/c.minRTT.value.Seconds())
	}
	if c.filledPipe || rate > c.pacingRate {
		c.pacingRate = rate
	}
}

// setSendQuantum allows bursts of a millisecond. [BBR] Send Quantum
func (c *Controller) setSendQuantum() {
	least := 2 * c.mtu
	if c.pacingRate < slowRate {
		least = c.mtu
	}
	c.sendQuantum = max(min(int64(c.pacingRate*quantumTime.Seconds()), quantumMax), least)
}

// bdpMultiple returns gain times the BDP by bw, and keeps the BDP.
// [BBR] Computing BBR.max_inflight
func (c *Controller) bdpMultiple(gain float64, bw cc.Rate) int64 {
	if c.minRTT.value == infinite {
		return c.initialWindow * c.mtu // no estimate: no limit
	}
	c.bdp = bw.Over(c.minRTT.value)
	return int64(gain * float64(c.bdp))
}

// quantizationBudget makes room for bursts and for a minimal pipeline.
func (c *Controller) quantizationBudget(inflight int64) int64 {
	inflight = max(inflight, 3*c.sendQuantum, minPipeCwnd*c.mtu)
	if c.state == probeBWUp {
		inflight += 2 * c.mtu
	}
	return inflight
}

// inflight is how much to have in flight for a gain and a bandwidth.
func (c *Controller) inflight(gain float64, bw cc.Rate) int64 {
	return c.quantizationBudget(c.bdpMultiple(gain, bw))
}

// setCwnd adjusts the window. [BBR] cwnd Adjustment Mechanism
func (c *Controller) setCwnd(rs *sample) {
	c.maxInflight = c.quantizationBudget(c.bdpMultiple(c.cwndGain, c.bw) + c.extraAcked.value)
	c.modulateCwndForRecovery(rs)
	if !c.recovery.conserve {
		switch {
		case c.filledPipe:
			c.cwnd = min(c.cwnd+rs.acked, c.maxInflight)
		case c.state == startupResume && c.bdpSeed > c.cwnd:
			c.cwnd = c.bdpSeed
		case c.cwnd < c.maxInflight || c.delivered < c.initialWindow:
			c.cwnd += rs.acked
		}
		c.cwnd = max(c.cwnd, minPipeCwnd*c.mtu)
	}
	if c.state == probeRTT {
		c.cwnd = min(c.cwnd, c.probeRTTCwnd())
	}
	c.boundCwndForModel()
}

// modulateCwndForRecovery takes lost bytes out of the window, and in packet
// conservation replaces what is delivered.
// [BBR] Modulating cwnd in Loss Recovery
func (c *Controller) modulateCwndForRecovery(rs *sample) {
	if rs.lost > 0 {
		if c.cwnd > rs.lost+c.mtu {
			c.cwnd -= rs.lost
		} else {
			c.cwnd = c.mtu
		}
	}
	if c.recovery.conserve {
		c.cwnd = max(c.cwnd, c.inFlight+rs.acked)
	}
}

// boundCwndForModel keeps the window within the bounds that the model has
// learned. [BBR] Bounding cwnd Based on Recent Congestion
func (c *Controller) boundCwndForModel() {
	bound := int64(infinite)
	switch {
	case c.state == probeRTT || c.state == probeBWCruise:
		bound = c.inflightWithHeadroom()
	case c.state.inProbeBW() && c.inflightLongterm > 0:
		bound = c.inflightLongterm
	}
	bound = max(min(bound, c.inflightShortterm), minPipeCwnd*c.mtu)
	c.cwnd = min(c.cwnd, bound)
}

// probeRTTCwnd is the window of ProbeRTT. [BBR] Modulating cwnd in ProbeRTT
func (c *Controller) probeRTTCwnd() int64 {
	return max(c.bdpMultiple(probeRTTCwndGain, c.bw), minPipeCwnd*c.mtu)
}

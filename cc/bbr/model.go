package bbr

import "github.com/moq-c4/moq-c4/cc"

// updateLatestDeliverySignals tracks what one round trip delivers.
// [BBR] When not Probing for Bandwidth
func (c *Controller) updateLatestDeliverySignals(rs *sample) {
	c.lossRoundStart = false
	c.bwLatest = max(c.bwLatest, rs.rate)
	c.inflightLatest = max(c.inflightLatest, rs.delivered)
	if rs.prior >= c.lossRoundDelivered {
		c.lossRoundDelivered = c.delivered
		c.lossRoundStart = true
	}
}

func (c *Controller) advanceLatestDeliverySignals(rs *sample) {
	if c.lossRoundStart {
		c.bwLatest = rs.rate
		c.inflightLatest = rs.delivered
	}
}

func (c *Controller) resetCongestionSignals() {
	c.lossInRound = false
	c.bwLatest = 0
	c.inflightLatest = 0
}

// updateCongestionSignals reacts once per round trip to losses.
func (c *Controller) updateCongestionSignals(rs *sample) {
	c.updateMaxBW(rs)
	if rs.lost > 0 {
		c.lossInRound = true
	}
	if !c.lossRoundStart {
		return
	}
	if c.lossInRound && !c.state.probing() {
		c.adaptLowerBounds()
	}
	c.lossInRound = false
}

// adaptLowerBounds lowers the short-term bounds, but not below what the round
// just past has delivered.
func (c *Controller) adaptLowerBounds() {
	if c.bwShortterm == infinite {
		c.bwShortterm = c.maxBW
	}
	if c.inflightShortterm == infinite {
		c.inflightShortterm = c.cwnd
	}
	c.bwShortterm = max(c.bwLatest, cc.Rate(beta*float64(c.bwShortterm)))
	c.inflightShortterm = max(c.inflightLatest, int64(beta*float64(c.inflightShortterm)))
}

func (c *Controller) resetLowerBounds() {
	c.bwShortterm = infinite
	c.inflightShortterm = infinite
}

// updateMaxBW takes a bandwidth sample.
//
// App-limited samples count only if they show more bandwidth than is known: the
// path carries at least that much.
// [BBR] BBR.max_bw and Application-limited Delivery Rate Samples
func (c *Controller) updateMaxBW(rs *sample) {
	c.updateRound()
	if int64(rs.rate) >= c.maxBWFilter.current() || !rs.appLimited {
		c.maxBW = cc.Rate(c.maxBWFilter.update(int64(rs.rate)))
	}
}

// advanceMaxBWFilter begins a new cycle.
// [BBR] Tracking Time for the BBR.max_bw Max Filter
func (c *Controller) advanceMaxBWFilter() {
	c.ackPhase = acksProbeStarting
	c.maxBWFilter.advance()
}

func (c *Controller) boundBWForModel() { c.bw = min(c.maxBW, c.bwShortterm) }

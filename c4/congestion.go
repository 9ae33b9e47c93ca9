package c4

import "github.com/moq-c4/moq-c4/cc"

// betaMax bounds the reduction of one congestion signal.
// [C4-SPEC] Section 5.5.1, Rate Reduction on Congestion
const betaMax = one / 4

// beta is the part of the nominal rate that a signal costs.
//
//	loss:  1/4
//	delay: min(1/4, (rtt_sample - (nominal_max_rtt + delay_threshold)) / delay_threshold)
//	ECN:   min(1/4, (ecn_alpha - ecn_threshold) / ecn_threshold)
//
// [C4-SPEC] Section 5.5.1, Rate Reduction on Congestion. For losses [C4-REF] has
// (1 + sensitivity)/8.
func (c *Controller) beta(cause cc.Cause) Coef {
	switch cause {
	case cc.CauseDelay:
		if c.rtt.threshold <= 0 {
			return betaMax
		}
		return min(Coef(int64(c.rtt.excess)*int64(one)/int64(c.rtt.threshold)), betaMax)
	case cc.CauseECN:
		threshold := c.ecnThreshold()
		return clampCoef((c.ecn.alpha-threshold)*one/threshold, 0, betaMax)
	}
	if c.cfg.LossBetaBySensitivity {
		return (betaMax + Coef(c.sensitivity().of(int64(betaMax)))) / 2
	}
	return betaMax
}

func clampCoef(v, low, high Coef) Coef { return min(max(v, low), high) }

// congestion acts on a signal outside initial.
//
// Probing and pushing send faster than the nominal rate on purpose, so there the
// signal only ends the state: "the reduction in nominal_rate and nominal_max_RTT
// are not applied if the congestion signal is tied to a packet sent during the
// probing or pushing state". [C4-DESIGN] State Machine
//
// In recovery the reduction has been made, or was not due; the signal makes
// recovery longer and deeper once. [C4-REF]
func (c *Controller) congestion(cause cc.Cause) {
	first := !c.growth.congested
	c.congested = true
	c.growth.congested = true
	before := c.nominalRate
	beta := c.beta(cause)
	if cause != cc.CauseDelay {
		// One signal is enough: the queue that lost or marked packets also
		// shows as delay. [C4-REF]
		c.rtt.excess = 0
	}
	switch c.state {
	case Recovery:
		if !c.prolongRecovery(cause) && !first {
			return // news to nobody
		}
	case Probing, Pushing:
		c.enterRecovery(cause)
	default:
		c.nominalRate -= beta.rate(c.nominalRate)
		if cause == cc.CauseLoss && c.cfg.LossCutsMaxRTT {
			c.setMaxRTT(c.rtt.nominalMax - beta.time(c.rtt.nominalMax))
		}
		c.enterRecovery(cause)
	}
	c.events.Add(cc.Event{
		At: c.now, Kind: cc.EventCongestion, Cause: cause, Rate: before, NewRate: c.nominalRate,
	})
	c.setControl()
}

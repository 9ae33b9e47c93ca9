package c4

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

const (
	// rttMargin is added to the nominal max RTT for the window, at most, so that
	// an RTT estimated too low does not hold the rate down.
	// [C4-SPEC] Section 4.1, Setting pacing rate, congestion window and quantum
	rttMargin = 15 * time.Millisecond

	// quantumTime is the share of the pacing rate that may leave at once: 4/1024
	// s, "4 milliseconds" in the text. [C4-REF]
	quantumTime Coef = 4

	quantumMax = 64 << 10
)

// setControl computes pacing rate, window and quantum.
//
//	pacing_rate = alpha_current * nominal_rate
//	cwnd        = pacing_rate * (nominal_max_rtt + margin), at least 2 MTU
//	quantum     = max(min(pacing_rate*4ms, 64KB), 2*MTU)
//
// [C4-SPEC] Section 4.1, Setting pacing rate, congestion window and quantum,
// where the window is printed with a wrong dimension.
func (c *Controller) setControl() {
	pacing := c.alpha.rate(c.nominalRate)
	window := pacing.Over(c.rtt.nominalMax)
	switch c.state {
	case Initial:
		pacing, window = c.initialControl(pacing, window)
	case Resuming:
		pacing, window = c.resuming.rate, c.resuming.window
	default:
		window += pacing.Over(min(whole(c.rtt.nominalMax/4), rttMargin))
		if c.state == Probing || c.state == Pushing {
			window += c.missingToPacket()
		}
	}
	c.out.PacingRate = pacing
	c.out.Window = clamp(window, 2*c.mtu, windowMax)
	c.out.Quantum = max(min(quantumTime.of(int64(pacing)), quantumMax), 2*c.mtu)
	c.out.SlowStart = !c.congested
}

// initialControl raises the values for initial: at least the window grown so
// far, a minimum of pacing, and, where single intervals have been faster than the
// rate measured over a round trip, half way to those. [C4-REF]
func (c *Controller) initialControl(pacing cc.Rate, window int64) (cc.Rate, int64) {
	window = max(window, c.initial.window)
	if c.initial.acks > 0 {
		pacing = max(pacing, initialPacing)
		if c.cfg.InitialPeak && c.peakRate > pacing {
			pacing = (pacing + c.peakRate) / 2
			window = max(window, c.peakRate.Over(c.smoothedRTT)/2)
		}
	}
	if c.cfg.InitialKeepsWindow {
		c.initial.window = min(window, windowMax)
	}
	return pacing, window
}

// missingToPacket is what the window lacks to hold one packet more than at the
// nominal rate, without which probing would not probe. [C4-REF]
func (c *Controller) missingToPacket() int64 {
	added := (c.alpha - one).rate(c.nominalRate).Over(c.rtt.nominalMax)
	return max(0, c.mtu-added)
}

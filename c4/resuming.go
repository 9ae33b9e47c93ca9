package c4

import "github.com/moq-c4/moq-c4/cc"

const (
	// alphaResuming is pro forma: pacing and window are the seed's. That it is
	// above 1 matters, see resetEra. [C4-REF]
	alphaResuming Coef = 3 * one

	// resumingEras is how long resuming lasts.
	// [C4-SPEC] Section 4.3, Resuming state
	resumingEras = 2
)

// resumingState belongs to Resuming.
type resumingState struct {
	window int64
	rate   cc.Rate
	eras   int // ended
}

// useSeed enters resuming, if a seed is there whose RTT fits the latest sample.
// [C4-DESIGN] Support for careful resume
func (c *Controller) useSeed() {
	if c.seed.Window <= 0 || c.handshakeRTT <= 0 || c.state != Initial {
		return
	}
	s := c.seed
	c.seed = cc.Seed{}
	if !s.Fits(c.handshakeRTT) {
		return
	}
	rtt := c.smoothedRTT
	if rtt <= 0 {
		rtt = c.handshakeRTT
	}
	c.resuming = resumingState{window: s.Window, rate: min(cc.RateOf(s.Window, rtt), rateMax)}
	if c.rtt.nominalMax < rtt {
		c.setMaxRTT(rtt)
	}
	c.setState(Resuming, cc.CauseSeed)
	c.alpha = alphaResuming
	c.resetGrowth()
	c.resetEra()
	c.setControl()
}

// resumingMeasures reports whether delay and marks are no signal, because
// resuming is still finding out. The seed's rate may build a queue before anything
// was measured of it; the nominal rate, by then that of the first few packets,
// would be cut and kept. At the end of resuming it is what the path delivers.
//
// "The state lasts for 2 eras, giving enough time for the rate measurement to
// stabilize." [C4-DESIGN] State Machine, which also says "at any time if
// congestion is detected", as [C4-REF] does. Losses are, at any time.
func (c *Controller) resumingMeasures() bool {
	return c.cfg.ResumingMeasures && c.state == Resuming
}

// resumingOnAck holds the era open until the seed's window is nearly full, so
// that an application that starts slowly does not use the eras up.
//
// "The eras are expanded if the connection is app limited, to avoid exiting too
// early." [C4-DESIGN] State Machine
func (c *Controller) resumingOnAck() {
	if c.inFlight+c.inFlight/16 < c.resuming.window {
		c.era.sequence = c.nextNumber
	}
}

// resumingEraEnd leaves for recovery after the second era: the seed's rate needs
// one round trip to be reached and one to be measured.
func (c *Controller) resumingEraEnd() {
	c.resuming.eras++
	if c.resuming.eras >= resumingEras {
		c.enterRecovery(cc.CauseRound)
		return
	}
	c.resetEra()
}

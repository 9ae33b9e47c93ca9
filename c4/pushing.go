package c4

import (
	"math"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// pushingState belongs to Pushing.
type pushingState struct {
	eras   int // ended without fast growth since the last one with it
	growth int // times that fast growth has prolonged pushing

	shortest time.Duration // round trip in pushing
}

// enterPushing goes for more, after a cycle that grew.
// [C4-SPEC] Section 4.7, Pushing state
func (c *Controller) enterPushing() {
	c.setState(Pushing, cc.CauseGrowth)
	c.pushing = pushingState{shortest: math.MaxInt64}
	c.alpha = c.cfg.AlphaPush
	c.resetGrowth()
	c.resetEra()
}

// pushingOnAck begins the era anew as soon as the rate has grown fast.
// [C4-REF]; [C4-SPEC] looks at the end of the era only.
//
// From the second era on it is packets of the push that are acknowledged. If
// their round trips become longer before the rate has grown, what they fill is a
// queue, see PushDelay.
func (c *Controller) pushingOnAck() {
	if c.grown() == growingFast {
		c.pushOn()
		return
	}
	p := &c.pushing
	p.shortest = min(p.shortest, c.latestRTT)
	if c.cfg.PushDelay > 0 && p.eras > 0 && c.latestRTT > p.shortest+c.cfg.PushDelay.time(c.rtt.threshold) {
		c.enterRecovery(cc.CauseDelay)
	}
}

// pushingEraEnd leaves pushing when the rate has stopped growing.
//
// "The pushing phase lasts for at least two eras. During the first era,
// measurements correspond to data sent during the recovery phase"
// [C4-SPEC] Section 4.7, Pushing state. [C4-REF] means to, but leaves after one.
func (c *Controller) pushingEraEnd() {
	if c.grown() == growingFast {
		c.pushOn()
		return
	}
	c.pushing.eras++
	if c.pushing.eras < c.cfg.PushEras {
		c.resetEra()
		return
	}
	c.enterRecovery(cc.CauseRound)
}

// pushOn continues from the new rate.
//
// "If the pushing lasts more than 3 RTT, C4 re-enters the initial state."
// [C4-SPEC] Section 4, States and Transition. [C4-REF] does not.
func (c *Controller) pushOn() {
	c.pushing.growth++
	if n := c.cfg.PushErasMax; n > 0 && c.pushing.growth >= n {
		c.enterInitial(cc.CauseGrowth)
		return
	}
	c.pushing.eras = 0
	c.resetGrowth()
	c.resetEra()
}

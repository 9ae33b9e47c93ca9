package c4

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// alphaCruise is the coefficient in cruising. Below a smoothed RTT of
// shortRTT it is alphaShort higher, since timers then lose some of the rate.
// [C4-SPEC] Section 6.2, Pacing and CPU load
const (
	alphaCruise Coef = one
	alphaShort  Coef = 48
	shortRTT         = time.Millisecond
)

// cruisingState belongs to Cruising.
type cruisingState struct {
	erasLeft int // before probing
}

// enterCruising sends at the nominal rate. An interrupted count of eras is
// continued. [C4-SPEC] Section 4.5, Cruising state
func (c *Controller) enterCruising() {
	c.setState(Cruising, cc.CauseNoGrowth)
	c.resetEra() // before alpha, see there
	if c.cruising.erasLeft == 0 {
		c.cruising.erasLeft = c.cfg.CruiseEras
		// "level 2: pushing at 25%, spend at most 1 cycle in cruising before
		// pushing" [C4-DESIGN] Adaptation to ECN/L4S
		if c.recovery.level == levelECN || c.recovery.level > levelDefault {
			c.cruising.erasLeft = 1
		}
	}
	c.alpha = c.cruisingAlpha()
}

func (c *Controller) cruisingAlpha() Coef {
	if c.smoothedRTT < shortRTT {
		return alphaCruise + alphaShort
	}
	return alphaCruise
}

// waitingAlpha is the coefficient while the flow waits for data: AlphaWait as long
// as no round trip was longer than the delay threshold allows for, the normal one
// otherwise. So a flow that would fill a queue by it stops at the first sign.
func (c *Controller) waitingAlpha() Coef {
	if c.rtt.nominalMax > min(c.rtt.runningMin, rttMax)+c.rtt.threshold {
		return c.cruisingAlpha()
	}
	return max(c.cfg.AlphaWait, c.cruisingAlpha())
}

// cruisingEraEnd moves on to probing, or to the push that was put off, once it is
// time and there is data to do it with.
//
// "If it is [app limited], C4 will remain in cruising state until the
// application finally sends more data, and will only enter the pushing
// state when the last period was not application limited."
// [C4-DESIGN] Coordinated Pushing
func (c *Controller) cruisingEraEnd() {
	if c.cruising.erasLeft > 0 {
		c.cruising.erasLeft--
	}
	c.resetEra()
	if c.cruising.erasLeft > 0 {
		return
	}
	if c.appLimited() {
		if c.cfg.AlphaWait > 0 {
			c.alpha = c.waitingAlpha()
		}
		return
	}
	if c.recovery.level > levelDefault { // a push was put off
		c.enterPushing()
		return
	}
	c.enterProbing()
}

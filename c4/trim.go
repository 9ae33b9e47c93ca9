package c4

import "github.com/moq-c4/moq-c4/cc"

// trim lowers the nominal rate towards what has been measured, after a cycle
// without growth, without congestion, and not limited by the application.
//
// "Drop to the maximum of the current measured rate and the rate measured in the
// previous cycle. [...] We adopted it in the specification."
// [C4-DESIGN] Revising the trimming pattern
//
// "the nominal rate is set to the average of its current value and the recent
// maximum rate" [C4-SPEC] Section 5.6, Trimming an overestimated nominal rate
func (c *Controller) trim() {
	if !c.growth.notLimited && !c.cfg.TrimAppLimited {
		return
	}
	to := c.nominalRate
	switch c.cfg.Trimming {
	case TrimMidpoint:
		to = (c.nominalRate + c.recentMaxRate) / 2
	case TrimMaxOfTwo:
		to = max(c.recentMaxRate, c.previousMaxRate)
	}
	if to > 0 && to < c.nominalRate {
		c.lowerRate(to, cc.CauseTrim)
	}
}

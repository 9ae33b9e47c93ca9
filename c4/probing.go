package c4

import "github.com/moq-c4/moq-c4/cc"

// enterProbing tries a small increase for one era.
//
// "alpha_current is set to 17/16, unless ECN-CE marks have been received on the
// path, in which case it is set to 33/32" [C4-SPEC] Section 4.6, Probing state.
// [C4-REF] and [C4-DESIGN] Adaptation to ECN/L4S take 33/32 after a cycle that
// did not grow and was marked.
func (c *Controller) enterProbing() {
	c.setState(Probing, cc.CauseRound)
	c.alpha = c.cfg.AlphaProbe
	if c.recovery.level == levelECN || c.cfg.ProbeECNSticky && c.ecn.ce > 0 {
		c.alpha = c.cfg.AlphaProbeECN
	}
	c.growth.pushAlpha = c.alpha
	c.resetEra()
}

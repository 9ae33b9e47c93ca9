package c4

import "github.com/moq-c4/moq-c4/cc"

// growth judges whether sending faster has raised the rate. It covers the time
// since resetGrowth.
type growth struct {
	congested  bool // congestion was signalled
	notLimited bool // the path, not the application, limited the rate
	oldRate    cc.Rate
	pushAlpha  Coef // how much faster was tried
}

// growing is the verdict.
type growing uint8

const (
	growingNone growing = iota
	growingSlow
	growingFast
)

// evaluate compares the rate with the one at resetGrowth.
//
// After a large push, at least a quarter of the increase must have arrived to
// count at all, and more than three quarters to count as fast. "We now set that
// threshold to 1/4 of the increase in the sending rate."
// [C4-DESIGN] Variable Pushing Rate, Two steps cascade
//
// A small one is within the noise: any increase counts, unless congestion was
// signalled. [C4-SPEC] Section 4.4, Recovery state
func (g *growth) evaluate(rate cc.Rate, small Coef) growing {
	if g.pushAlpha <= small {
		if rate > g.oldRate && !g.congested {
			return growingFast
		}
		return growingNone
	}
	pushed := g.pushAlpha.rate(g.oldRate)
	switch {
	case rate < (3*g.oldRate+pushed)/4:
		return growingNone
	case rate > (g.oldRate+3*pushed)/4:
		return growingFast
	}
	return growingSlow
}

// grown evaluates the growth up to now.
func (c *Controller) grown() growing {
	return c.growth.evaluate(c.nominalRate, c.cfg.AlphaProbe)
}

// resetGrowth begins to judge anew.
func (c *Controller) resetGrowth() {
	c.growth = growth{oldRate: c.nominalRate, pushAlpha: c.alpha}
}

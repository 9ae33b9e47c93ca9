package bbr

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// enterDrain lets the queue run empty that Startup has filled. [BBR] Drain
func (c *Controller) enterDrain(now time.Duration, why cc.Cause) {
	c.startedUp = true
	c.setState(now, drain, drainPacingGain, drainCwndGain, why)
}

// checkDrain ends Drain when the data in flight fits the path without a queue.
func (c *Controller) checkDrain(now time.Duration) {
	if c.state == drain && c.inFlight <= c.inflight(1, c.bw) {
		c.enterProbeBW(now)
	}
}

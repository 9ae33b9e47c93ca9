package c4

import "github.com/moq-c4/moq-c4/cc"

// sampleRate raises the nominal rate to the sample, if that is larger.
//
//	delay_estimate = max(current_time - time_sent, send_delay)
//	rate_estimate  = bytes_acknowledged / delay_estimate
//
// "We only use the measurements to increase the nominal rate [...]. This is a
// deliberate choice, as decreases in measurement are ambiguous. They can result
// from the application being rate limited, or from measurement noises."
// [C4-DESIGN] Monitoring the nominal rate
//
// Samples in a congested recovery speak of packets sent before the reduction,
// which would be undone. [C4-DESIGN] Avoiding Congestion Bounce
//
// A sample below the nominal rate may be due to the application; it is not if
// more was delivered than the nominal rate fills the path with. [C4-REF];
// [C4-SPEC] Section 3.1, Nominal rate, prints the first comparison reversed.
func (c *Controller) sampleRate(s cc.Sample) {
	if !s.Fresh && !c.cfg.StaleRate || s.DeliveredSince <= 0 {
		return
	}
	rate := clamp(s.Rate, 0, rateMax)
	c.recentMaxRate = max(c.recentMaxRate, rate)
	congested := c.state == Recovery && c.growth.congested
	switch {
	case rate > c.nominalRate && !congested:
		c.growth.notLimited = true
		c.nominalRate = rate
		c.recovery.drainFlag = false
		c.updateDelayThreshold()
	case s.DeliveredSince > c.nominalRate.Over(c.rtt.runningMin):
		c.growth.notLimited = true
	}
}

// lowerRate sets the nominal rate to a lower value for another reason than a
// congestion signal.
func (c *Controller) lowerRate(to cc.Rate, cause cc.Cause) {
	c.events.Add(cc.Event{
		At: c.now, Kind: cc.EventRate, Cause: cause, Rate: c.nominalRate, NewRate: to,
	})
	c.nominalRate = to
}

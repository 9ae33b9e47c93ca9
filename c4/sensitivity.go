package c4

import "time"

// sensitivity says how readily the flow yields, from 0 to 1: flows with a large
// share yield first, so that shares become equal.
//
//	0 below 50 kB/s; linear to the knee at 1 MB/s; linear to 1 at 10 MB/s
//
// [C4-SPEC] Section 5.1, Variable Sensitivity. The knee there is 0.92; [C4-REF]
// has 0.94, which makes the loss threshold 5 percent at 1 MB/s.
func (c *Controller) sensitivity() Coef {
	const (
		low  = 50_000
		mid  = 1_000_000
		high = 10_000_000
	)
	knee := c.cfg.SensitivityKnee
	switch r := c.nominalRate; {
	case r < low:
		return 0
	case r < mid:
		return Coef(int64(r-low) * int64(knee) / (mid - low))
	case r <= high:
		return knee + Coef(int64(r-mid)*int64(one-knee)/(high-mid))
	}
	return one
}

// delayThresholdMax bounds the delay threshold.
// [C4-SPEC] Section 5.2, Detecting Excessive Delays
const delayThresholdMax = 25 * time.Millisecond

// updateDelayThreshold computes the delay threshold anew.
//
//	delay_fraction  = 1/16 + (1 - sensitivity)*3/16
//	delay_threshold = min(25ms, delay_fraction*nominal_max_rtt)
//
// [C4-SPEC] Section 5.2, Detecting Excessive Delays. It follows the nominal max
// RTT and each rise of the nominal rate, but not a reduction: [C4-REF].
func (c *Controller) updateDelayThreshold() {
	fraction := one/16 + Coef(c.cfg.DelaySlope.of(int64(one-c.sensitivity())))
	c.rtt.threshold = min(fraction.time(c.rtt.nominalMax), delayThresholdMax)
}

// lossThreshold is the loss rate above which losses are congestion.
//
//	loss_threshold = 0.02 + 0.50*(1 - sensitivity)
//
// [C4-SPEC] Section 5.3, Detecting Excessive Losses
func (c *Controller) lossThreshold() fraction {
	return 2*certain/100 + fraction(one-c.sensitivity())*(certain/2048)
}

// ecnThreshold is the ratio of CE marks above which they are congestion.
//
//	ecn_threshold = (2 - sensitivity)*3/32
//
// [C4-SPEC] Section 5.4, Detecting Excessive CE Marks
func (c *Controller) ecnThreshold() Coef {
	return 192 - Coef(c.sensitivity().of(96))
}

package c4

import (
	"math"
	"time"
)

// era is about one round trip: it ends when every packet up to sequence is
// acknowledged or lost. [C4-SPEC] Section 3.4, Per era variables
type era struct {
	sequence int64
	maxRTT   time.Duration // 0: no sample yet
	minRTT   time.Duration // math.MaxInt64: no sample yet
}

// resetEra begins an era with the next packet.
//
// When a state is entered, it matters whether this comes before or after the new
// alpha is set: before, alphaPrevious becomes that of the state left, which is
// what the acknowledgements of the new era speak of. That is so for recovery and
// cruising. Initial, probing, pushing and resuming set alpha first, so
// alphaPrevious is above 1 during them and during the recovery that follows.
// Hence the max RTT is measured in cruising, and excess delay is congestion in
// the other states. [C4-REF]
func (c *Controller) resetEra() {
	c.era = era{sequence: c.nextNumber, minRTT: math.MaxInt64}
	c.alphaPrevious = c.alpha
	if c.state == Cruising && c.cfg.CruisingMeasures {
		c.alphaPrevious = min(c.alpha, one)
	}
	c.foldECN()
}

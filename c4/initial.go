package c4

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

const (
	alphaInitial Coef = 2 * one

	// noGrowthEras in a row end initial.
	// [C4-SPEC] Section 4.2, Initial state
	noGrowthEras = 3

	// acksBeforeLoss must have come before losses can end initial, so that the
	// loss rate means something. [C4-SPEC] Section 4.2, Initial state
	acksBeforeLoss = 20

	// initialPacing is the lowest pacing rate in initial, 1,048,576 bit/s.
	// [C4-SPEC] Section 4.1, Setting pacing rate, congestion window and quantum
	initialPacing cc.Rate = 131_072
)

// initialState belongs to Initial.
type initialState struct {
	window   int64 // initial_cwnd, bytes
	noGrowth int   // nb_eras_no_increase
	acks     int   // acknowledgements, and losses above the threshold

	// restarted: high jitter has led back to initial before.
	restarted bool
	// settled and settledAt: the first recovery after initial has ended, and when.
	settled   bool
	settledAt time.Duration
}

// enterInitial begins initial anew, with what is known of the path.
func (c *Controller) enterInitial(cause cc.Cause) {
	c.setState(Initial, cause)
	if c.cfg.ReentrySmoothedRTT && c.smoothedRTT > 0 {
		c.setMaxRTT(c.smoothedRTT)
	}
	if c.cfg.ReentryByRate && c.nominalRate > 0 {
		c.out.Window = c.nominalRate.Over(c.rtt.nominalMax)
	}
	c.startInitial()
}

// startInitial sets the variables of initial.
// [C4-SPEC] Section 4.2.1, Reentering the initial state
func (c *Controller) startInitial() {
	c.alpha = alphaInitial
	c.initial.window = c.out.Window
	c.initial.noGrowth = 0
	c.initial.acks = 0
	c.initial.settled = false
	c.recovery.level = levelDefault
	c.resetEra()
	c.ecn.alpha = 0
	c.resetGrowth()
}

// initialOnAck grows the window like Reno, more slowly after each era in which
// the rate did not grow, and ends initial after the third such era.
//
//	initial_cwnd += nb_bytes_acknowledged >> (3 * nb_eras_no_increase)
//
// "omitting the eras for which the transmission was application limited"
// [C4-SPEC] Section 4.2, Initial state
func (c *Controller) initialOnAck(acked int64, eraEnded bool) {
	c.initial.acks++
	c.initial.window = min(c.initial.window+acked>>(3*c.initial.noGrowth), windowMax)
	if !eraEnded {
		return
	}
	if c.grown() != growingNone {
		c.initial.noGrowth = 0
	} else if c.growth.notLimited && c.nominalRate > 0 {
		c.initial.noGrowth++
	}
	c.resetEra()
	if c.initial.noGrowth >= noGrowthEras {
		c.exitInitial(cc.CauseNoGrowth)
		return
	}
	c.resetGrowth()
}

// initialOnDelay ends initial at an excess delay.
//
// "If the signal is due to delay or ECN, C4 will only exit the initial state if
// the nominal_rate did not increase in the last 2 eras."
// [C4-SPEC] Section 4.2, Initial state
func (c *Controller) initialOnDelay() {
	if c.rtt.excess > 0 && c.stagnant() {
		c.exitInitial(cc.CauseDelay)
	}
}

// initialOnMarks ends initial at too many CE marks, as initialOnDelay does, and
// reports whether it did. [C4-REF] asks for an excess delay as well.
func (c *Controller) initialOnMarks() bool {
	if !c.stagnant() || c.rtt.excess == 0 && c.cfg.InitialECNNeedsDelay {
		return false
	}
	return c.exitInitial(cc.CauseECN)
}

// stagnant: no growth in the last two eras, nor in this one so far; or in the
// last one, and the smoothed RTT tells of a queue that is there to stay.
func (c *Controller) stagnant() bool {
	if f := c.cfg.InitialDelaySmoothed; f > 0 && c.initial.noGrowth >= 1 &&
		c.smoothedRTT > f.time(min(c.rtt.runningMin, rttMax)) {
		return true
	}
	return c.initial.noGrowth >= 2 && c.nominalRate <= c.growth.oldRate
}

// initialOnLoss ends initial at too many losses, and reports whether it did.
//
// "If the signal is due to loss, C4 will only exit the initial state if more
// than 20 packets have been received."
// [C4-SPEC] Section 4.2, Initial state. [C4-REF] counts acknowledgements, and
// the losses themselves.
func (c *Controller) initialOnLoss() bool {
	c.initial.acks++
	return c.initial.acks > acksBeforeLoss && c.exitInitial(cc.CauseLoss)
}

// exitInitial takes half the window over the rate for the nominal max RTT and
// enters recovery, with a full round trip of data queued: the flow was sending
// at twice the rate. It does nothing, and says so, while no rate is known.
//
// "it can set the max RTT to the quotient of ssthresh by the final rate
// estimate" [C4-DESIGN] Building a robust initial estimator
//
// "The estimate of the backlog is set to 1 full RTT of data after the Initial
// phase" [C4-DESIGN] Draining the backlog
func (c *Controller) exitInitial(cause cc.Cause) bool {
	if c.nominalRate <= 0 {
		return false
	}
	c.setMaxRTT(c.nominalRate.TimeFor(c.initial.window / 2))
	c.initial.noGrowth = 0
	c.recovery.level = levelDefault
	c.queued(c.cfg.BacklogInitial)
	// What arrives in recovery must again exceed a push by two to count.
	c.resetGrowth()
	c.enterRecovery(cause)
	return true
}

// jitterRestartDue reports whether the path has turned out so jittery that
// initial, which knew only its first round trip, was left too early. Asked at the
// end of each era outside initial.
//
// "C4 will reenter the initial phase [...] if running_min_rtt <
// nominal_max_rtt*2/5, and if the variable last_initial_time is not zero and if
// current_time > last_initial_time + 1 second"
// [C4-DESIGN] Revisiting support for Wi-Fi
//
// [C4-REF] adds the two guards: a fast flow or a short path would suffer more
// from the repeated start than it gains.
func (c *Controller) jitterRestartDue() bool {
	if c.rtt.nominalMax <= c.cfg.RestartRTTMin || c.nominalRate >= c.cfg.RestartRateMax ||
		5*min(c.rtt.runningMin, rttMax) >= 2*c.rtt.nominalMax {
		return false
	}
	switch c.cfg.Restart {
	case RestartOnce:
		return !c.initial.restarted
	case RestartAfterPause:
		return c.initial.settled && c.now > c.initial.settledAt+c.cfg.RestartPause
	}
	return false
}

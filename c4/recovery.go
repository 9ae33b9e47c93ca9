package c4

import (
	"math"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// Probe levels. They count the growing cycles in a row: 0 after a cycle that
// ended by CE marks, 1 by default, 2 and 3 lead to pushing, more to initial.
// [C4-DESIGN] Adaptation to ECN/L4S, Cascade of Increases
const (
	levelECN     = 0
	levelDefault = 1
	levelMax     = 3
)

// recoveryState belongs to Recovery, and to the cycle that it closes.
type recoveryState struct {
	level       int  // probe level
	congestions int  // congested recoveries in a row
	marked      bool // CE marks were above the threshold in or before this recovery

	backlog   Coef // data queued by ourselves, in round trips at the nominal rate
	drainFlag bool // for DrainFlag

	// shortest is the shortest round trip since the last recovery ended;
	// math.MaxInt64 before the first sample.
	shortest time.Duration
}

// enterRecovery slows down for an era to drain and to judge.
// [C4-SPEC] Section 4.4, Recovery state
//
// "It is set to a quarter of the RTT of data after the pushing phase, because
// during that phase the pacing rate is 5/4 of the nominal rate."
// [C4-DESIGN] Draining the backlog
func (c *Controller) enterRecovery(cause cc.Cause) {
	if c.state == Pushing && (c.growth.notLimited || !c.cfg.BacklogNeedsData) {
		c.queued(c.cfg.BacklogPush)
	}
	if c.state == Cruising || c.state == Probing {
		c.boundBacklog()
	}
	c.recovery.marked = cause == cc.CauseECN
	c.setState(Recovery, cause)
	c.resetEra() // before alpha, see there
	c.alpha = c.recoveryAlpha()
}

// boundBacklog forgets what is not there any more: the queue was, at one time in
// the cycle, no longer than the shortest round trip tells.
func (c *Controller) boundBacklog() {
	r := &c.recovery
	if !c.cfg.BacklogByCycle || r.backlog == 0 || r.shortest > rttMax {
		return
	}
	floor := max(c.rtt.runningMin, 1)
	longer := clamp((r.shortest-floor)*time.Duration(one)/floor, 0, time.Duration(one))
	r.backlog = min(r.backlog, Coef(longer))
}

// recoveryAlpha chooses how far below the nominal rate to go.
//
// "if the backlog estimate is less than 1/16, set the pacing rate to 15/16th of
// the nominal rate; else if the backlog estimate is less than 1/8, set the
// pacing rate to 7/8th of the nominal rate; else set the pacing rate to 3/4th"
// [C4-DESIGN] Draining the backlog
func (c *Controller) recoveryAlpha() Coef {
	switch {
	case c.cfg.Draining == DrainFlag && c.recovery.drainFlag,
		c.cfg.Draining == DrainBacklog && c.recovery.backlog >= one/16 && c.recovery.backlog < one/8:
		return c.cfg.AlphaDrainShallow
	case c.cfg.Draining == DrainBacklog && c.recovery.backlog >= one/8:
		return c.cfg.AlphaDrainDeep
	}
	return c.cfg.AlphaRecovery
}

// prolongRecovery goes lower and lets the era begin anew when congestion is
// signalled in a recovery that is not draining already, and reports whether it
// did. After that alpha is lower, so it happens once. [C4-REF]
func (c *Controller) prolongRecovery(cause cc.Cause) bool {
	if cause == cc.CauseECN {
		c.recovery.marked = true
	}
	if !c.cfg.RecoveryExtension || c.alpha != c.cfg.AlphaRecovery {
		return false
	}
	c.alpha = c.cfg.AlphaDrainShallow
	c.era.sequence = c.nextNumber
	return true
}

// exitRecovery judges the cycle, corrects the nominal rate, and chooses the next
// state. Called at the end of the era.
func (c *Controller) exitRecovery() {
	if !c.initial.settled {
		c.initial.settled, c.initial.settledAt = true, c.now
	}
	grown := c.grown() != growingNone
	c.drained(grown)
	if grown {
		c.recovery.congestions = 0
		// Growth after resuming is only the seed being confirmed.
		if !c.recovery.marked && c.resuming.eras == 0 {
			c.recovery.level++
		}
	} else {
		c.noGrowth()
	}
	c.resuming.eras = 0
	if c.growth.notLimited || !c.cfg.TrimKeepsLimited {
		c.previousMaxRate = c.recentMaxRate
	}
	c.recentMaxRate = 0
	c.recovery.shortest = math.MaxInt64
	c.resetGrowth()
	c.rtt.excess = 0
	c.loss.rate = 0
	c.ecn.alpha = 0
	switch {
	case c.recovery.level > levelMax:
		c.enterInitial(cc.CauseGrowth)
	case c.recovery.level > levelDefault && !c.pushHasToWait():
		c.enterPushing()
	default:
		c.enterCruising()
	}
}

// pushHasToWait reports whether a push would begin without data to push with.
//
// "If it is [app limited], C4 will remain in cruising state until the
// application finally sends more data, and will only enter the pushing
// state when the last period was not application limited."
// [C4-DESIGN] Coordinated Pushing. [C4-REF] asks before probing only.
func (c *Controller) pushHasToWait() bool { return c.cfg.PushNeedsData && c.appLimited() }

// queued notes that the state being left has queued about that much.
func (c *Controller) queued(backlog Coef) {
	c.recovery.drainFlag = true
	if c.cfg.Draining != DrainBacklog {
		return
	}
	if shortest := c.rtt.runningMin; c.cfg.BacklogMeasured && shortest <= c.latestRTT {
		longer := min((c.latestRTT-shortest)*time.Duration(one)/max(shortest, 1), time.Duration(one))
		backlog = min(backlog, Coef(longer))
	}
	c.recovery.backlog = max(c.recovery.backlog, backlog)
}

// drained takes what this recovery has drained from the backlog.
//
// "At the end of the recovery phase, the backlog will be [reduced by] 1/16th,
// 1/8th, or 1/4th, depending of the reduction in the pacing rate -- or set to
// zero if the reduction would result in a negative value."
// [C4-DESIGN] Draining the backlog, with the words that it lacks
func (c *Controller) drained(grown bool) {
	r := &c.recovery
	r.drainFlag = false
	r.backlog = max(0, r.backlog-(one-c.alpha))
	if grown && c.cfg.BacklogClearOnGrowth {
		r.backlog = 0
	}
	if f := c.cfg.BacklogClearNearMin; f > 0 && c.era.maxRTT > 0 &&
		c.era.minRTT <= c.rtt.runningMin+f.time(min(c.rtt.runningMin, rttMax)) {
		r.backlog = 0
	}
}

// noGrowth draws the conclusions of a cycle without growth.
//
// Congestion in successive recoveries means that the path has become slower, and
// single reductions do not reach down fast enough: the rate falls to what was
// measured since. [C4-SPEC] Section 5.5.2, Reaction to persistent congestion
//
// Without congestion the rate may still be a little too high, see trim.
func (c *Controller) noGrowth() {
	r := &c.recovery
	if c.growth.notLimited {
		r.level = levelDefault
		if r.marked {
			r.level = levelECN
		}
	}
	if !c.growth.congested {
		r.congestions = 0
		c.trim()
		return
	}
	r.congestions++
	if r.congestions >= c.cfg.PersistentCount && c.recentMaxRate > 0 && c.nominalRate > c.recentMaxRate {
		c.lowerRate(c.recentMaxRate, cc.CausePersistent)
		if c.cfg.PersistentRestart {
			r.congestions = 0
		}
	}
}

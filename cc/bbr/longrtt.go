package bbr

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/cc/window"
)

// Startup needs three round trips without growth before it ends, at nearly three
// times the bandwidth. On a long path that is a lot of time and data, and slow
// start with HyStart does better. The draft has no such state.

const (
	renoRTT      = 100 * time.Millisecond // RTT for which the initial window is made
	satelliteRTT = 610 * time.Millisecond // longest RTT by which it is scaled
)

// checkLongPath enters slow start when the path turns out to be long, and raises
// the window to what is known to fit such a path.
func (c *Controller) checkLongPath(now time.Duration) {
	if (c.state == startup || c.state == startupResume) && c.rtt.Min > longRTT {
		c.setState(now, startupLongRTT, c.pacingGain, c.cwndGain, cc.CauseDelay)
		rtt := min(c.rtt.Min, satelliteRTT)
		c.cwnd = max(c.cwnd, int64(float64(c.initialWindow)*float64(rtt)/float64(renoRTT)))
	}
	if c.state == startupLongRTT {
		c.cwnd = max(c.cwnd, c.bdpSeed)
	}
}

// checkStartupLongRTT ends slow start when the RTT grows or marks arrive.
func (c *Controller) checkStartupLongRTT(now time.Duration, rs *sample) {
	c.checkLongPath(now)
	if c.state != startupLongRTT {
		return
	}
	if c.longPath.OnRTT(now, rs.rtt, c.packetTime()) {
		c.exitStartupLongRTT(now, cc.CauseDelay)
	} else if rs.ceEW > excessiveCE {
		c.exitStartupLongRTT(now, cc.CauseECN)
	}
}

func (c *Controller) exitStartupLongRTT(now time.Duration, why cc.Cause) {
	c.startRound()
	c.roundStart = true
	c.filledPipe = true
	c.enterDrain(now, why)
	c.checkDrain(now)
}

// growLongRTT is slow start: the window grows by what is acknowledged while it
// is what limits, and to half of what the peak rate or the seed would fill.
func (c *Controller) growLongRTT(rs *sample, peak cc.Rate) {
	if c.sender.Blocked() && !c.sender.AppLimited() {
		c.cwnd += rs.acked
	}
	c.cwnd = max(c.cwnd, max(peak.Over(c.minRTT.value), c.bdpSeed)/2)
}

// packetTime is how long the pacer takes for one packet.
func (c *Controller) packetTime() time.Duration {
	rate, _ := window.Pace(c.cwnd, c.mtu, c.rtt.Smoothed, true)
	if rate == 0 {
		return time.Microsecond
	}
	return min(rate.TimeFor(c.mtu), c.rtt.Smoothed)
}

package bbr

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// recoveryState is that of loss recovery. [BBR] Modulating cwnd in Loss Recovery
type recoveryState struct {
	active    bool
	pto       bool  // begun by a probe timeout
	conserve  bool  // packet conservation: send as much as is delivered
	until     int64 // the acknowledgement of this number ends it
	delivered int64 // bytes delivered at its last start or end
	priorCwnd int64
}

// checkRecovery begins and ends recovery.
func (c *Controller) checkRecovery(now time.Duration, rs *sample) {
	switch {
	case c.recovery.active:
		if c.sender.AckedTo() > c.recovery.until {
			c.exitRecovery(now)
		}
	case c.isInflightTooHigh(rs):
		c.enterFastRecovery(now, rs)
	}
}

// enterFastRecovery sends no more than is delivered, for a round trip.
func (c *Controller) enterFastRecovery(now time.Duration, rs *sample) {
	c.noteCongestion(now, cc.CauseLoss)
	c.saveCwnd()
	c.cwnd = c.inFlight + max(rs.acked, c.mtu)
	c.recovery.active, c.recovery.pto, c.recovery.conserve = true, false, true
	c.recovery.until = c.sender.Next()
	c.recovery.delivered = c.delivered
}

// enterPTORecovery waits, with one packet more in flight, for the path to come
// back. The BDP is remembered for when it does.
func (c *Controller) enterPTORecovery(now time.Duration, l cc.Loss) {
	if !c.recovery.active {
		c.saveCwnd()
		c.recovery.active = true
	}
	if c.recovery.pto {
		return
	}
	c.noteCongestion(now, cc.CausePTO)
	bw := c.bw
	if bw == 0 {
		bw = c.maxBW
	}
	if bw > 0 && c.minRTT.value != infinite {
		c.bdpSeed = max(c.bdpSeed, c.inflight(1, bw))
	}
	// l.InFlight no longer counts the packet.
	c.cwnd = l.InFlight + l.Bytes + c.mtu
	c.recovery.pto = true
	c.recovery.until = l.Number
	c.recovery.delivered = c.delivered
}

// exitRecovery restores the window. After a probe timeout the path was down, and
// may have changed.
func (c *Controller) exitRecovery(now time.Duration) {
	if !c.recovery.active {
		return
	}
	c.restoreCwnd()
	pto := c.recovery.pto
	c.recovery.until = infinite
	c.recovery.conserve = false
	c.recovery.active, c.recovery.pto = false, false
	switch {
	case pto:
		c.reenterStartup(now, cc.CausePTO)
	case c.state == probeBWUp:
		c.startProbeBWDown(now, cc.CauseLoss)
	}
	c.recovery.delivered = c.delivered
	c.minRTT.refreshed(now)
}

// saveCwnd remembers the window before it is made small.
func (c *Controller) saveCwnd() {
	if !c.recovery.active && c.state != probeRTT {
		c.recovery.priorCwnd = c.cwnd
		return
	}
	c.recovery.priorCwnd = max(c.recovery.priorCwnd, c.cwnd)
}

func (c *Controller) restoreCwnd() { c.cwnd = max(c.cwnd, c.recovery.priorCwnd) }

func (c *Controller) noteCongestion(now time.Duration, why cc.Cause) {
	c.events.Add(cc.Event{At: now, Kind: cc.EventCongestion, Cause: why, Rate: c.bw, NewRate: c.bw})
}

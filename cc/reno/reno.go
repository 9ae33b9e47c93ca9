package reno

import (
	"math"
	"time"

	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/cc/window"
)

// Constants of RFC 9002 Section 7.2 and Appendix B.1.
const (
	minimumWindow = 2 // kMinimumWindow, packets

	// kLossReductionFactor is 1/2.
	lossDivisor = 2
)

// States, RFC 9002 Section 7.3.
const (
	slowStart           = "slow_start"
	recovery            = "recovery"
	congestionAvoidance = "congestion_avoidance"
)

// Controller is a NewReno controller. It implements [cc.Controller] and
// [cc.Inspector].
type Controller struct {
	window.Base

	mtu      int64
	window   int64 // congestion_window
	ssthresh int64 // math.MaxInt64 until the first congestion event
	partial  int64 // acknowledged bytes times mtu, less than one window's worth

	period window.Recovery
}

var (
	_ cc.Controller = (*Controller)(nil)
	_ cc.Inspector  = (*Controller)(nil)
)

// New returns a controller in slow start.
func New(cfg cc.Config) *Controller {
	cfg = cfg.WithDefaults()
	return &Controller{
		mtu:      cfg.MTU,
		window:   cfg.InitialWindow,
		ssthresh: math.MaxInt64,
		Base:     window.NewBase(slowStart),
	}
}

// Control implements [cc.Controller].
func (c *Controller) Control() cc.Control {
	first := c.ssthresh == math.MaxInt64
	rate, quantum := window.Pace(c.window, c.mtu, c.RTT.Smoothed, c.window < c.ssthresh)
	return cc.Control{
		PacingRate: rate,
		Window:     c.window,
		Quantum:    quantum,
		SlowStart:  first,
		ECN:        cc.ECT0,
	}
}

// Vars implements [cc.Inspector].
func (c *Controller) Vars(dst []cc.Var) []cc.Var {
	return append(dst,
		cc.Var{Name: "congestion_window", Value: float64(c.window)},
		cc.Var{Name: "ssthresh", Value: float64(c.ssthresh)},
	)
}

// OnECN implements [cc.Controller].
//
// "If the ECN-CE counter reported by the peer has increased, this could be a
// new congestion event."
// RFC 9002 Appendix B.7, Process ECN Information
func (c *Controller) OnECN(now time.Duration, e cc.ECN) {
	if !c.Marked(e) {
		return
	}
	c.onCongestion(now, e.NewestSentAt, cc.CauseECN)
}

// OnLoss implements [cc.Controller]. A probe timeout alone says nothing about
// congestion:
//
// "a PTO timer expiration event does not indicate packet loss"
// RFC 9002 Section 6.2, Probe Timeout
func (c *Controller) OnLoss(now time.Duration, l cc.Loss) {
	if l.Persistent {
		c.onPersistent(now)
		return
	}
	if l.Reason == cc.LossPTO || l.Handshake {
		return
	}
	c.onCongestion(now, l.SentAt, cc.CauseLoss)
}

// OnAck implements [cc.Controller].
// RFC 9002 Appendix B.5, On Packet Acknowledgment
func (c *Controller) OnAck(now time.Duration, a *cc.Ack) {
	c.Sender.OnAck(now, a, c.window)
	if a.Handshake {
		return
	}
	if c.State() == recovery && !c.period.In(a.Newest.SentAt) {
		c.SetState(now, congestionAvoidance, cc.CauseRound)
	}
	// "Do not increase congestion_window if application limited or flow control
	// limited."
	if c.Sender.AppLimited() {
		return
	}
	for _, p := range a.Packets {
		// "Do not increase congestion window in recovery period."
		if c.period.In(p.SentAt) {
			continue
		}
		c.grow(now, p.Bytes)
	}
}

// OnMTU implements [cc.Controller].
//
// "If the maximum datagram size changes during the connection, the initial
// congestion window SHOULD be recalculated with the new size." Ours is fixed.
// RFC 9002 Section 7.2, Initial and Minimum Congestion Window
func (c *Controller) OnMTU(_ time.Duration, mtu int64) {
	if mtu > 0 {
		c.mtu = mtu
		c.window = max(c.window, minimumWindow*mtu)
	}
}

// grow adds for n acknowledged bytes.
func (c *Controller) grow(now time.Duration, n int64) {
	if c.window < c.ssthresh {
		c.window += n
		if c.window >= c.ssthresh && c.State() == slowStart {
			c.SetState(now, congestionAvoidance, cc.CauseRound)
		}
		return
	}
	// "limit the increase to the congestion window to at most one maximum
	// datagram size for each congestion window that is acknowledged"
	c.partial += n * c.mtu
	c.window += c.partial / c.window
	c.partial %= c.window
}

// onCongestion halves the window, once per recovery period.
// RFC 9002 Appendix B.6, On New Congestion Event
func (c *Controller) onCongestion(now, sentAt time.Duration, cause cc.Cause) {
	if !c.period.Enter(now, sentAt) {
		return
	}
	before := c.window
	c.ssthresh = max(c.window/lossDivisor, minimumWindow*c.mtu)
	c.window = c.ssthresh
	c.partial = 0
	c.NoteCut(now, before, c.window, cause)
	c.SetState(now, recovery, cause)
}

// onPersistent collapses the window.
//
// "When persistent congestion is declared, the sender's congestion window MUST
// be reduced to the minimum congestion window (kMinimumWindow), similar to a TCP
// sender's response on an RTO."
// RFC 9002 Section 7.6.2, Establishing Persistent Congestion
func (c *Controller) onPersistent(now time.Duration) {
	before := c.window
	if c.ssthresh == math.MaxInt64 {
		c.ssthresh = max(c.window/lossDivisor, minimumWindow*c.mtu)
	}
	c.window = minimumWindow * c.mtu
	c.partial = 0
	c.period.Forget()
	c.NoteCut(now, before, c.window, cc.CausePersistent)
	c.SetState(now, slowStart, cc.CausePersistent)
}

package vegas

import (
	"math"
	"time"

	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/cc/window"
)

// Thresholds of diff, packets.
const (
	alpha = 2 // fewer in the queue: the window grows
	beta  = 4 // more: it shrinks
	gamma = 1 // more: slow start is over
)

const (
	minimumWindow = 2 // packets
	lossDivisor   = 2
)

// States.
const (
	slowStart           = "slow_start"
	recovery            = "recovery"
	congestionAvoidance = "congestion_avoidance"
)

const infinite = time.Duration(math.MaxInt64)

// Controller is a Vegas controller. It implements [cc.Controller] and
// [cc.Inspector].
type Controller struct {
	window.Base

	mtu      int64
	window   int64
	first    bool // no congestion seen yet
	baseRTT  time.Duration
	roundRTT time.Duration // lowest of the round, infinite if there is none
	roundEnd int64         // number whose acknowledgement ends the round
	grow     bool          // slow start grows in this round
	limited  bool          // the application held the sender back in this round
	diff     float64       // of the last round

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
		Base: window.NewBase(slowStart), mtu: cfg.MTU, window: cfg.InitialWindow, first: true, grow: true,
		baseRTT: infinite, roundRTT: infinite,
	}
}

// Control implements [cc.Controller].
func (c *Controller) Control() cc.Control {
	rate, quantum := window.Pace(c.window, c.mtu, c.RTT.Smoothed, c.State() == slowStart)
	return cc.Control{PacingRate: rate, Window: c.window, Quantum: quantum, SlowStart: c.first, ECN: cc.ECT0}
}

// Vars implements [cc.Inspector].
func (c *Controller) Vars(dst []cc.Var) []cc.Var {
	base := c.baseRTT
	if base == infinite {
		base = 0
	}
	return append(dst,
		cc.Var{Name: "cwnd", Value: float64(c.window)},
		cc.Var{Name: "base_rtt", Value: float64(base.Microseconds())},
		cc.Var{Name: "diff", Value: c.diff},
	)
}

// OnECN implements [cc.Controller].
func (c *Controller) OnECN(now time.Duration, e cc.ECN) {
	if !c.Marked(e) {
		return
	}
	if !e.Handshake {
		c.onCongestion(now, e.NewestSentAt, cc.CauseECN)
	}
}

// OnRTT implements [cc.Controller].
func (c *Controller) OnRTT(_ time.Duration, r cc.RTT) {
	c.RTT = r
	c.baseRTT = min(c.baseRTT, max(r.Latest, 1))
	if !r.Handshake {
		c.roundRTT = min(c.roundRTT, max(r.Latest, 1))
	}
}

// OnLoss implements [cc.Controller].
func (c *Controller) OnLoss(now time.Duration, l cc.Loss) {
	switch {
	case l.Persistent:
		c.collapse(now)
	case l.Reason == cc.LossPTO || l.Handshake:
	default:
		c.onCongestion(now, l.SentAt, cc.CauseLoss)
	}
}

// OnAck implements [cc.Controller].
func (c *Controller) OnAck(now time.Duration, a *cc.Ack) {
	c.Sender.OnAck(now, a, c.window)
	if a.Handshake {
		return
	}
	if c.State() == recovery && !c.period.In(a.Newest.SentAt) {
		c.SetState(now, congestionAvoidance, cc.CauseRound)
	}
	c.limited = c.limited || c.Sender.AppLimited()
	if c.State() == slowStart && c.grow && !c.Sender.AppLimited() {
		c.window += a.Bytes
	}
	if c.Sender.AckedTo() > c.roundEnd {
		c.endRound(now)
	}
}

// OnMTU implements [cc.Controller].
func (c *Controller) OnMTU(_ time.Duration, mtu int64) {
	if mtu > 0 {
		c.mtu = mtu
		c.window = max(c.window, minimumWindow*mtu)
	}
}

// endRound compares expected and actual rate of the round, and adjusts.
func (c *Controller) endRound(now time.Duration) {
	rtt, limited := c.roundRTT, c.limited
	c.roundEnd = c.Sender.Next()
	c.roundRTT, c.limited = infinite, false
	if rtt == infinite || c.State() == recovery {
		return
	}
	queued := float64(rtt-c.baseRTT) / float64(rtt)
	c.diff = float64(c.window) * queued / float64(c.mtu)
	switch {
	case c.State() == slowStart && c.diff > gamma:
		// What the path holds without a queue, and a packet more.
		target := c.window - int64(queued*float64(c.window)) + c.mtu
		c.window = max(min(c.window, target), minimumWindow*c.mtu)
		c.first = false
		c.SetState(now, congestionAvoidance, cc.CauseDelay)
	case c.State() == slowStart:
		c.grow = !c.grow
	case limited: // says nothing about the path
	case c.diff < alpha:
		c.window += c.mtu
	case c.diff > beta:
		c.window = max(c.window-c.mtu, minimumWindow*c.mtu)
	}
}

// onCongestion halves the window, once per recovery period.
func (c *Controller) onCongestion(now, sentAt time.Duration, cause cc.Cause) {
	if !c.period.Enter(now, sentAt) {
		return
	}
	c.cut(now, max(c.window/lossDivisor, minimumWindow*c.mtu), cause)
	c.SetState(now, recovery, cause)
}

// collapse answers persistent congestion.
func (c *Controller) collapse(now time.Duration) {
	c.period.Forget()
	c.grow = true
	c.cut(now, minimumWindow*c.mtu, cc.CausePersistent)
	c.SetState(now, slowStart, cc.CausePersistent)
}

func (c *Controller) cut(now time.Duration, to int64, cause cc.Cause) {
	before := c.window
	c.window = to
	c.first = false
	c.NoteCut(now, before, to, cause)
}

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
	mtu      int64
	window   int64
	state    string
	first    bool // no congestion seen yet
	baseRTT  time.Duration
	roundRTT time.Duration // lowest of the round, infinite if there is none
	roundEnd int64         // number whose acknowledgement ends the round
	grow     bool          // slow start grows in this round
	limited  bool          // the application held the sender back in this round
	diff     float64       // of the last round
	lastCE   int64

	sender window.Sender
	period window.Recovery
	rtt    cc.RTT
	events cc.EventBuffer
}

var (
	_ cc.Controller = (*Controller)(nil)
	_ cc.Inspector  = (*Controller)(nil)
)

// New returns a controller in slow start.
func New(cfg cc.Config) *Controller {
	cfg = cfg.WithDefaults()
	return &Controller{
		mtu: cfg.MTU, window: cfg.InitialWindow, state: slowStart, first: true, grow: true,
		baseRTT: infinite, roundRTT: infinite,
	}
}

// Control implements [cc.Controller].
func (c *Controller) Control() cc.Control {
	rate, quantum := window.Pace(c.window, c.mtu, c.rtt.Smoothed, c.state == slowStart)
	return cc.Control{PacingRate: rate, Window: c.window, Quantum: quantum, SlowStart: c.first, ECN: cc.ECT0}
}

// State implements [cc.Controller].
func (c *Controller) State() string { return c.state }

// Events implements [cc.Controller].
func (c *Controller) Events(dst []cc.Event) []cc.Event { return c.events.Drain(dst) }

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

// OnPacketSent implements [cc.Controller].
func (c *Controller) OnPacketSent(now time.Duration, p cc.Packet) { c.sender.OnPacketSent(now, p) }

// OnAppLimited implements [cc.Controller].
func (c *Controller) OnAppLimited(now time.Duration) { c.sender.OnAppLimited(now) }

// OnECN implements [cc.Controller].
func (c *Controller) OnECN(now time.Duration, e cc.ECN) {
	if e.CE <= c.lastCE {
		return
	}
	c.lastCE = e.CE
	if !e.Handshake {
		c.onCongestion(now, e.NewestSentAt, cc.CauseECN)
	}
}

// OnRTT implements [cc.Controller].
func (c *Controller) OnRTT(_ time.Duration, r cc.RTT) {
	c.rtt = r
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

// OnSpuriousLoss implements [cc.Controller]. Vegas has no undo.
func (c *Controller) OnSpuriousLoss(time.Duration, cc.Loss) {}

// OnAck implements [cc.Controller].
func (c *Controller) OnAck(now time.Duration, a *cc.Ack) {
	c.sender.OnAck(now, a, c.window)
	if a.Handshake {
		return
	}
	if c.state == recovery && !c.period.In(a.Newest.SentAt) {
		c.setState(now, congestionAvoidance, cc.CauseRound)
	}
	c.limited = c.limited || c.sender.AppLimited()
	if c.state == slowStart && c.grow && !c.sender.AppLimited() {
		c.window += a.Bytes
	}
	if c.sender.AckedTo() > c.roundEnd {
		c.endRound(now)
	}
}

// OnPTO implements [cc.Controller].
func (c *Controller) OnPTO(time.Duration, int) {}

// OnMTU implements [cc.Controller].
func (c *Controller) OnMTU(_ time.Duration, mtu int64) {
	if mtu > 0 {
		c.mtu = mtu
		c.window = max(c.window, minimumWindow*mtu)
	}
}

// OnSeed implements [cc.Controller]. Vegas has no careful resume.
func (c *Controller) OnSeed(time.Duration, cc.Seed) {}

// endRound compares expected and actual rate of the round, and adjusts.
func (c *Controller) endRound(now time.Duration) {
	rtt, limited := c.roundRTT, c.limited
	c.roundEnd = c.sender.Next()
	c.roundRTT, c.limited = infinite, false
	if rtt == infinite || c.state == recovery {
		return
	}
	queued := float64(rtt-c.baseRTT) / float64(rtt)
	c.diff = float64(c.window) * queued / float64(c.mtu)
	switch {
	case c.state == slowStart && c.diff > gamma:
		// What the path holds without a queue, and a packet more.
		target := c.window - int64(queued*float64(c.window)) + c.mtu
		c.window = max(min(c.window, target), minimumWindow*c.mtu)
		c.first = false
		c.setState(now, congestionAvoidance, cc.CauseDelay)
	case c.state == slowStart:
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
	c.setState(now, recovery, cause)
}

// collapse answers persistent congestion.
func (c *Controller) collapse(now time.Duration) {
	c.period.Forget()
	c.grow = true
	c.cut(now, minimumWindow*c.mtu, cc.CausePersistent)
	c.setState(now, slowStart, cc.CausePersistent)
}

func (c *Controller) cut(now time.Duration, to int64, cause cc.Cause) {
	before := c.window
	c.window = to
	c.first = false
	c.events.Add(cc.Event{
		At: now, Kind: cc.EventCongestion, Cause: cause,
		Rate: cc.RateOf(before, c.rtt.Smoothed), NewRate: cc.RateOf(to, c.rtt.Smoothed),
	})
}

func (c *Controller) setState(now time.Duration, to string, cause cc.Cause) {
	if c.state == to {
		return
	}
	c.events.Add(cc.Event{At: now, Kind: cc.EventState, Cause: cause, From: c.state, To: to})
	c.state = to
}

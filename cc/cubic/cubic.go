package cubic

import (
	"math"
	"time"

	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/cc/hystart"
	"github.com/moq-c4/moq-c4/cc/window"
)

const (
	// beta is beta_cubic: what a congestion event leaves of the window, and
	// what fast convergence leaves of W_max.
	beta = 7.0 / 8

	// undoThreshold is the part of W_max that becomes ssthresh when a
	// congestion event turns out spurious.
	undoThreshold = 3.0 / 4

	// minimumWindow is the window after a timeout, bytes.
	minimumWindow = 2 * 1536

	// shortPath and longPath bound the correction of the window at the end of
	// slow start: up to shortPath all data of the last round trip counts as
	// excess, on longer paths less and less of it, from longPath on no less.
	shortPath = 100 * time.Millisecond
	longPath  = 610 * time.Millisecond
)

// noThreshold is ssthresh before the first congestion event.
const noThreshold = math.MaxInt64

// States.
const (
	slowStart           = "slow_start"
	congestionAvoidance = "congestion_avoidance"
)

// Controller is the CUBIC of the comparison. It implements [cc.Controller] and
// [cc.Inspector].
type Controller struct {
	window.Base

	mtu      int64
	window   int64 // cwnd
	ssthresh int64

	curve    curve
	wLastMax float64 // W_max of the event before, packets; for fast convergence
	wReno    float64 // W_est, bytes

	// recoveryEnd is the number of the first packet sent after the last
	// congestion event; losses of earlier ones belong to that event.
	recoveryEnd int64
	undo        undo

	delay  hystart.Delay
	losses hystart.Loss
	seed   cc.Seed
}

// undo is what a congestion event changed.
type undo struct {
	state    string
	epoch    time.Duration
	window   int64
	ssthresh int64
}

var (
	_ cc.Controller = (*Controller)(nil)
	_ cc.Inspector  = (*Controller)(nil)
)

// New returns a controller in slow start.
func New(cfg cc.Config) *Controller {
	cfg = cfg.WithDefaults()
	c := &Controller{
		mtu:      cfg.MTU,
		window:   cfg.InitialWindow,
		ssthresh: noThreshold,
		Base:     window.NewBase(slowStart),
		wLastMax: math.Inf(1),
		wReno:    float64(cfg.InitialWindow),
	}
	c.curve.wMax = math.Inf(1)
	c.undo = undo{state: slowStart, window: c.window, ssthresh: noThreshold}
	return c
}

// Control implements [cc.Controller].
func (c *Controller) Control() cc.Control {
	first := c.firstSlowStart()
	rate, quantum := window.Pace(c.window, c.mtu, c.RTT.Smoothed, first)
	return cc.Control{
		PacingRate: rate,
		Window:     c.bound(),
		Quantum:    quantum,
		SlowStart:  first,
		ECN:        cc.ECT0,
	}
}

// bound is what limits the bytes in flight: the reference sends a packet while
// as much as the window is in flight.
func (c *Controller) bound() int64 { return c.window + 1 }

// Vars implements [cc.Inspector].
func (c *Controller) Vars(dst []cc.Var) []cc.Var {
	return append(dst,
		cc.Var{Name: "cwnd", Value: float64(c.window)},
		cc.Var{Name: "ssthresh", Value: float64(c.ssthresh)},
		cc.Var{Name: "w_max", Value: c.curve.wMax * float64(c.mtu)},
		cc.Var{Name: "w_est", Value: c.wReno},
		cc.Var{Name: "k", Value: float64(c.curve.k.Microseconds())},
		cc.Var{Name: "t_epoch", Value: float64(c.curve.epoch.Microseconds())},
	)
}

// OnECN implements [cc.Controller]. A mark counts like heavy loss.
func (c *Controller) OnECN(now time.Duration, e cc.ECN) {
	if !c.Marked(e) {
		return
	}
	if !e.Handshake && c.newEvent(now, e.Newest) {
		c.reduce(now, cc.CauseECN)
	}
}

// OnRTT implements [cc.Controller].
func (c *Controller) OnRTT(now time.Duration, r cc.RTT) {
	c.RTT = r
	c.trySeed(now)
	if c.firstSlowStart() && c.delay.OnRTT(now, r.Latest, c.packetTime()) {
		c.leaveSlowStart(now)
	}
}

// OnLoss implements [cc.Controller].
func (c *Controller) OnLoss(now time.Duration, l cc.Loss) {
	if l.Handshake {
		return
	}
	if c.State() == congestionAvoidance && l.Number < c.recoveryEnd {
		return
	}
	rate, fresh := c.losses.OnLoss(l.Number)
	pto := l.Reason == cc.LossPTO
	if !fresh || (!pto && rate <= hystart.HeavyLoss) || !c.newEvent(now, l.Number) {
		return
	}
	if pto {
		c.reduce(now, cc.CausePTO)
		return
	}
	c.reduce(now, cc.CauseLoss)
}

// OnSpuriousLoss implements [cc.Controller].
// RFC 9438 Section 4.9, Spurious Congestion Events
func (c *Controller) OnSpuriousLoss(now time.Duration, l cc.Loss) {
	if c.ssthresh == noThreshold || l.Handshake {
		return
	}
	if c.undo.state == slowStart {
		c.window = c.undo.window
		c.ssthresh = c.undo.ssthresh
		c.wReno = float64(c.window)
		c.curve.wMax = c.wLastMax
		c.curve.epoch = c.undo.epoch
	} else {
		c.curve.from(c.undo.epoch, beta*c.wLastMax, c.wLastMax)
		c.window = c.bytes(c.curve.at(now))
		c.wReno = float64(c.window)
		c.ssthresh = c.bytes(undoThreshold * c.wLastMax)
	}
	c.SetState(now, c.undo.state, cc.CauseNone)
}

// OnAck implements [cc.Controller].
func (c *Controller) OnAck(now time.Duration, a *cc.Ack) {
	c.Sender.OnAck(now, a, c.bound())
	switch {
	case a.Handshake:
	case c.State() == slowStart:
		c.growSlowStart(now, a)
	case !c.appLimited(a):
		c.growAvoidance(now, a)
	}
	c.Sender.OnControl(c.Control(), c.mtu, c.RTT.Smoothed)
}

// OnMTU implements [cc.Controller].
func (c *Controller) OnMTU(_ time.Duration, mtu int64) {
	if mtu > 0 {
		c.mtu = mtu
	}
}

// OnSeed implements [cc.Controller].
func (c *Controller) OnSeed(now time.Duration, s cc.Seed) {
	c.seed = s
	c.trySeed(now)
}

// firstSlowStart reports whether no congestion has been seen yet.
func (c *Controller) firstSlowStart() bool {
	return c.State() == slowStart && c.ssthresh == noThreshold
}

// appLimited reports whether an ACK says nothing about the window, because the
// application or, at the start, the handshake had nothing more to send.
func (c *Controller) appLimited(a *cc.Ack) bool {
	return c.Sender.AppLimited() || a.Sample.Stamp.AckedAt == 0
}

// growSlowStart takes half of what the peak rate would fill, which the path has
// carried for a moment at least, and adds what is acknowledged as long as the
// window is what holds the sender back.
func (c *Controller) growSlowStart(now time.Duration, a *cc.Ack) {
	c.window = max(c.window, a.Sample.Peak.Over(c.RTT.Smoothed)/2)
	if c.appLimited(a) {
		return
	}
	if c.Sender.Blocked() {
		c.window += a.Bytes
	}
	if c.window >= c.ssthresh {
		c.wReno = float64(c.window) / 2
		c.enterAvoidance(now, cc.CauseRound)
	}
}

// growAvoidance follows the larger of the curve and Reno's window.
// RFC 9438 Section 4.3, Reno-Friendly Region
func (c *Controller) growAvoidance(now time.Duration, a *cc.Ack) {
	c.curve.epoch = max(c.curve.epoch, c.Sender.DryAt())
	c.wReno += float64(a.Bytes) * float64(c.mtu) / c.wReno
	c.window = max(c.bytes(c.curve.at(now)), int64(c.wReno))
}

// newEvent reports whether a signal about packet number starts a new congestion
// event. In slow start a round trip must have passed since the last one, or its
// packets be acknowledged.
func (c *Controller) newEvent(now time.Duration, number int64) bool {
	if c.State() == congestionAvoidance {
		return number >= c.recoveryEnd
	}
	return now-c.curve.epoch > c.RTT.Smoothed || c.recoveryEnd < c.Sender.AckedTo()
}

// reduce answers a congestion event.
// RFC 9438 Section 4.6, Multiplicative Decrease, and 4.7, Fast Convergence
func (c *Controller) reduce(now time.Duration, cause cc.Cause) {
	before := c.window
	c.recoveryEnd = c.Sender.Next()
	c.undo = undo{state: c.State(), epoch: c.curve.epoch, window: c.window, ssthresh: c.ssthresh}

	w := c.packets(c.window)
	wMax := w
	if w < c.wLastMax {
		wMax = w * beta
	}
	c.wLastMax = w
	c.curve.wMax = wMax
	c.ssthresh = c.bytes(wMax * beta)

	switch {
	case c.ssthresh < minimumWindow:
		// Worse than what slow start begins with: begin anew.
		c.ssthresh = noThreshold
		c.curve.epoch = now
		c.wReno = minimumWindow
		c.window = minimumWindow
		c.SetState(now, slowStart, cause)
	case cause == cc.CausePTO:
		// RFC 9438 Section 4.8, Timeout
		c.curve.epoch = now
		c.window = minimumWindow
		c.SetState(now, slowStart, cause)
	default:
		c.undo.epoch = now
		c.enterAvoidance(now, cause)
		c.wReno = float64(c.window) / 2
		c.window = c.bytes(c.curve.at(now))
	}
	c.NoteCut(now, before, c.window, cause)
}

// leaveSlowStart ends the first slow start because the queue grows. What was
// sent since the packet that showed it is excess; the rest is where the curve's
// plateau is set, and the search for more starts at once from there.
func (c *Controller) leaveSlowStart(now time.Duration) {
	if base := c.delay.BaseLine(); base > shortPath {
		kept := shortPath
		if base > longPath {
			kept = longPath
		}
		plain := int64(float64(kept) / float64(base) * float64(c.window))
		c.window -= (c.window - plain) / 2
	} else {
		c.window /= 2
	}
	c.ssthresh = c.window
	c.wLastMax = c.packets(c.window)
	c.reduce(now, cc.CauseDelay)
	c.curve.epoch = now - c.curve.k
	if c.curve.epoch < 0 {
		c.curve.epoch, c.curve.k = 0, now
	}
}

// trySeed starts from what an earlier connection knew, once there is an RTT to
// compare with.
func (c *Controller) trySeed(now time.Duration) {
	if c.seed.Window == 0 || c.RTT.Smoothed == 0 {
		return
	}
	s := c.seed
	c.seed = cc.Seed{}
	if !s.Fits(c.RTT.Latest) || !c.firstSlowStart() {
		return
	}
	c.window = max(c.window, s.Window)
	c.ssthresh = s.Window
	c.curve.wMax = c.packets(c.window)
	c.wLastMax = c.curve.wMax
	c.wReno = float64(c.window)
	c.enterAvoidance(now, cc.CauseSeed)
}

// enterAvoidance starts the curve at beta times its plateau.
func (c *Controller) enterAvoidance(now time.Duration, cause cc.Cause) {
	c.curve.from(now, beta*c.curve.wMax, c.curve.wMax)
	c.SetState(now, congestionAvoidance, cause)
}

// packetTime is how long the pacer takes for one packet.
func (c *Controller) packetTime() time.Duration {
	rate, _ := window.Pace(c.window, c.mtu, c.RTT.Smoothed, true)
	if rate == 0 {
		return time.Microsecond
	}
	return min(rate.TimeFor(c.mtu), c.RTT.Smoothed)
}

func (c *Controller) packets(n int64) float64 { return float64(n) / float64(c.mtu) }

// bytes returns w packets in bytes; the curve of a tiny window starts below 0.
func (c *Controller) bytes(w float64) int64 {
	return int64(min(max(w*float64(c.mtu), 0), maxWindow))
}

// maxWindow bounds windows, bytes, far above any real path.
const maxWindow = 1 << 40

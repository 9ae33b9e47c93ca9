package cubic

import (
	"math"
	"time"

	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/cc/hystart"
	"github.com/moq-c4/moq-c4/cc/window"
)

const (
	// betaRFC is beta_cubic.
	// "The parameter beta_cubic SHOULD be set to 0.7"
	// RFC 9438 Section 4.6, Multiplicative Decrease
	betaRFC = 0.7

	// alphaRFC is alpha_cubic, which grows to Reno's average window.
	// RFC 9438 Section 4.3, Reno-Friendly Region
	alphaRFC = 3 * (1 - betaRFC) / (1 + betaRFC)

	// targetMax bounds the growth over a round trip: target <= 1.5 * cwnd.
	// RFC 9438 Section 4.2, Window Increase Function
	targetMax = 1.5

	windowMin = 2 // packets
)

// recovery is the state between a congestion event and the acknowledgement of a
// packet sent after it.
const recovery = "recovery"

// RFC9438 is CUBIC as the RFC has it. It implements [cc.Controller] and
// [cc.Inspector].
type RFC9438 struct {
	window.Base

	mtu  float64
	path pathState

	saved  undoState
	slow   hystart.PlusPlus
	period window.Recovery
	ackAt  time.Duration // of the last ACK
}

// pathState is what CUBIC knows of the path, windows in packets as in the RFC.
// RFC 9438 Section 4.1.2, Variables of Interest
type pathState struct {
	cwnd      float64
	ssthresh  float64
	curve     curve
	wMax      float64 // W_max, 0 if undefined
	wEst      float64 // W_est
	cwndPrior float64 // cwnd_prior
}

// undoState is what a congestion event replaced.
// RFC 9438 Section 4.9.2, Spurious Loss Detected by Acknowledgements
type undoState struct {
	path   pathState
	losses int   // of the event, less those found spurious
	before int64 // the event is about packets below this number
}

var (
	_ cc.Controller = (*RFC9438)(nil)
	_ cc.Inspector  = (*RFC9438)(nil)
)

// NewRFC9438 returns a controller in slow start.
func NewRFC9438(cfg cc.Config) *RFC9438 {
	cfg = cfg.WithDefaults()
	return &RFC9438{
		mtu: float64(cfg.MTU),
		path: pathState{
			cwnd:     float64(cfg.InitialWindow) / float64(cfg.MTU),
			ssthresh: math.Inf(1),
		},
		Base: window.NewBase(slowStart),
	}
}

// Control implements [cc.Controller].
func (c *RFC9438) Control() cc.Control {
	w := c.window()
	rate, quantum := window.Pace(w, int64(c.mtu), c.RTT.Smoothed, c.path.cwnd < c.path.ssthresh)
	return cc.Control{
		PacingRate: rate,
		Window:     w,
		Quantum:    quantum,
		SlowStart:  math.IsInf(c.path.ssthresh, 1),
		ECN:        cc.ECT0,
	}
}

// Vars implements [cc.Inspector].
func (c *RFC9438) Vars(dst []cc.Var) []cc.Var {
	return append(dst,
		cc.Var{Name: "cwnd", Value: c.path.cwnd * c.mtu},
		cc.Var{Name: "ssthresh", Value: c.path.ssthresh * c.mtu},
		cc.Var{Name: "w_max", Value: c.path.curve.wMax * c.mtu},
		cc.Var{Name: "w_est", Value: c.path.wEst * c.mtu},
		cc.Var{Name: "k", Value: float64(c.path.curve.k.Microseconds())},
		cc.Var{Name: "t_epoch", Value: float64(c.path.curve.epoch.Microseconds())},
	)
}

// OnECN implements [cc.Controller].
func (c *RFC9438) OnECN(now time.Duration, e cc.ECN) {
	if !c.Marked(e) {
		return
	}
	if c.period.Enter(now, e.NewestSentAt) {
		c.reduce(now, cc.CauseECN)
		c.saved = undoState{} // a mark is never spurious
	}
}

// OnRTT implements [cc.Controller].
func (c *RFC9438) OnRTT(_ time.Duration, r cc.RTT) {
	c.RTT = r
	if c.inFirstSlowStart() {
		c.slow.OnRTT(r.Latest)
	}
}

// OnLoss implements [cc.Controller].
func (c *RFC9438) OnLoss(now time.Duration, l cc.Loss) {
	switch {
	case l.Persistent:
		c.collapse(now)
	case l.Handshake || l.Reason == cc.LossPTO:
	case c.period.Enter(now, l.SentAt):
		c.reduce(now, cc.CauseLoss)
		c.saved.losses = 1
	case l.Number < c.saved.before:
		c.saved.losses++
	}
}

// OnSpuriousLoss implements [cc.Controller].
//
// "Once the previously declared packet loss is confirmed to be spurious, CUBIC
// MAY restore the original values of the above-mentioned variables as follows
// if the current cwnd is lower than cwnd_prior."
// RFC 9438 Section 4.9.2, Spurious Loss Detected by Acknowledgements
func (c *RFC9438) OnSpuriousLoss(now time.Duration, l cc.Loss) {
	if l.Reason == cc.LossPTO || l.Number >= c.saved.before || c.saved.losses == 0 {
		return
	}
	c.saved.losses--
	if c.saved.losses > 0 || c.path.cwnd >= c.path.cwndPrior {
		return
	}
	c.path = c.saved.path
	c.saved = undoState{}
	c.period.Forget()
	state := congestionAvoidance
	if c.path.cwnd < c.path.ssthresh {
		state = slowStart
	}
	c.SetState(now, state, cc.CauseNone)
}

// OnAck implements [cc.Controller].
func (c *RFC9438) OnAck(now time.Duration, a *cc.Ack) {
	c.Sender.OnAck(now, a, c.window())
	sinceAck := now - c.ackAt
	c.ackAt = now
	if a.Handshake {
		return
	}
	if c.State() == recovery && !c.period.In(a.Newest.SentAt) {
		c.SetState(now, congestionAvoidance, cc.CauseRound)
	}
	if c.Sender.AppLimited() {
		// "The elapsed time t in Figure 1 MUST NOT include periods during which
		// cwnd has not been updated due to application-limited behavior"
		// RFC 9438 Section 4.2, Window Increase Function
		c.path.curve.epoch = min(c.path.curve.epoch+sinceAck, now)
		return
	}
	if c.inFirstSlowStart() && c.slow.OnAck(c.Sender.AckedTo(), c.Sender.Next()) {
		c.path.ssthresh = c.path.cwnd
	}
	var acked int64
	for _, p := range a.Packets {
		if !c.period.In(p.SentAt) {
			acked += p.Bytes
		}
	}
	c.grow(now, acked)
}

// OnMTU implements [cc.Controller]. Windows are in packets and are rescaled.
func (c *RFC9438) OnMTU(_ time.Duration, mtu int64) {
	if mtu <= 0 {
		return
	}
	f := c.mtu / float64(mtu)
	c.mtu = float64(mtu)
	c.path.rescale(f)
	c.saved.path.rescale(f)
	c.path.cwnd = max(c.path.cwnd, windowMin)
}

func (p *pathState) rescale(f float64) {
	p.cwnd *= f
	p.ssthresh *= f
	p.curve.wMax *= f
	p.wMax *= f
	p.wEst *= f
	p.cwndPrior *= f
}

func (c *RFC9438) inFirstSlowStart() bool {
	return c.State() == slowStart && math.IsInf(c.path.ssthresh, 1)
}

// grow adds for acked bytes.
func (c *RFC9438) grow(now time.Duration, acked int64) {
	p := &c.path
	if p.cwnd < p.ssthresh {
		if math.IsInf(p.ssthresh, 1) {
			acked = c.slow.Growth(acked)
		}
		p.cwnd += float64(acked) / c.mtu
		return
	}
	if c.State() == slowStart {
		c.leaveSlowStart(now)
	}
	segments := float64(acked) / c.mtu
	// "Once W_est has grown to reach the cwnd at the time of most recently setting
	// ssthresh, that is, W_est >= cwnd_prior, the sender SHOULD set alpha_cubic to 1"
	// RFC 9438 Section 4.3, Reno-Friendly Region
	alpha := alphaRFC
	if p.wEst >= p.cwndPrior {
		alpha = 1
	}
	p.wEst += alpha * segments / p.cwnd
	if p.curve.at(now) < p.wEst {
		p.cwnd = p.wEst
		return
	}
	// The RFC adds (target - cwnd) / cwnd for each ACK of one packet; an ACK of
	// several packets counts for as many.
	// RFC 9438 Sections 4.4 and 4.5, Concave and Convex Region
	target := min(max(p.curve.at(now+c.RTT.Smoothed), p.cwnd), targetMax*p.cwnd)
	p.cwnd += (target - p.cwnd) / p.cwnd * min(segments, p.cwnd)
}

// leaveSlowStart enters congestion avoidance without a reduction.
//
// "In this special case, CUBIC sets cwnd_prior = cwnd and switches to congestion
// avoidance. It then increases its congestion window size using Figure 1, where
// t is the elapsed time since the beginning of the current congestion avoidance,
// K is set to 0, and W_max is set to the congestion window size at the beginning
// of the current congestion avoidance stage."
// RFC 9438 Section 4.10, Slow Start. Section 4.8 says the same of a timeout.
func (c *RFC9438) leaveSlowStart(now time.Duration) {
	p := &c.path
	p.cwndPrior = p.cwnd
	p.wMax = p.cwnd
	p.wEst = p.cwnd
	p.curve.from(now, p.cwnd, p.cwnd)
	c.SetState(now, congestionAvoidance, cc.CauseRound)
}

// reduce answers a congestion event.
// RFC 9438 Section 4.6, Multiplicative Decrease
func (c *RFC9438) reduce(now time.Duration, cause cc.Cause) {
	c.saved = undoState{path: c.path, before: c.Sender.Next()}
	p := &c.path
	wMax := p.cwnd
	if p.cwnd < p.wMax {
		// "further reduce W_max"
		// RFC 9438 Section 4.7, Fast Convergence
		wMax = p.cwnd * (1 + betaRFC) / 2
	}
	p.wMax = wMax
	p.cwndPrior = p.cwnd
	p.ssthresh = max(p.cwnd*betaRFC, windowMin)
	p.cwnd = p.ssthresh
	p.wEst = p.cwnd
	p.curve.from(now, p.cwnd, wMax)
	c.noteCut(now, cause)
	c.SetState(now, recovery, cause)
}

// collapse answers persistent congestion, QUIC's counterpart of a timeout.
// RFC 9438 Section 4.8, Timeout; RFC 9002 Section 7.6.2
func (c *RFC9438) collapse(now time.Duration) {
	p := &c.path
	p.cwndPrior = p.cwnd
	p.ssthresh = max(p.cwnd*betaRFC, windowMin)
	p.cwnd = windowMin
	c.saved = undoState{}
	c.period.Forget()
	c.noteCut(now, cc.CausePersistent)
	c.SetState(now, slowStart, cc.CausePersistent)
}

func (c *RFC9438) noteCut(now time.Duration, cause cc.Cause) {
	before := int64(c.path.cwndPrior * c.mtu)
	c.NoteCut(now, before, c.window(), cause)
}

func (c *RFC9438) window() int64 { return int64(min(c.path.cwnd*c.mtu, maxWindow)) }

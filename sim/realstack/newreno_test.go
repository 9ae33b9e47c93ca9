//go:build linux

package realstack

import (
	"math"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// newReno is quic-go's own controller for the packet simulator, so that stock connections have something to be compared
// with. It is NewReno with a window of 32 packets at the start, that goes to 70 % at a loss and leaves slow
// start when the first eight samples of a round trip are all longer by an eighth.
type newReno struct {
	mtu, window, threshold int64
	sent, acked, cutback   int64 // largest numbers sent, acknowledged, and sent at the last cutback
	count                  int64 // packets acknowledged since the window has grown
	smoothed               time.Duration
	ce                     int64

	// slow start by rounds
	round    bool
	roundEnd int64
	shortest time.Duration
	samples  int
	slower   bool
}

func newNewReno(c cc.Config) cc.Controller {
	c = c.WithDefaults()
	return &newReno{mtu: c.MTU, window: 32 * c.MTU, threshold: math.MaxInt64, sent: -1, acked: -1, cutback: -1}
}

func (r *newReno) slowStart() bool { return r.window < r.threshold }

func (r *newReno) Control() cc.Control {
	c := cc.Control{Window: r.window, SlowStart: r.threshold == math.MaxInt64, ECN: cc.ECT0, Quantum: 10 * r.mtu}
	if r.smoothed > 0 {
		c.PacingRate = cc.RateOf(r.window, r.smoothed) * 5 / 4
		if r.slowStart() {
			c.PacingRate = cc.RateOf(r.window, r.smoothed) * 2
		}
	}
	return c
}

func (r *newReno) OnPacketSent(_ time.Duration, p cc.Packet) {
	if p.AckEliciting {
		r.sent = p.Number
	}
}

func (r *newReno) OnRTT(_ time.Duration, s cc.RTT) {
	r.smoothed = s.Smoothed
	if !r.slowStart() || s.Handshake {
		return
	}
	if !r.round {
		r.round, r.roundEnd, r.shortest, r.samples = true, r.sent, 0, 0
	}
	if !r.slower {
		if r.samples++; r.samples <= 8 && (r.shortest == 0 || s.Latest < r.shortest) {
			r.shortest = s.Latest
		}
		margin := max(4*time.Millisecond, min(16*time.Millisecond, s.Min/8))
		r.slower = r.samples == 8 && r.shortest > s.Min+margin
	}
	if r.slower && r.window/r.mtu >= 16 {
		r.threshold = r.window
	}
}

func (r *newReno) OnAck(_ time.Duration, a *cc.Ack) {
	for _, p := range a.Packets {
		r.acked = max(r.acked, p.Number)
		if r.acked <= r.cutback {
			continue
		}
		if !a.Handshake {
			r.grow(a.PriorInFlight)
		}
		if r.slowStart() && p.Number > r.roundEnd {
			r.round = false
		}
	}
}

// grow adds for one packet, if the window was what limited the sender.
func (r *newReno) grow(inFlight int64) {
	switch {
	case inFlight < r.window-3*r.mtu && !(r.slowStart() && inFlight > r.window/2):
	case r.slowStart():
		r.window += r.mtu
	default:
		if r.count++; r.count >= r.window/r.mtu {
			r.window, r.count = r.window+r.mtu, 0
		}
	}
}

func (r *newReno) OnLoss(_ time.Duration, l cc.Loss) {
	if l.Reason != cc.LossPTO {
		r.cut(l.Number)
	}
}

func (r *newReno) OnECN(_ time.Duration, e cc.ECN) {
	if e.CE > r.ce {
		r.ce = e.CE
		r.cut(e.Newest)
	}
}

func (r *newReno) cut(number int64) {
	if number <= r.cutback {
		return
	}
	r.window = max(r.window*7/10, 2*r.mtu)
	r.threshold, r.cutback, r.count = r.window, r.sent, 0
}

func (r *newReno) OnMTU(_ time.Duration, mtu int64)      { r.mtu = mtu }
func (r *newReno) State() string                         { return "newreno" }
func (r *newReno) Events(dst []cc.Event) []cc.Event      { return dst }
func (r *newReno) OnAppLimited(time.Duration)            {}
func (r *newReno) OnSpuriousLoss(time.Duration, cc.Loss) {}
func (r *newReno) OnPTO(time.Duration, int)              {}
func (r *newReno) OnSeed(time.Duration, cc.Seed)         {}

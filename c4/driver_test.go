package c4

import (
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

const ms = time.Millisecond

// c4Test drives a Controller with hand-made acknowledgements. Time passes only
// by advance and round.
type c4Test struct {
	*testing.T
	c      *Controller
	now    time.Duration
	next   int64 // number of the next packet
	rtt    time.Duration
	ect1   int64
	ce     int64
	events []cc.Event
}

// newC4Test returns a driver for a path with a round trip of 80 ms.
func newC4Test(t *testing.T, cfg Config) *c4Test {
	t.Helper()
	return &c4Test{T: t, c: New(cc.Config{MTU: 1440}, cfg), rtt: 80 * ms}
}

func (t *c4Test) advance(d time.Duration) { t.now += d }

// send sends n packets.
func (t *c4Test) send(n int) {
	for range n {
		t.c.OnPacketSent(t.now, cc.Packet{Number: t.next, Bytes: 1440, InFlight: 1440, AckEliciting: true})
		t.next++
	}
}

// sample reports an RTT sample of the path's RTT.
func (t *c4Test) sample() { t.sampleOf(t.rtt) }

func (t *c4Test) sampleOf(d time.Duration) {
	t.c.OnRTT(t.now, cc.RTT{Latest: d, Smoothed: d, Min: d})
}

// acked describes an acknowledgement.
type acked struct {
	rate      cc.Rate
	bytes     int64         // acknowledged, default 1424
	since     int64         // delivered since the packet was sent, default 1424
	sent      time.Duration // send time of the newest packet, default one RTT ago
	lowest    int64         // lowest unsettled, default as it was
	inFlight  int64
	peak      cc.Rate
	stale     bool
	handshake bool
}

// ack reports an acknowledgement that does not end the era.
func (t *c4Test) ack(a acked) {
	sent := a.sent
	if sent == 0 {
		sent = max(0, t.now-t.rtt)
	}
	bytes, since := a.bytes, a.since
	if bytes == 0 {
		bytes = 1424
	}
	if since == 0 {
		since = 1424
	}
	t.c.OnAck(t.now, &cc.Ack{
		Bytes:           bytes,
		Newest:          cc.Acked{Number: t.next - 1, Bytes: 1424, SentAt: sent},
		LowestUnsettled: a.lowest,
		InFlight:        a.inFlight,
		Sample:          cc.Sample{Rate: a.rate, Fresh: !a.stale, Peak: a.peak, DeliveredSince: since},
		Handshake:       a.handshake,
	})
}

// round lets one era pass: a packet is sent, and acknowledged a round trip later
// with the given rate, as the last one outstanding.
func (t *c4Test) round(rate cc.Rate) { t.roundWith(acked{rate: rate}) }

func (t *c4Test) roundWith(a acked) {
	t.send(1)
	t.advance(t.rtt)
	t.sample()
	a.lowest = t.next
	t.ack(a)
}

// fullRound is a round that the path, not the application, limited.
func (t *c4Test) fullRound(rate cc.Rate) { t.roundWith(acked{rate: rate, since: 1 << 40}) }

// lose reports the packet with the given number lost.
func (t *c4Test) lose(number int64) { t.c.OnLoss(t.now, cc.Loss{Number: number}) }

// loseMany loses n packets in a row, just sent.
func (t *c4Test) loseMany(n int) {
	first := t.next
	t.send(n)
	for i := range int64(n) {
		t.lose(first + i)
	}
}

// mark reports n more packets with CE and m with ECT(1).
func (t *c4Test) mark(ce, ect1 int64) {
	t.ce += ce
	t.ect1 += ect1
	t.c.OnECN(t.now, cc.ECN{CE: t.ce, ECT1: t.ect1})
}

// throughInitial takes the controller into its first recovery, with the given
// nominal rate: the rate is found at once and then does not grow for three eras.
func (t *c4Test) throughInitial(rate cc.Rate) {
	t.Helper()
	t.round(rate)
	for range noGrowthEras {
		t.fullRound(rate)
	}
	t.wantState(Recovery)
}

// cruise brings the controller from recovery to cruising without any growth,
// congestion or trimming.
func (t *c4Test) cruise(rate cc.Rate) {
	t.Helper()
	t.wantState(Recovery)
	t.fullRound(rate)
	t.wantState(Cruising)
}

// probe brings the controller from cruising to probing.
func (t *c4Test) probe(rate cc.Rate) {
	t.Helper()
	t.wantState(Cruising)
	for range 3 {
		t.fullRound(rate)
		if t.c.state == Probing {
			return
		}
	}
	t.wantState(Probing)
}

// push brings the controller from cruising to pushing: a probe finds more.
func (t *c4Test) push(rate, more cc.Rate) {
	t.Helper()
	t.probe(rate)
	t.fullRound(more)
	t.wantState(Recovery)
	t.fullRound(more)
	t.wantState(Pushing)
}

func (t *c4Test) wantState(want State) {
	t.Helper()
	if t.c.state != want {
		t.Fatalf("at %v: state is %v, want %v", t.now, t.c.state, want)
	}
}

// wantVar compares a variable by its name in the drafts.
func (t *c4Test) wantVar(name string, want float64) {
	t.Helper()
	for _, v := range t.c.Vars(nil) {
		if v.Name == name {
			if v.Value != want {
				t.Fatalf("at %v in %v: %s is %v, want %v", t.now, t.c.state, name, v.Value, want)
			}
			return
		}
	}
	t.Fatalf("no variable %q", name)
}

// wantControl compares pacing rate and window.
func (t *c4Test) wantControl(pacing cc.Rate, window int64) {
	t.Helper()
	got := t.c.Control()
	if got.PacingRate != pacing || got.Window != window {
		t.Fatalf("at %v in %v: pacing %d window %d, want %d and %d",
			t.now, t.c.state, got.PacingRate, got.Window, pacing, window)
	}
}

// wantEvents compares the kinds and causes of the events since the last call.
func (t *c4Test) wantEvents(want ...cc.Event) {
	t.Helper()
	got := t.c.Events(t.events[:0])
	t.events = got
	for i := range min(len(got), len(want)) {
		g, w := got[i], want[i]
		if g.Kind != w.Kind || g.Cause != w.Cause || w.To != "" && g.To != w.To {
			t.Fatalf("event %d is %v %v to %q, want %v %v to %q", i, g.Kind, g.Cause, g.To, w.Kind, w.Cause, w.To)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d: %+v", len(got), len(want), got)
	}
}

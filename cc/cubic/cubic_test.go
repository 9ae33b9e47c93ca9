package cubic

import (
	"slices"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/cc/cctest"
)

const (
	ms     = time.Millisecond
	packet = cctest.Payload
	rtt    = 50 * ms
)

func newTest(t *testing.T) (*cctest.Conn, *Controller) {
	ctl := New(cctest.Config())
	return cctest.NewConn(t, ctl), ctl
}

// grow runs slow start until the window holds n packets.
func grow(test *cctest.Conn, n int64) {
	for test.Control.Window < n*packet {
		test.RoundTrip(rtt)
	}
}

// loseHeavily loses four packets in a row of what is in flight, from the given
// one on: far more than HeavyLoss.
func loseHeavily(test *cctest.Conn, first int64) {
	test.Ack(first+4, first+7, first, first+1, first+2, first+3)
}

func TestSlowStartDoubles(t *testing.T) {
	test, _ := newTest(t)
	test.WantState("slow_start")
	sent := test.Fill(1000)
	test.Advance(rtt)
	test.AckAll()
	test.WantVar("cwnd", float64(10+sent)*packet)
	if !test.Control.SlowStart || test.Control.PacingRate == 0 {
		t.Errorf("%+v", test.Control)
	}
}

func TestSlowStartGrowsOnlyWithAFullWindow(t *testing.T) {
	test, _ := newTest(t)
	test.Send(5)
	test.Advance(rtt)
	test.AckAll() // pacing, say, held the sender back
	test.WantVar("cwnd", 10*packet)
	test.Fill(1000)
	test.Dry()
	test.Advance(rtt)
	test.AckAll()
	test.WantVar("cwnd", 10*packet)
}

// The path has carried a burst at the peak rate: half of what that fills over a
// round trip is safe to have in flight.
func TestSlowStartTakesHalfThePeak(t *testing.T) {
	test, _ := newTest(t)
	test.Handshake(1000, rtt)
	test.Send(2)
	test.Advance(2 * ms)
	test.Send(20)
	test.Advance(rtt)
	test.Ack(0, 1)
	test.Advance(2 * ms)
	test.Ack(2, 21) // 24,000 bytes in 2 ms
	rate := cc.RateOf(20*packet, 2*ms)
	if got, want := test.Control.Window, rate.Over(rtt)/2; got < want*9/10 || got > want*11/10 {
		t.Errorf("window %d, want about %d", got, want)
	}
}

// When the RTT has grown by a quarter, what was sent in the last round trip is too
// much: the window is halved, and the curve begins at its plateau.
func TestDelayEndsSlowStart(t *testing.T) {
	test, ctl := newTest(t)
	grow(test, 100)
	for range 10 { // the base line
		first := test.Send(1)
		test.Advance(rtt)
		test.Ack(first, first)
	}
	before := test.Var("cwnd")
	for range 14 {
		test.WantState("slow_start")
		first := test.Send(1)
		test.Advance(rtt * 13 / 10)
		test.Ack(first, first)
		if test.Control.SlowStart == false {
			break
		}
	}
	test.WantState("congestion_avoidance")
	test.WantVar("w_max", before/2)
	test.WantVar("ssthresh", before/2*beta)
	if got := ctl.curve.at(test.Now) * packet; got < before/2*0.999 {
		t.Errorf("the curve is at %g, not at its plateau %g", got, before/2)
	}
	events := ctl.Events(nil)
	if e := events[len(events)-1]; e.Cause != cc.CauseDelay {
		t.Errorf("%+v", e)
	}
}

// On long paths less of the last round trip counts as excess.
func TestDelayOnLongPaths(t *testing.T) {
	for _, tt := range []struct {
		rtt  time.Duration
		kept float64
	}{
		{100 * ms, 0.5},
		{200 * ms, 1 - 0.5/2},   // 100 ms of 200 are kept, and half of the rest
		{1000 * ms, 1 - 0.39/2}, // 610 ms of 1000
	} {
		test, _ := newTest(t)
		for test.Control.Window < 100*packet {
			test.RoundTrip(tt.rtt)
		}
		for range 10 {
			first := test.Send(1)
			test.Advance(tt.rtt)
			test.Ack(first, first)
		}
		before := test.Var("cwnd")
		for test.Control.SlowStart {
			first := test.Send(1)
			test.Advance(tt.rtt * 13 / 10)
			test.Ack(first, first)
		}
		test.WantVar("w_max", before*tt.kept)
	}
}

// A few losses are not congestion.
func TestStrayLossChangesNothing(t *testing.T) {
	test, _ := newTest(t)
	grow(test, 100)
	before := test.Var("cwnd")
	first := test.Send(50)
	test.Advance(rtt)
	test.Ack(first+1, first+2, first)
	test.Ack(first+20, first+21, first+19)
	test.WantState("slow_start")
	test.WantVar("cwnd", before)
}

// RFC 9438 Section 4.6, Multiplicative Decrease, with beta = 7/8.
func TestHeavyLossReduces(t *testing.T) {
	test, _ := newTest(t)
	grow(test, 100)
	before := test.Var("cwnd")
	first := test.Send(50)
	test.Advance(rtt)
	loseHeavily(test, first)
	test.WantState("congestion_avoidance")
	// The first event also is a convergence from infinity.
	test.WantVar("w_max", before*beta)
	test.WantVar("cwnd", before*beta*beta)
	test.WantVar("w_est", before/2)

	reduced := test.Var("cwnd")
	loseHeavily(test, first+20) // sent before the event
	if got := test.Var("cwnd"); got < reduced {
		t.Errorf("the same event reduces twice: %g after %g", got, reduced)
	}
	test.Advance(rtt)
	before = test.Var("cwnd")
	first = test.Send(20)
	test.Advance(rtt)
	loseHeavily(test, first)
	if got := test.Var("cwnd"); got > before*beta {
		t.Errorf("a new event leaves %g of %g", got, before)
	}
}

// RFC 9438 Section 4.7, Fast Convergence
func TestFastConvergence(t *testing.T) {
	test, ctl := newTest(t)
	grow(test, 100)
	first := test.Send(50)
	test.Advance(rtt)
	loseHeavily(test, first)
	for range 100 { // climb above the last maximum
		test.RoundTrip(rtt)
	}
	if w := ctl.packets(ctl.window); w <= ctl.wLastMax {
		t.Fatalf("still at %g packets, maximum %g", w, ctl.wLastMax)
	}
	before := test.Var("cwnd")
	first = test.Send(20)
	test.Advance(rtt)
	loseHeavily(test, first)
	test.WantVar("w_max", before)

	test.Advance(rtt)
	first = test.Send(20)
	test.Advance(rtt)
	before = test.Var("cwnd")
	loseHeavily(test, first)
	test.WantVar("w_max", before*beta)
}

// RFC 9438 Section 4.8, Timeout
func TestProbeTimeoutBeginsAnew(t *testing.T) {
	test, _ := newTest(t)
	grow(test, 100)
	before := test.Var("cwnd")
	test.Send(50)
	test.Advance(time.Second)
	test.PTO()
	test.WantState("slow_start")
	test.WantVar("cwnd", minimumWindow)
	test.WantVar("ssthresh", before*beta*beta)
	if test.Control.SlowStart {
		t.Error("counts as the first slow start")
	}
}

// RFC 9438 Section 4.9, Spurious Congestion Events
func TestSpuriousTimeoutIsUndone(t *testing.T) {
	test, _ := newTest(t)
	grow(test, 100)
	before := test.Var("cwnd")
	first := test.Send(50)
	test.Advance(time.Second)
	test.PTO()
	test.Spurious(first, cc.LossPTO)
	test.WantState("slow_start")
	test.WantVar("cwnd", before)
	if !test.Control.SlowStart {
		t.Error("not as before")
	}
}

// The curve of an app-limited sender waits for it.
func TestCurveWaitsForTheApplication(t *testing.T) {
	test, _ := newTest(t)
	grow(test, 100)
	first := test.Send(50)
	test.Advance(rtt)
	loseHeavily(test, first)
	reduced := test.Var("cwnd")
	for range 200 {
		test.Send(1)
		test.Dry()
		test.Advance(rtt)
		test.AckAll()
	}
	test.WantVar("cwnd", reduced)
	test.RoundTrip(rtt)
	if got := test.Var("cwnd"); got > 1.05*reduced {
		t.Errorf("ten seconds of little to send brought the window from %g to %g", reduced, got)
	}
}

func TestMarkReduces(t *testing.T) {
	test, _ := newTest(t)
	grow(test, 100)
	before := test.Var("cwnd")
	first := test.Send(50)
	test.Advance(rtt)
	test.Mark(1)
	test.Ack(first, first+1)
	test.WantState("congestion_avoidance")
	test.WantVar("cwnd", before*beta*beta)
}

func TestSeed(t *testing.T) {
	for _, tt := range []struct {
		rtt  time.Duration
		want float64
	}{
		{100 * ms, 500_000},
		{150 * ms, 10 * packet}, // another path
	} {
		test, ctl := newTest(t)
		ctl.OnSeed(test.Now, cc.Seed{Window: 500_000, RTT: 100 * ms})
		test.Handshake(1000, tt.rtt)
		test.WantVar("cwnd", tt.want)
	}
}

func TestNoAllocation(t *testing.T) {
	for _, ctl := range []cc.Controller{New(cctest.Config()), NewRFC9438(cctest.Config())} {
		a := cc.Ack{Packets: []cc.Acked{{Number: 1, Bytes: packet}}, Bytes: packet}
		a.Newest = a.Packets[0]
		now := time.Second
		if n := testing.AllocsPerRun(100, func() {
			now += ms
			a.Newest.Number++
			ctl.OnPacketSent(now, cc.Packet{Number: a.Newest.Number, Bytes: packet, InFlight: packet})
			ctl.OnRTT(now, cc.RTT{Latest: ms, Smoothed: ms, Min: ms})
			ctl.OnLoss(now, cc.Loss{Number: a.Newest.Number, Bytes: packet, SentAt: now - ms})
			ctl.OnAck(now, &a)
			ctl.Control()
		}); n != 0 {
			t.Errorf("%T: %g allocations", ctl, n)
		}
	}
}

func FuzzController(f *testing.F) {
	f.Add([]byte{2, 0, 3, 50, 7, 200, 10, 255, 15, 3, 2, 0, 3, 50, 7, 255})
	f.Add([]byte{0, 10, 3, 50, 14, 0, 7, 3, 11, 0, 12, 0, 13, 0, 15, 1, 7, 1})
	f.Fuzz(func(t *testing.T, ops []byte) {
		for _, create := range []func() cc.Controller{
			func() cc.Controller { return New(cctest.Config()) },
			func() cc.Controller { return NewRFC9438(cctest.Config()) },
		} {
			out := cctest.Fuzz(t, create(), ops)
			for i, c := range out {
				if c.Window < 2*packet {
					t.Fatalf("step %d: window %d", i, c.Window)
				}
			}
			if again := cctest.Fuzz(t, create(), ops); !slices.Equal(out, again) {
				t.Fatal("equal inputs gave different outputs")
			}
		}
	})
}

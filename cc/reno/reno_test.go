package reno

import (
	"slices"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/cc/cctest"
)

const (
	ms = time.Millisecond

	// packet is what a packet of a cctest.Conn delivers, and the MTU.
	packet = cctest.Payload
)

func newTest(t *testing.T) (*cctest.Conn, *Controller) {
	ctl := New(cctest.Config())
	return cctest.NewConn(t, ctl), ctl
}

// "While a sender is in slow start, the congestion window increases by the
// number of bytes acknowledged when each acknowledgment is processed. This
// results in exponential growth of the congestion window."
// RFC 9002 Section 7.3.1, Slow Start
func TestSlowStartDoubles(t *testing.T) {
	test, _ := newTest(t)
	test.WantState("slow_start")
	acked := 0
	for want := 20; want <= 160; want *= 2 {
		sent := test.Fill(1000)
		test.Advance(50 * ms)
		test.AckAll()
		acked += sent
		// A packet takes more of the window than it delivers, so not quite.
		if got := test.Control.Window; got != packet*int64(10+acked) || got < packet*int64(want-3) {
			t.Errorf("window %d after %d packets", got, acked)
		}
	}
	if !test.Control.SlowStart {
		t.Error("not in slow start")
	}
}

// "A sender in congestion avoidance uses an Additive Increase Multiplicative
// Decrease (AIMD) approach that MUST limit the increase to the congestion window
// to at most one maximum datagram size for each congestion window that is
// acknowledged."
// RFC 9002 Section 7.3.3, Congestion Avoidance
func TestCongestionAvoidanceAddsOnePacket(t *testing.T) {
	test, _ := newTest(t)
	test.Send(10)
	test.Advance(50 * ms)
	test.Ack(1, 9, 0)
	test.WantState("recovery")
	test.WantVar("congestion_window", 5*packet)
	test.Advance(ms)
	first := test.Send(5)
	test.Advance(50 * ms)
	test.Ack(first, first+4)
	test.WantState("congestion_avoidance")
	// The window grows with each packet, and the next one counts a little less.
	wantWindow(t, test, 5.9*packet, 6*packet)
	first = test.Send(6)
	test.Advance(50 * ms)
	for n := first; n < first+6; n++ { // one by one comes to the same
		test.Ack(n, n)
	}
	wantWindow(t, test, 6.8*packet, 7*packet)
}

func wantWindow(t *testing.T, test *cctest.Conn, least, most float64) {
	t.Helper()
	if w := float64(test.Control.Window); w < least || w > most {
		t.Errorf("window %g, want %g to %g", w, least, most)
	}
}

// "On entering a recovery period, a sender MUST set the slow start threshold to
// half the value of the congestion window when loss is detected."
// "A sender that is already in a recovery period stays in it and does not
// reenter it."
// RFC 9002 Section 7.3.2, Recovery
func TestLossHalvesOncePerRoundTrip(t *testing.T) {
	test, _ := newTest(t)
	test.Send(10)
	test.Advance(50 * ms)
	test.Ack(3, 3, 0)
	test.WantVar("congestion_window", 5*packet)
	test.WantVar("ssthresh", 5*packet)
	test.Ack(6, 6, 1, 2) // sent before
	test.WantVar("congestion_window", 5*packet)

	test.Advance(ms)
	first := test.Send(2)
	test.Advance(50 * ms)
	test.Ack(first+1, first+1, first) // sent in recovery: a new event
	test.WantVar("congestion_window", 2.5*packet)
	if test.Control.SlowStart {
		t.Error("still in the first slow start")
	}
}

// "If the ECN-CE counter reported by the peer has increased, this could be a new
// congestion event."
// RFC 9002 Appendix B.7, Process ECN Information
func TestMarkCountsAsLoss(t *testing.T) {
	test, _ := newTest(t)
	test.Send(10)
	test.Advance(50 * ms)
	test.Mark(1)
	test.Ack(0, 3)
	test.WantState("recovery")
	test.WantVar("congestion_window", 5*packet)
	test.Ack(4, 5) // the count has not increased
	test.WantVar("congestion_window", 5*packet)
	test.Mark(1)
	test.Ack(6, 7) // it has, for packets sent before
	test.WantVar("congestion_window", 5*packet)
}

// "A PTO timer expiration event does not indicate packet loss and MUST NOT cause
// prior unacknowledged packets to be marked as lost."
// RFC 9002 Section 6.2, Probe Timeout
func TestProbeTimeoutChangesNothing(t *testing.T) {
	test, _ := newTest(t)
	test.Send(10)
	test.Advance(time.Second)
	test.PTO()
	test.WantState("slow_start")
	test.WantVar("congestion_window", 10*packet)
}

// "When persistent congestion is declared, the sender's congestion window MUST be
// reduced to the minimum congestion window (kMinimumWindow), similar to a TCP
// sender's response on an RTO."
// RFC 9002 Section 7.6.2, Establishing Persistent Congestion
func TestPersistentCongestion(t *testing.T) {
	test, _ := newTest(t)
	test.Send(10)
	test.Advance(50 * ms)
	test.Ack(9, 9, 0)
	test.Persist(1)
	test.WantState("slow_start")
	test.WantVar("congestion_window", 2*packet)
	test.WantVar("ssthresh", 5*packet)
	first := test.Send(2)
	test.Advance(50 * ms)
	test.Ack(first, first+1)
	test.WantVar("congestion_window", 4*packet)
}

// "When bytes in flight is smaller than the congestion window and sending is not
// pacing limited, the congestion window is underutilized. This can happen due to
// insufficient application data or flow control limits. When this occurs, the
// congestion window SHOULD NOT be increased in either slow start or congestion
// avoidance."
// RFC 9002 Section 7.8, Underutilizing the Congestion Window
func TestNoGrowthWhenAppLimited(t *testing.T) {
	test, _ := newTest(t)
	test.Send(3)
	test.Dry()
	test.Advance(50 * ms)
	test.AckAll()
	test.WantVar("congestion_window", 10*packet)
	test.RoundTrip(50 * ms)
	if test.Control.Window <= 10*packet {
		t.Error("no growth with a full window")
	}
}

func TestMTU(t *testing.T) {
	test, ctl := newTest(t)
	ctl.OnMTU(test.Now, 9000)
	test.WantVar("congestion_window", 18000) // the minimum window
}

func TestEvents(t *testing.T) {
	test, ctl := newTest(t)
	test.Send(10)
	test.Advance(50 * ms)
	test.Ack(1, 9, 0)
	events := ctl.Events(nil)
	if len(events) != 2 || events[0].Kind != cc.EventCongestion || events[1].To != "recovery" {
		t.Fatalf("%+v", events)
	}
	if events[0].NewRate >= events[0].Rate {
		t.Errorf("a cut from %d to %d", events[0].Rate, events[0].NewRate)
	}
}

func TestNoAllocation(t *testing.T) {
	ctl := New(cctest.Config())
	a := cc.Ack{Packets: []cc.Acked{{Number: 1, Bytes: packet}}, Bytes: packet}
	a.Newest = a.Packets[0]
	now := time.Second
	if n := testing.AllocsPerRun(100, func() {
		now += ms
		ctl.OnRTT(now, cc.RTT{Latest: ms, Smoothed: ms, Min: ms})
		ctl.OnLoss(now, cc.Loss{Number: 1, Bytes: packet, SentAt: now - ms})
		ctl.OnAck(now, &a)
		ctl.Control()
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func FuzzController(f *testing.F) {
	f.Add([]byte{2, 0, 3, 50, 7, 200, 10, 255, 15, 3, 2, 0, 3, 50, 7, 255})
	f.Add([]byte{0, 10, 3, 50, 14, 0, 7, 3, 11, 0, 12, 0, 13, 0, 15, 2, 7, 1})
	f.Fuzz(func(t *testing.T, ops []byte) {
		ctl := New(cctest.Config())
		out := cctest.Fuzz(t, ctl, ops)
		for i, c := range out {
			if c.Window < minimumWindow*packet {
				t.Fatalf("step %d: window %d", i, c.Window)
			}
		}
		if again := cctest.Fuzz(t, New(cctest.Config()), ops); !slices.Equal(out, again) {
			t.Fatal("equal inputs gave different outputs")
		}
	})
}

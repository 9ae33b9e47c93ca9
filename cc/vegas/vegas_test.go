package vegas

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
	rtt    = 100 * ms
)

func newTest(t *testing.T) *cctest.Conn { return cctest.NewConn(t, New(cctest.Config())) }

// avoid brings the connection into congestion avoidance with a base RTT of rtt.
func avoid(t *testing.T) *cctest.Conn {
	test := newTest(t)
	test.RoundTrip(rtt)
	test.RoundTrip(2 * rtt)
	test.RoundTrip(rtt)
	test.WantState("congestion_avoidance")
	return test
}

// "Vegas allows exponential growth only every other RTT. In between, the congestion
// window stays fixed so a valid comparison of the expected and actual rates can be
// made."
func TestSlowStartGrowsEveryOtherRound(t *testing.T) {
	test := newTest(t)
	grew := 0
	for range 8 {
		before := test.Control.Window
		test.RoundTrip(rtt)
		switch after := test.Control.Window; {
		case after == before:
		case after >= 2*before-2*packet:
			grew++
		default:
			t.Errorf("from %d to %d", before, after)
		}
	}
	if grew != 4 {
		t.Errorf("doubled in %d of 8 rounds", grew)
	}
	test.WantState("slow_start")
	if !test.Control.SlowStart {
		t.Error("not the first slow start")
	}
}

// "When the actual rate falls below the expected rate by a certain amount - the
// gamma threshold - Vegas changes from slow-start mode to linear increase/decrease
// mode."
func TestSlowStartEndsWithAQueue(t *testing.T) {
	test := newTest(t)
	test.RoundTrip(rtt)
	before := test.Control.Window
	test.RoundTrip(rtt * 5 / 4) // a fifth of the window is in the queue
	test.WantState("congestion_avoidance")
	test.WantVar("cwnd", float64(before)*4/5+packet)
	test.WantVar("diff", float64(before)/packet/5)
	if test.Control.SlowStart {
		t.Error("still the first slow start")
	}
}

// "When diff < alpha, Vegas increases the congestion window linearly during the next
// RTT, and when diff > beta, Vegas decreases the congestion window linearly during
// the next RTT. Vegas leaves the congestion window unchanged when alpha < diff <
// beta."
func TestAvoidanceKeepsTwoToFourPackets(t *testing.T) {
	for _, tt := range []struct {
		queued float64 // packets
		change int64   // packets
	}{
		{0, 1},
		{1.9, 1},
		{2.1, 0},
		{3.9, 0},
		{4.1, -1},
		{8, -1},
	} {
		test := avoid(t)
		before := test.Control.Window
		w := float64(before) / packet
		test.RoundTrip(time.Duration(float64(rtt) * w / (w - tt.queued)))
		if got := test.Control.Window - before; got != tt.change*packet {
			t.Errorf("%g packets in the queue: window changes by %d bytes, want %d packets", tt.queued, got, tt.change)
		}
	}
}

func TestAppLimitedRoundSaysNothing(t *testing.T) {
	test := avoid(t)
	before := test.Control.Window
	for range 5 {
		test.Send(1)
		test.Dry()
		test.Advance(rtt)
		test.AckAll()
	}
	test.WantVar("cwnd", float64(before))
}

func TestLossHalvesOncePerRoundTrip(t *testing.T) {
	for _, mark := range []bool{false, true} {
		test := avoid(t)
		before := float64(test.Control.Window)
		test.Advance(ms)
		first := test.Next()
		test.Fill(100)
		test.Advance(rtt)
		if mark {
			test.Mark(1)
			test.Ack(first, first+1)
			test.Mark(1)
			test.Ack(first+2, first+3)
		} else {
			test.Ack(first+3, first+3, first)
			test.Ack(first+4, first+4, first+1)
		}
		test.WantState("recovery")
		test.WantVar("cwnd", before/2)
	}
}

func TestPersistentCongestion(t *testing.T) {
	test := avoid(t)
	test.Advance(ms)
	first := test.Send(2)
	test.Advance(time.Second)
	test.PTO()
	test.WantState("congestion_avoidance") // says nothing
	test.Persist(first + 1)
	test.WantState("slow_start")
	test.WantVar("cwnd", minimumWindow*packet)
}

func TestNoAllocation(t *testing.T) {
	ctl := New(cctest.Config())
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
		t.Errorf("%g allocations", n)
	}
}

func FuzzController(f *testing.F) {
	f.Add([]byte{2, 0, 3, 50, 7, 200, 10, 255, 15, 3, 2, 0, 3, 50, 7, 255})
	f.Add([]byte{0, 10, 3, 50, 14, 0, 7, 3, 11, 0, 12, 0, 13, 0, 15, 2, 7, 1})
	f.Fuzz(func(t *testing.T, ops []byte) {
		out := cctest.Fuzz(t, New(cctest.Config()), ops)
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

package link

import (
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

var dualQParams = Params{Rate: 20e6, Delay: 40 * ms, Queue: 100 * ms}

// offer sends packets of 1440 bytes at a rate for some time and returns what
// became of those with each codepoint.
func offer(l *Link[int], rate float64, d time.Duration, ecn cc.Codepoint) (arrived, marked int) {
	gap := time.Duration(1440 * 8 / rate * float64(time.Second))
	take := func(until time.Duration) {
		for l.Next() <= until {
			at := l.Next()
			for {
				_, e, ok := l.Pop(at)
				if !ok {
					break
				}
				arrived++
				if e == cc.CE {
					marked++
				}
			}
		}
	}
	for now := time.Duration(0); now < d; now += gap {
		take(now)
		l.Submit(now, 1440, ecn, 0)
	}
	take(Never - 1)
	return arrived, marked
}

// The byte limit is what the link carries in queue - delay.
func TestDualQLimit(t *testing.T) {
	drops := 0
	l := New[int](dualQParams, 1, func(int) { drops++ })
	l.UseDualQ(DualQConfig{L4SMax: 15 * ms})
	if d := l.aqm.limit - 143_052; d < -1 || d > 0 { // the published figure is rounded
		t.Errorf("limit %d, want 143052 as in the reference", l.aqm.limit)
	}
	n := int(l.aqm.limit/1440) + 1 // one is on the wire at once
	for i := range n + 5 {
		l.Submit(0, 1440, cc.NotECT, i)
	}
	if drops != 5 {
		t.Errorf("%d drops, want 5", drops)
	}
	if order, _ := drain(l); len(order) != n {
		t.Errorf("%d of %d packets arrive", len(order), n)
	}
}

// Below the marking threshold nothing happens; a standing queue is marked.
func TestDualQMarksLowLatency(t *testing.T) {
	for _, tt := range []struct {
		rate float64
		want func(arrived, marked, drops int) bool
		text string
	}{
		{15e6, func(_, m, d int) bool { return m == 0 && d == 0 }, "no marks below capacity"},
		{22e6, func(a, m, _ int) bool { return m > a/3 }, "many marks above capacity"},
	} {
		l := New[int](dualQParams, 1, nil)
		l.UseDualQ(DualQConfig{L4SMax: 15 * ms})
		a, m := offer(l, tt.rate, 2*time.Second, cc.ECT1)
		if !tt.want(a, m, l.Stats().Drops) {
			t.Errorf("%v: %d arrive, %d marked, %d dropped: want %s", tt.rate, a, m, l.Stats().Drops, tt.text)
		}
	}
}

// RFC 9332 Section 2.4: the classic drop probability is the square of p', and the
// low-latency marking at least twice p'. The reference's fault gives neither.
func TestDualQCoupling(t *testing.T) {
	run := func(fault bool) (classicDrops int, aqm *dualQ[int]) {
		l := New[int](dualQParams, 1, nil)
		l.UseDualQ(DualQConfig{L4SMax: 15 * ms, ReferenceFault: fault})
		offer(l, 21e6, 5*time.Second, cc.NotECT)
		return l.Stats().Drops, l.aqm
	}
	drops, q := run(false)
	if drops == 0 {
		t.Error("PI2 drops nothing from an overloaded classic queue")
	}
	if q.base > 0 && q.drop != q.base*q.base {
		t.Errorf("p_C = %v with p' = %v", q.drop, q.base)
	}
	if q.coupled != min(1, 2*q.base) {
		t.Errorf("p_CL = %v with p' = %v", q.coupled, q.base)
	}
	// With only classic traffic p'_L is 0, so the fault leaves tail drop alone.
	_, q = run(true)
	if q.drop != 0 {
		t.Errorf("with the fault p_C = %v", q.drop)
	}
}

// ECT(0) packets are marked in place of dropped while p_C is low.
func TestDualQClassicECN(t *testing.T) {
	l := New[int](dualQParams, 1, nil)
	l.UseDualQ(DualQConfig{L4SMax: 15 * ms})
	a, m := offer(l, 21e6, 3*time.Second, cc.ECT0)
	if m == 0 {
		t.Errorf("%d arrive, none marked", a)
	}
}

// The low-latency queue is served first, the classic one still gets its turns.
func TestDualQSchedule(t *testing.T) {
	l := New[int](dualQParams, 1, nil)
	l.UseDualQ(DualQConfig{L4SMax: 15 * ms})
	l.Submit(0, 1440, cc.NotECT, 0) // goes straight to the wire
	for i := range 40 {
		l.Submit(0, 1440, cc.NotECT, 100+i)
		l.Submit(0, 1440, cc.ECT1, 200+i)
	}
	order, _ := drain(l)
	classic := 0
	for _, p := range order[1:33] {
		if p < 200 {
			classic++
		}
	}
	if classic != 2 {
		t.Errorf("%d classic packets of the first 32, want 2: %v", classic, order[1:33])
	}
	if len(order) != 81 {
		t.Errorf("%d packets arrive", len(order))
	}
}

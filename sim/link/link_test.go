package link

import (
	"math"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

const ms = time.Millisecond

// drain pops everything and returns the arrival times by packet.
func drain(l *Link[int]) (order []int, at map[int]time.Duration) {
	at = map[int]time.Duration{}
	for l.Next() != Never {
		now := l.Next()
		for {
			p, _, ok := l.Pop(now)
			if !ok {
				break
			}
			order = append(order, p)
			at[p] = now
		}
	}
	return order, at
}

func TestTxTime(t *testing.T) {
	tests := []struct {
		rate float64
		size int32
		want time.Duration
	}{
		// anchors of the reference simulator: below the exact 576 and 57.6 us
		{20e6, 1440, 575 * time.Microsecond},
		{200e6, 1440, 57 * time.Microsecond},
		{10e6, 1252, 1001 * time.Microsecond},
		{250e6, 55, 1 * time.Microsecond},
		{100e9, 1, 1 * time.Microsecond}, // never nothing
	}
	for _, tt := range tests {
		l := New[int](Params{Rate: tt.rate, Delay: ms}, 1, nil)
		if got := l.TxTime(tt.size); got != tt.want {
			t.Errorf("%v bit/s: %d bytes take %v, want %v", tt.rate, tt.size, got, tt.want)
		}
	}
}

func TestDelivery(t *testing.T) {
	l := New[int](Params{Rate: 20e6, Delay: 40 * ms, Queue: 80 * ms}, 1, nil)
	l.Submit(0, 1440, cc.NotECT, 0)
	l.Submit(0, 1440, cc.NotECT, 1)
	if _, _, ok := l.Pop(40*ms + 574*time.Microsecond); ok {
		t.Error("a packet arrives before transmission and delay are over")
	}
	_, at := drain(l)
	if want := 40*ms + 575*time.Microsecond; at[0] != want {
		t.Errorf("first packet at %v, want %v", at[0], want)
	}
	if want := 40*ms + 1150*time.Microsecond; at[1] != want {
		t.Errorf("second packet at %v, want %v", at[1], want)
	}
}

// A packet is dropped if it would wait for as long as the queue holds. The wait
// does not include the packet itself.
func TestQueueBound(t *testing.T) {
	var dropped []int
	l := New[int](Params{Rate: 20e6, Delay: ms, Queue: 2 * 575 * time.Microsecond}, 1, func(p int) { dropped = append(dropped, p) })
	for i := range 4 {
		l.Submit(0, 1440, cc.NotECT, i)
	}
	if len(dropped) != 2 || dropped[0] != 2 || dropped[1] != 3 {
		t.Errorf("dropped %v, want [2 3]", dropped)
	}
	l.Submit(time.Microsecond, 1440, cc.NotECT, 4)
	if len(dropped) != 2 {
		t.Error("a packet is dropped although it waits less than the bound")
	}
	if s := l.Stats(); s.Drops != 2 || s.Packets != 3 {
		t.Errorf("stats %+v", s)
	}
}

func TestNoBound(t *testing.T) {
	l := New[int](Params{Rate: 1e6, Delay: ms}, 1, func(int) { t.Error("dropped without a bound") })
	for i := range 10_000 {
		l.Submit(0, 1440, cc.NotECT, i)
	}
	if order, _ := drain(l); len(order) != 10_000 {
		t.Errorf("%d packets arrive", len(order))
	}
}

func TestJitterKeepsOrder(t *testing.T) {
	l := New[int](Params{Rate: 10e6, Delay: ms, Queue: 250 * ms, Jitter: 7 * ms}, 7, func(int) { t.Error("dropped") })
	const n = 20_000
	got, now := 0, time.Duration(0)
	var last time.Duration
	take := func(until time.Duration) {
		for l.Next() <= until {
			at := max(l.Next(), last)
			for {
				p, _, ok := l.Pop(at)
				if !ok {
					break
				}
				if p != got {
					t.Fatalf("packet %d arrives in place of %d", p, got)
				}
				got++
			}
			last = at
		}
	}
	for i := range n {
		take(now)
		l.Submit(now, 1000, cc.NotECT, i)
		now += 2 * ms
	}
	take(Never - 1)
	if got != n {
		t.Errorf("%d of %d packets arrive", got, n)
	}
}

// The mean is 0.684 ms for the short part and, of a fraction (J-1)/84 of the
// packets, 86.25 ms for the long one.
func TestWifiJitterMean(t *testing.T) {
	for _, j := range []time.Duration{999 * time.Microsecond, 7 * ms, 12 * ms, 200 * ms} {
		r := NewRand(3)
		const n = 200_000
		var sum time.Duration
		for range n {
			d := wifiJitter(&r, j)
			if d < 0 || d%time.Microsecond != 0 {
				t.Fatalf("jitter %v", d)
			}
			sum += d
		}
		share := min(max(float64(j-ms)/float64(84*ms), 0), 1)
		want := 0.684 + share*86.25
		got := float64(sum) / n / float64(ms)
		if math.Abs(got-want) > 0.02*want {
			t.Errorf("jitter %v: mean %.3f ms, want %.3f", j, got, want)
		}
	}
}

func TestChange(t *testing.T) {
	slow := Params{Rate: 1e6, Delay: 40 * ms, Queue: 200 * ms}
	l := New[int](Params{Rate: 20e6, Delay: 40 * ms, Queue: 80 * ms}, 1, nil)
	for i := range 20 {
		l.Submit(0, 1440, cc.NotECT, i)
	}
	// at 5 ms eight packets have left: 575 us each
	l.Change(5*ms, slow)
	order, at := drain(l)
	if len(order) != 20 {
		t.Fatalf("%d packets arrive", len(order))
	}
	if want := 40*ms + 8*575*time.Microsecond; at[7] != want {
		t.Errorf("a packet on its way arrives at %v, want %v", at[7], want)
	}
	if want := 45*ms + l.TxTime(1440); at[8] != want {
		t.Errorf("the first queued packet arrives at %v, want %v", at[8], want)
	}
	for i := 1; i < 20; i++ {
		if order[i] != i || at[i] < at[i-1] {
			t.Fatalf("order %v", order)
		}
	}
}

func TestSuspension(t *testing.T) {
	drops := 0
	up := Params{Rate: 20e6, Delay: 5 * ms, Queue: 20 * ms}
	down := up
	down.Rate = 0
	l := New[int](up, 1, func(int) { drops++ })
	l.Submit(0, 1440, cc.NotECT, 0)
	l.Change(ms, down)
	for i := 1; i < 100; i++ {
		l.Submit(2*ms, 1440, cc.NotECT, i)
	}
	if drops != 0 {
		t.Errorf("%d drops while suspended", drops)
	}
	if p, _, ok := l.Pop(l.Next()); !ok || p != 0 {
		t.Error("what is under way does not arrive")
	}
	if l.Next() != Never {
		t.Errorf("next event at %v while suspended", l.Next())
	}
	l.Change(200*ms, up)
	order, at := drain(l)
	if want := 20*ms/(575*time.Microsecond) + 1; len(order) != int(want) {
		t.Errorf("%d packets survive, want what the queue holds, %d", len(order), want)
	}
	if len(order)+drops != 99 {
		t.Errorf("%d arrive and %d are dropped of 99", len(order), drops)
	}
	if want := 205*ms + 575*time.Microsecond; at[1] != want {
		t.Errorf("first packet after resuming at %v, want %v", at[1], want)
	}
}

// Equal seeds give equal links, on every platform.
func TestDeterminism(t *testing.T) {
	sum := func(seed uint64) (h uint64) {
		l := New[int](Params{Rate: 20e6, Delay: ms, Jitter: 7 * ms}, seed, nil)
		for i := range 1000 {
			l.Submit(time.Duration(i)*ms, 1440, cc.NotECT, i)
		}
		_, at := drain(l)
		for i := range 1000 {
			h = h*31 + uint64(at[i])
		}
		return h
	}
	first := sum(1)
	if again := sum(1); again != first {
		t.Error("two runs differ")
	}
	if sum(1) == sum(2) {
		t.Error("seeds make no difference")
	}
	// splitmix64 with the seed of the reference simulator
	r := NewRand(0)
	if got := r.Uint64(); got != 0xE220A8397B1DCDAF {
		t.Errorf("first number %#x", got)
	}
}

func TestReset(t *testing.T) {
	l := New[int](Params{Rate: 1e6, Delay: ms}, 1, nil)
	l.Submit(0, 1440, cc.NotECT, 0)
	l.Reset(Params{Rate: 1e6, Delay: ms}, 1, nil)
	if l.Next() != Never || l.Stats() != (Stats{}) {
		t.Error("something survives a reset")
	}
}

func BenchmarkSubmitPop(b *testing.B) {
	l := New[int](Params{Rate: 1e9, Delay: ms, Queue: 80 * ms}, 1, nil)
	b.ReportAllocs()
	now := time.Duration(0)
	for b.Loop() {
		now += 12 * time.Microsecond
		l.Submit(now, 1440, cc.NotECT, 0)
		for l.Next() <= now {
			l.Pop(now)
		}
	}
}

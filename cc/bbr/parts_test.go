package bbr

import (
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

func TestMaxFilter(t *testing.T) {
	f := newMaxFilter(maxBWFilterLen)
	for _, tt := range []struct {
		advance   bool
		sample    int64
		want, now int64
	}{
		{false, 100, 100, 100},
		{false, 90, 100, 100},
		{true, 50, 100, 50}, // the last cycle still counts
		{true, 60, 60, 60},  // the one before it no longer
		{false, 70, 70, 70},
	} {
		if tt.advance {
			f.advance()
		}
		if got := f.update(tt.sample); got != tt.want || f.current() != tt.now {
			t.Errorf("%+v: maximum %d, current %d", tt, got, f.current())
		}
	}
	f.fill(10)
	if got := f.update(5); got != 10 {
		t.Errorf("after fill: %d", got)
	}
}

func TestRandomIsSpreadAndSeeded(t *testing.T) {
	draw := func(seed uint64, start time.Duration) (low, high time.Duration, first time.Duration) {
		r := random{seed: seed}
		r.mix(start)
		low, high = time.Hour, 0
		for i := range 1000 {
			d := r.upTo(time.Second)
			low, high = min(low, d), max(high, d)
			if i == 0 {
				first = d
			}
		}
		return low, high, first
	}
	low, high, first := draw(1, ms)
	if low < 0 || low > 10*ms || high < 990*ms || high > time.Second {
		t.Errorf("from %v to %v", low, high)
	}
	if _, _, again := draw(1, ms); again != first {
		t.Error("equal seeds differ")
	}
	if _, _, other := draw(2, ms); other == first {
		t.Error("different seeds agree")
	}
	if _, _, other := draw(1, 2*ms); other == first {
		t.Error("flows that start apart agree")
	}
	if r := (random{}); r.upTo(0) != 0 || r.below(0) != 0 || r.below(1) != 0 {
		t.Error("nothing to choose from")
	}
}

// min_rtt is the lowest of maxima of seven samples.
func TestMinRTTOutlivesJitter(t *testing.T) {
	m := newMinRTTState()
	now := time.Second
	feed := func(n int, rtt time.Duration) {
		for range n {
			now += 10 * ms
			m.update(now, rtt, ms)
		}
	}
	feed(7, 50*ms)
	feed(1, 10*ms) // a single low sample
	feed(6, 50*ms)
	if m.value != 50*ms {
		t.Errorf("min_rtt %v", m.value)
	}
	feed(7, 40*ms)
	if m.value != 40*ms {
		t.Errorf("min_rtt %v after seven lower ones", m.value)
	}
	feed(30, 60*ms)
	if !m.tooHigh() {
		t.Error("a half more is not too high")
	}
	feed(1, 40*ms)
	if m.tooHigh() {
		t.Error("still too high after a good sample")
	}
}

func TestMinRTTExpires(t *testing.T) {
	for _, tt := range []struct {
		rtt, after time.Duration
	}{
		{50 * ms, 5 * time.Second},
		{400 * ms, 40 * time.Second},
	} {
		m := newMinRTTState()
		now := time.Second
		for range 8 {
			now += 10 * ms
			m.update(now, tt.rtt, ms)
		}
		start := now
		for !m.expired && now < time.Hour {
			now += 10 * ms
			m.update(now, tt.rtt*3/2, ms)
		}
		// The filter holds good samples a little longer.
		if got := now - start; got < tt.after || got > tt.after+80*ms {
			t.Errorf("%v expires after %v, want %v", tt.rtt, got, tt.after)
		}
	}
}

// A sample within the margin of min_rtt is as good as a new one.
func TestMinRTTIsRefreshed(t *testing.T) {
	m := newMinRTTState()
	now := time.Second
	for range 2000 {
		now += 10 * ms
		m.update(now, 50*ms+time.Millisecond, ms) // two packets are 2 ms
		if m.expired {
			t.Fatal("expired")
		}
	}
}

// "At what inflight value did losses cross BBRLossThresh?"
// [BBR] Probing for Bandwidth In ProbeBW
func TestInflightAtLoss(t *testing.T) {
	for _, tt := range []struct {
		rs   sample
		want int64
	}{
		// 100,000 bytes in flight, 1000 lost before this packet of 1000:
		// 99,000 + 0.02 * (99,000 - 1000) / 0.98
		{sample{txInFlight: 100_000, lostSince: 2000, lost: 1000}, 101_000},
		{sample{txInFlight: 1000, lostSince: 5000, lost: 1000}, 1000},
	} {
		if got := inflightAtLoss(&tt.rs); got != tt.want {
			t.Errorf("%+v: %d, want %d", tt.rs, got, tt.want)
		}
	}
}

func TestInflightTooHigh(t *testing.T) {
	c := New(cc.Config{MTU: 1000})
	c.recovery.delivered = 500
	for _, tt := range []struct {
		name string
		rs   sample
		want bool
	}{
		{"2 percent are not too much", sample{prior: 501, txInFlight: 200_000, lostSince: 4000}, false},
		{"more are", sample{prior: 501, txInFlight: 200_000, lostSince: 4001}, true},
		{"three packets say little", sample{prior: 501, txInFlight: 10_000, lostSince: 3000}, false},
		{"sent before the last recovery", sample{prior: 500, txInFlight: 10_000, lostSince: 5000}, false},
		{"marks", sample{ceEW: 0.21}, true},
	} {
		if got := c.isInflightTooHigh(&tt.rs); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestLimitedRounds(t *testing.T) {
	round := func(l *limitedRounds, limited bool) bool {
		return l.ended(false, limited) || l.ended(true, limited)
	}
	var l limitedRounds
	for range appLimitedRounds {
		round(&l, true)
	}
	if round(&l, false) {
		t.Error("three limited rounds are not enough")
	}
	for range appLimitedRounds + 1 {
		round(&l, true)
	}
	if !round(&l, false) {
		t.Error("the end of four limited rounds goes unnoticed")
	}
	if round(&l, false) {
		t.Error("ends twice")
	}
}

func TestAggregationIsThatOfAnInstant(t *testing.T) {
	g := aggregation{filter: newMaxFilter(extraAckedFilterLen)}
	g.update(time.Second, 1000, 5000)
	g.update(time.Second, 2000, 5000)
	g.update(time.Second+ms, 500, 5000)
	if g.value != 3000 {
		t.Errorf("extra_acked %d", g.value)
	}
	g.update(time.Second+2*ms, 9000, 5000)
	if g.value != 5000 {
		t.Errorf("extra_acked %d, above the window", g.value)
	}
	for range extraAckedFilterLen {
		g.filter.advance()
	}
	g.update(time.Second+3*ms, 100, 5000)
	if g.value != 100 {
		t.Errorf("extra_acked %d ten rounds later", g.value)
	}
}

func TestECNAverage(t *testing.T) {
	var s ecnState
	if share, average := s.share(); share != 0 || average != 0 {
		t.Error("marks out of nothing")
	}
	s.now = cc.ECN{ECT0: 75, CE: 25}
	share, average := s.share()
	if share != 0.25 || average != 0.25/16 {
		t.Errorf("share %g, average %g", share, average)
	}
	s.advance(&sample{ce: share})
	if share, _ := s.share(); share != 0 {
		t.Error("counted twice")
	}
	s.now.CE += 10
	if _, average := s.share(); average <= 0.25/16 {
		t.Errorf("average %g", average)
	}
}

func TestLossesOfAnAck(t *testing.T) {
	var l ackLosses
	loss := func(n int64, why cc.LossReason) { l.add(time.Second, cc.Loss{Number: n, Bytes: 1016, Reason: why}) }
	loss(5, cc.LossPackets)
	loss(6, cc.LossPackets)
	loss(9, cc.LossTime)
	loss(10, cc.LossPTO)
	if bytes, ranges := l.ofAck(time.Second); bytes != 3000 || ranges != 2 {
		t.Errorf("%d bytes in %d ranges", bytes, ranges)
	}
	if bytes, _ := l.ofAck(time.Second); bytes != 0 {
		t.Error("counted twice")
	}
	loss(11, cc.LossPackets)
	if bytes, _ := l.ofAck(time.Second + ms); bytes != 0 {
		t.Error("losses found by a timer belong to no ACK")
	}
}

// What a probe timeout gave up and was not lost does not count, for packets sent
// before that was known.
func TestSpuriousLossesAreTakenBack(t *testing.T) {
	var l ackLosses
	lost := cc.Loss{Number: 5, Bytes: 1016, Reason: cc.LossPTO}
	l.add(time.Second, lost)
	l.forget(lost)
	if got := l.since(&cc.Sample{LostSince: 1016}); got != 0 {
		t.Errorf("%d bytes lost", got)
	}
	if got := l.since(&cc.Sample{Stamp: cc.Stamp{Lost: 1016}, LostSince: 500}); got != 500 {
		t.Errorf("%d bytes lost since, want 500", got)
	}
}

func TestSentFlags(t *testing.T) {
	var f sentFlags
	f.set(3, true)
	f.set(4, false)
	f.set(70, true)
	if !f.get(3) || f.get(4) || !f.get(70) {
		t.Error("wrong flags")
	}
	f.set(3+64*int64(len(f)), false) // takes the place of 3
	if f.get(3) {
		t.Error("flag of a packet long past")
	}
}

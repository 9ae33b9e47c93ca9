package hystart

import (
	"math"
	"testing"
	"time"
)

const ms = time.Millisecond

// rtts feeds samples 10 ms apart and returns after how many the filter says
// that slow start should end, 0 if it does not.
func rtts(d *Delay, now *time.Duration, n int, rtt time.Duration) int {
	for i := range n {
		*now += 10 * ms
		if d.OnRTT(*now, rtt, ms) {
			return i + 1
		}
	}
	return 0
}

func TestDelayEndsWhenTheLowestIsHigh(t *testing.T) {
	var d Delay
	now := time.Second
	if rtts(&d, &now, 20, 80*ms) != 0 || d.BaseLine() != 80*ms {
		t.Fatalf("base line %v", d.BaseLine())
	}
	if rtts(&d, &now, 100, 100*ms) != 0 {
		t.Error("ends at a quarter more, not above")
	}
	// The window has to fill, then seven of its minima have to be too high.
	if got := rtts(&d, &now, 30, 101*ms); got != 2*delayWindow-1 {
		t.Errorf("ends after %d samples", got)
	}
}

func TestDelayOutlivesJitter(t *testing.T) {
	var d Delay
	now := time.Second
	rtts(&d, &now, 10, 80*ms)
	for range 50 {
		if rtts(&d, &now, delayWindow-1, 300*ms) != 0 || rtts(&d, &now, 1, 80*ms) != 0 {
			t.Fatal("jitter ends slow start")
		}
	}
}

func TestDelayTakesOneSamplePerBurst(t *testing.T) {
	var d Delay
	for range 100 {
		if d.OnRTT(time.Second, time.Second, 0) {
			t.Fatal("ends within an instant")
		}
	}
	if d.n != 1 {
		t.Errorf("%d samples", d.n)
	}
}

func TestDelayIgnoresLessThanAPacket(t *testing.T) {
	var d Delay
	now := time.Second
	for range 10 {
		now += 10 * ms
		d.OnRTT(now, 10*ms, 30*ms)
	}
	for range 30 {
		now += 10 * ms
		if d.OnRTT(now, 40*ms, 30*ms) { // 30 ms more, one packet
			t.Fatal("one packet's time ends slow start")
		}
	}
}

func TestLossRate(t *testing.T) {
	var l Loss
	if rate, fresh := l.OnLoss(0); rate != 0 || fresh {
		t.Error("packet 0 counts")
	}
	if rate, _ := l.OnLoss(100); rate != 1.0/16 {
		t.Errorf("one loss in a hundred: %g", rate)
	}
	// 2 percent, regularly: far from heavy.
	n := int64(100)
	for range 50 {
		n += 50
		l.OnLoss(n)
	}
	if rate, _ := l.OnLoss(n + 50); rate > HeavyLoss {
		t.Errorf("2 percent count as %g", rate)
	}
	// Three in a row are.
	for i := range int64(3) {
		l.OnLoss(n + 51 + i)
	}
	if rate, fresh := l.OnLoss(n + 52); rate <= HeavyLoss || fresh {
		t.Errorf("three in a row: %g, fresh %v", rate, fresh)
	}
}

// Losses regularly spaced settle at the rate that the recursion has as its fixed
// point.
func TestLossRateSettles(t *testing.T) {
	var l Loss
	var rate float64
	for n := int64(4); n < 4000; n += 4 {
		rate, _ = l.OnLoss(n)
	}
	want := lossGain / (1 - (1-lossGain)*math.Pow(1-lossGain, 4))
	if math.Abs(rate-want) > 1e-9 {
		t.Errorf("rate %g, want %g", rate, want)
	}
}

// round feeds a round of samples to PlusPlus and reports whether slow start is
// over.
func round(h *PlusPlus, number *int64, rtt ...time.Duration) bool {
	next := *number + 10
	for _, r := range rtt {
		h.OnRTT(r)
	}
	over := h.OnAck(*number+1, next)
	*number = next
	return over
}

func same(rtt time.Duration, n int) []time.Duration {
	s := make([]time.Duration, n)
	for i := range s {
		s[i] = rtt
	}
	return s
}

// "RttThresh = max(MIN_RTT_THRESH, min(lastRoundMinRTT / MIN_RTT_DIVISOR,
// MAX_RTT_THRESH)); if (currentRoundMinRTT >= (lastRoundMinRTT + RttThresh))
// cssBaselineMinRtt = currentRoundMinRTT, exit slow start and enter CSS"
// RFC 9406 Section 4.2, Algorithm Details
func TestPlusPlusThreshold(t *testing.T) {
	for _, tt := range []struct {
		last, current time.Duration
		css           bool
	}{
		{10 * ms, 14*ms - 1, false}, // at least 4 ms
		{10 * ms, 14 * ms, true},
		{64 * ms, 72*ms - 1, false}, // an eighth
		{64 * ms, 72 * ms, true},
		{400 * ms, 416*ms - 1, false}, // at most 16 ms
		{400 * ms, 416 * ms, true},
	} {
		var h PlusPlus
		var n int64
		h.OnAck(0, 0)
		round(&h, &n, same(tt.last, samplesPerRound)...)
		for _, r := range same(tt.current, samplesPerRound-1) {
			h.OnRTT(r)
		}
		if h.css {
			t.Errorf("%v after %v: too few samples suffice", tt.current, tt.last)
		}
		h.OnRTT(tt.current)
		if h.css != tt.css {
			t.Errorf("%v after %v: CSS %v", tt.current, tt.last, h.css)
		}
	}
}

// "CSS lasts at most CSS_ROUNDS rounds. If the transition into CSS happens in the
// middle of a round, that partial round counts towards the limit."
// RFC 9406 Section 4.2, Algorithm Details
func TestPlusPlusEndsAfterFiveRounds(t *testing.T) {
	var h PlusPlus
	var n int64
	h.OnAck(0, 0)
	round(&h, &n, same(50*ms, 8)...)
	if h.Growth(400) != 400 {
		t.Error("slow start does not grow by what is acknowledged")
	}
	for i := 1; i <= cssRounds; i++ {
		over := round(&h, &n, same(60*ms, 8)...)
		if h.Growth(400) != 100 {
			t.Errorf("round %d grows by %d", i, h.Growth(400))
		}
		if over != (i == cssRounds) {
			t.Errorf("round %d: over %v", i, over)
		}
	}
}

// "if (currentRoundMinRTT < cssBaselineMinRtt) cssBaselineMinRtt = infinity, resume
// slow start including HyStart++"
func TestPlusPlusResumes(t *testing.T) {
	var h PlusPlus
	var n int64
	h.OnAck(0, 0)
	round(&h, &n, same(50*ms, 8)...)
	round(&h, &n, same(60*ms, 8)...)
	round(&h, &n, same(59*ms, 8)...)
	if h.css || h.Growth(400) != 400 {
		t.Error("still in CSS")
	}
}

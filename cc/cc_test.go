package cc

import (
	"math"
	"testing"
	"time"
)

func TestRate(t *testing.T) {
	for _, tt := range []struct {
		n    int64
		d    time.Duration
		rate Rate
		over int64 // bytes that rate moves in d
	}{
		{0, time.Second, 0, 0},
		{1000, 0, 0, 0},
		{-1, time.Second, 0, 0},
		{1000, -1, 0, 0},
		{1440, 576 * time.Microsecond, 2_500_000, 1440},
		{10, 3 * time.Second, 3, 9},
		{math.MaxInt64, time.Nanosecond, math.MaxInt64, 9223372036},
		{math.MaxInt64, time.Second, math.MaxInt64, math.MaxInt64},
		{math.MaxInt64 / 2, time.Second, math.MaxInt64 / 2, math.MaxInt64 / 2},
	} {
		rate := RateOf(tt.n, tt.d)
		if rate != tt.rate {
			t.Errorf("RateOf(%d, %v) = %d, want %d", tt.n, tt.d, rate, tt.rate)
		}
		if got := rate.Over(tt.d); got != tt.over {
			t.Errorf("Rate(%d).Over(%v) = %d, want %d", rate, tt.d, got, tt.over)
		}
	}
	if got := Rate(2_500_000).TimeFor(1440); got != 576*time.Microsecond {
		t.Errorf("TimeFor = %v", got)
	}
	if got := Rate(0).TimeFor(1); got != math.MaxInt64 {
		t.Errorf("TimeFor at rate 0 = %v", got)
	}
}

func TestSeedFits(t *testing.T) {
	s := Seed{Window: 1, RTT: 100 * time.Millisecond}
	for sample, want := range map[time.Duration]bool{
		100 * time.Millisecond: true,
		80 * time.Millisecond:  true, // off by exactly a quarter
		79 * time.Millisecond:  false,
		133 * time.Millisecond: true,
		134 * time.Millisecond: false,
		0:                      false,
	} {
		if s.Fits(sample) != want {
			t.Errorf("Fits(%v) = %v", sample, !want)
		}
	}
	if (Seed{RTT: 1}).Fits(1) {
		t.Error("a seed without a window fits")
	}
}

func TestEventBufferKeepsTheNewest(t *testing.T) {
	var b EventBuffer
	for i := range EventBufferSize + 3 {
		b.Add(Event{At: time.Duration(i)})
	}
	got := b.Drain(nil)
	if len(got) != EventBufferSize || got[0].At != 3 || got[len(got)-1].At != EventBufferSize+2 {
		t.Fatalf("got %d events, %v to %v", len(got), got[0].At, got[len(got)-1].At)
	}
	if got = b.Drain(got[:0]); len(got) != 0 {
		t.Fatalf("%d events left", len(got))
	}
}

const ms = time.Millisecond

// TestSamplerStartup follows the start of the "alone" scenario: 80 ms round
// trip, the first flight carries no stamp and is measured from the epoch.
func TestSamplerStartup(t *testing.T) {
	var s Sampler
	s.OnHandshakeAck(80*ms, 40*ms, 1052, false)
	s.OnHandshakeAck(80*ms+204*time.Microsecond, 40*ms, 441, true)
	if d := s.Delivered(); d != 1493 {
		t.Fatalf("delivered %d", d)
	}
	first := Stamp{} // sent before the reference existed
	r := s.OnAck(121*ms, 1630, Acked{Number: 1, SentAt: 40 * ms}, first)
	if !r.Fresh || r.Rate != RateOf(1493+1630, 121*ms) {
		t.Errorf("first sample %+v", r)
	}

	st := s.Stamp(1440)
	if st.Delivered != 3123 || st.AckedAt != 121*ms || st.SentAt != 40*ms {
		t.Errorf("stamp %+v", st)
	}
	// Less than a millisecond after the sample: no new one, the stamp stays.
	r = s.OnAck(121*ms+900*time.Microsecond, 1000, Acked{Number: 2, SentAt: 41 * ms}, st)
	if r.Fresh || r.Rate != RateOf(3123, 121*ms) {
		t.Errorf("short interval gave %+v", r)
	}
	if got := s.Stamp(1440).Delivered; got != 3123 {
		t.Errorf("stamp renewed without a sample: %d", got)
	}
}

// Bytes that the end of the handshake acknowledges by implication do not renew
// the reference of the ACK that they come with.
func TestSamplerHandshakeAtOnce(t *testing.T) {
	var s Sampler
	s.OnHandshakeAck(11*ms, 4*ms, 1325, false)
	s.OnHandshakeAck(11*ms, 4*ms, 168, true)
	if st := s.Stamp(0); st.Delivered != 1325 || st.Total != 1493 {
		t.Errorf("stamp %+v", st)
	}
}

// TestSamplerTakesTheLongerInterval: packets sent over 100 ms and acknowledged
// within 10 ms (a burst released by the path) say nothing above the send rate.
func TestSamplerTakesTheLongerInterval(t *testing.T) {
	var s Sampler
	s.OnHandshakeAck(50*ms, 10*ms, 1000, true)
	st := s.Stamp(1440)
	r := s.OnAck(60*ms, 20_000, Acked{Number: 9, SentAt: 110 * ms}, st)
	if r.Interval != 100*ms || r.Rate != 200_000 || r.Peak != 200_000 {
		t.Errorf("%+v", r)
	}
}

func TestSamplerAppLimited(t *testing.T) {
	var s Sampler
	s.OnAppLimited(1000)
	if !s.Stamp(0).AppLimited {
		t.Error("not app limited after running dry")
	}
	s.OnAck(2*ms, 999, Acked{}, Stamp{})
	if !s.Stamp(0).AppLimited {
		t.Error("not app limited with the limited data outstanding")
	}
	s.OnAck(4*ms, 1, Acked{}, Stamp{})
	if s.Stamp(0).AppLimited {
		t.Error("app limited after all of it was delivered")
	}
}

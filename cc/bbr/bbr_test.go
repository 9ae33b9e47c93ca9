package bbr

import (
	"slices"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/cc/cctest"
)

const rtt = 50 * ms

// rate is that of the bottleneck; delivered leaves out the tags.
const rate cc.Rate = 2_000_000

var delivered = float64(rate) * packet / wire

func TestStart(t *testing.T) {
	test := cctest.NewConn(t, New(cctest.Config()))
	test.WantState("startup")
	// "BBR.pacing_rate = BBR.StartupPacingGain * nominal_bandwidth"
	// [BBR] Pacing Rate, with the RTT of 250 ms that stands for none
	if got := float64(test.Control.PacingRate); got != 2.77*12000/0.25 {
		t.Errorf("pacing rate %g", got)
	}
	if !test.Control.SlowStart || test.Control.Window < 10*packet {
		t.Errorf("%+v", test.Control)
	}
}

// Startup finds the bandwidth and leaves a queue, which Drain lets run empty.
// [BBR] State Machine Overview
func TestFindsTheBandwidthAndDrains(t *testing.T) {
	p := newPath(t, rate, rtt)
	if !p.until("drain", 3*time.Second) {
		t.Fatalf("still in %s", p.ctl.State())
	}
	p.wantAbout(t, "max_bw", delivered)
	p.wantAbout(t, "min_rtt", 51_000) // with the time of the packets themselves
	if p.Control.SlowStart {
		t.Error("start-up is not over")
	}
	queue := p.InFlight() - rate.Over(rtt)
	if !p.until("probe_bw_cruise", time.Second) {
		t.Fatalf("still in %s", p.ctl.State())
	}
	if left := p.InFlight() - rate.Over(rtt); left > queue/4 || left > rate.Over(5*ms) {
		t.Errorf("a queue of %d bytes, %d after Startup", left, queue)
	}
}

// [BBR] ProbeBW: the phases come in this order.
func TestCycle(t *testing.T) {
	p := newPath(t, rate, rtt)
	p.run(20 * time.Second)
	next := map[string][]string{
		"startup":         {"drain"},
		"drain":           {"probe_bw_cruise", "probe_bw_down"},
		"probe_bw_down":   {"probe_bw_cruise", "probe_bw_refill", "probe_rtt"},
		"probe_bw_cruise": {"probe_bw_refill", "probe_rtt"},
		"probe_bw_refill": {"probe_bw_up", "probe_rtt"},
		"probe_bw_up":     {"probe_bw_down", "probe_rtt"},
		"probe_rtt":       {"probe_bw_cruise"},
	}
	ups := 0
	for i, s := range p.states[:len(p.states)-1] {
		if !slices.Contains(next[s], p.states[i+1]) {
			t.Errorf("%s after %s", p.states[i+1], s)
		}
		if s == "probe_bw_up" {
			ups++
		}
	}
	if ups < 5 || ups > 30 {
		t.Errorf("%d probes in 20 seconds", ups)
	}
	p.wantAbout(t, "max_bw", delivered)
}

// Gains, [BBR] Summary of Control Behavior in the State Machine
func TestGains(t *testing.T) {
	p := newPath(t, rate, rtt)
	for _, tt := range []struct {
		state        string
		pacing, cwnd float64
	}{
		{"startup", 2.77, 2},
		{"drain", 0.5, 2},
		{"probe_bw_cruise", 1, 2},
		{"probe_bw_refill", 1, 2},
		{"probe_bw_up", 1.25, 2.25},
		{"probe_bw_down", 0.9, 2},
	} {
		if !p.until(tt.state, 10*time.Second) {
			t.Fatalf("never in %s", tt.state)
		}
		p.WantVar("pacing_gain", tt.pacing)
		p.WantVar("cwnd_gain", tt.cwnd)
		if tt.state == "startup" {
			continue
		}
		// "pacing_rate = pacing_gain * bw * (100 - BBR.PacingMarginPercent) / 100"
		want := cc.Rate(tt.pacing * p.Var("bw") * 0.99)
		if got := p.Control.PacingRate; got < want-1 || got > want+1 {
			t.Errorf("%s: pacing rate %d, want %d", tt.state, got, want)
		}
		// "C.send_quantum = min(C.send_quantum, 64 KBytes)", a millisecond
		if got := p.Control.Quantum; got != max(int64(p.ctl.pacingRate/1000), 2*packet) {
			t.Errorf("%s: quantum %d", tt.state, got)
		}
	}
}

// The bandwidth triples: some probes find half as much again, Startup the rest.
func TestFollowsMoreBandwidth(t *testing.T) {
	p := newPath(t, rate, rtt)
	p.run(5 * time.Second)
	p.rate = 3 * rate
	if !p.until("startup", 15*time.Second) {
		t.Error("does not begin anew")
	}
	p.run(5 * time.Second)
	p.wantAbout(t, "max_bw", 3*delivered)
}

// The bandwidth falls to a quarter: two cycles later the old value is forgotten.
func TestFollowsLessBandwidth(t *testing.T) {
	p := newPath(t, rate, rtt)
	p.run(5 * time.Second)
	p.rate = rate / 4
	p.run(10 * time.Second)
	p.wantAbout(t, "max_bw", delivered/4)
}

// [BBR] ProbeRTT Logic: when min_rtt was not seen for five seconds, little is kept
// in flight for 200 ms and a round.
func TestProbeRTT(t *testing.T) {
	p := newPath(t, rate, rtt)
	p.run(3 * time.Second)
	p.rtt = 150 * ms
	if !p.until("probe_rtt", 12*time.Second) {
		t.Fatal("never probes the RTT")
	}
	began := p.Now
	low := p.InFlight()
	for p.ctl.State() == "probe_rtt" {
		p.run(ms)
		low = min(low, p.InFlight())
		if p.Now > began+2*time.Second {
			t.Fatal("probes for ever")
		}
	}
	if got := p.Now - began; got < 200*ms {
		t.Errorf("probed for %v", got)
	}
	if most := int64(0.5*p.Var("max_bw")*0.16) + 4*wire; low > most {
		t.Errorf("%d bytes in flight, want %d at most", low, most)
	}
	p.WantState("probe_bw_cruise")
	p.wantAbout(t, "min_rtt", 151_000)
}

// Samples of an app-limited sender do not lower the bandwidth.
// [BBR] BBR.max_bw and Application-limited Delivery Rate Samples
func TestAppLimitedKeepsTheBandwidth(t *testing.T) {
	p := newPath(t, rate, rtt)
	p.run(3 * time.Second)
	before := p.Var("max_bw")
	p.supply = 1 // less than the rate
	p.run(20 * time.Second)
	if got := p.Var("max_bw"); got < before/2 {
		t.Errorf("max_bw fell from %g to %g", before, got)
	}
}

// One packet in a thousand lost at random is no reason to slow down.
// [BBR] Probing for Bandwidth In ProbeBW: lossThresh is 2 percent
func TestRandomLossIsTolerated(t *testing.T) {
	p := newPath(t, rate, rtt)
	p.lossy = func(n int64) bool { return n%1000 == 999 }
	p.run(10 * time.Second)
	p.wantAbout(t, "max_bw", delivered)
	before := p.Next()
	p.run(5 * time.Second)
	if got := float64(p.Next()-before) * wire / 5; got < 0.9*float64(rate) {
		t.Errorf("sends %g bytes per second", got)
	}
}

// Loss while probing bounds what is in flight.
// [BBR] Probing for Bandwidth In ProbeBW
func TestLossInProbeBoundsInflight(t *testing.T) {
	p := newPath(t, rate, rtt)
	if !p.until("probe_bw_refill", 5*time.Second) {
		t.Fatal("never refills")
	}
	p.lossy = func(n int64) bool { return n%5 == 0 }
	if !p.until("probe_bw_up", time.Second) || !p.until("probe_bw_down", time.Second) {
		t.Fatal("does not end the probe")
	}
	if got, most := p.Var("inflight_longterm"), 1.3*float64(rate.Over(rtt)); got > most {
		t.Errorf("inflight_longterm %g, want %g at most", got, most)
	}
}

// Losses outside of probes lower the short-term bounds by beta, once a round, but
// not below what is delivered. [BBR] When not Probing for Bandwidth
func TestLossInCruiseLowersShortTermBounds(t *testing.T) {
	p := newPath(t, rate, rtt)
	p.run(4 * time.Second) // probes no longer follow each other quickly
	if !p.until("probe_bw_down", 5*time.Second) || !p.until("probe_bw_cruise", 5*time.Second) {
		t.Fatal("never cruises")
	}
	p.rate = rate * 8 / 10
	p.lossy = func(n int64) bool { return n%20 == 0 }
	for p.Var("bw_shortterm") == 0 {
		if p.step(); p.ctl.State() != "probe_bw_cruise" {
			t.Fatal("losses change nothing")
		}
	}
	if got := p.Var("bw_shortterm"); got < delivered*0.69 || got >= delivered {
		t.Errorf("bw_shortterm %g", got)
	}
	if !p.until("probe_bw_refill", 5*time.Second) {
		t.Fatal("never refills")
	}
	p.WantVar("bw_shortterm", 0) // reset
}

// A probe timeout leaves a packet more than what is in flight; when the path is
// back, Startup begins at the old BDP.
func TestSuspension(t *testing.T) {
	p := newPath(t, rate, rtt)
	p.run(3 * time.Second)
	bdp := p.Var("bdp")
	first := p.acked
	p.Advance(time.Second)
	before := p.InFlight()
	p.PTO()
	if got := p.Control.Window; got > before+wire+1 {
		t.Errorf("window %d with %d in flight", got, before)
	}
	p.PTO()
	p.Spurious(first, cc.LossPTO)
	p.WantState("startup_resume")
	p.AckAll()
	if got := float64(p.Control.Window); got < bdp {
		t.Errorf("window %g after the suspension, BDP %g", got, bdp)
	}
}

func TestLongPathUsesSlowStart(t *testing.T) {
	p := newPath(t, 10*rate, 400*ms)
	p.WantState("startup_long_rtt")
	if got, want := p.Control.Window, int64(4*10*packet); got < want {
		t.Errorf("window %d, want %d as for an RTT of 400 ms", got, want)
	}
	if !p.until("drain", 20*time.Second) {
		t.Fatal("never drains")
	}
	p.run(5 * time.Second)
	p.wantAbout(t, "max_bw", 10*delivered)
}

func TestSeed(t *testing.T) {
	for _, tt := range []struct {
		rtt   time.Duration
		state string
	}{
		{rtt, "startup_resume"},
		{2 * rtt, "startup"},
	} {
		ctl := New(cctest.Config())
		test := cctest.NewConn(t, ctl)
		ctl.OnSeed(test.Now, cc.Seed{Window: 100_000, RTT: rtt})
		test.Handshake(1000, tt.rtt)
		test.WantState(tt.state)
	}
	ctl := New(cctest.Config())
	test := cctest.NewConn(t, ctl)
	ctl.OnSeed(test.Now, cc.Seed{Window: 100_000, RTT: rtt})
	test.Handshake(1000, rtt)
	test.WantVar("cwnd", 100_000)
	if got := test.Control.PacingRate; got < 1_900_000 {
		t.Errorf("pacing rate %d", got)
	}
}

// [BBR] Actions when Restarting from Idle
func TestRestartFromIdle(t *testing.T) {
	p := newPath(t, rate, rtt)
	p.run(3 * time.Second)
	if !p.until("probe_bw_up", 5*time.Second) {
		t.Fatal("never probes")
	}
	p.AckAll()
	p.Dry()
	p.Advance(3 * time.Second)
	p.Send(1)
	want := cc.Rate(p.Var("bw") * 0.99)
	if got := p.Control.PacingRate; got > want+1 {
		t.Errorf("paces at %d after a pause, bandwidth %d", got, want)
	}
}

func TestNoAllocation(t *testing.T) {
	ctl := New(cctest.Config())
	a := cc.Ack{Packets: []cc.Acked{{Number: 1, Bytes: packet}}, Bytes: packet}
	a.Newest = a.Packets[0]
	a.Sample = cc.Sample{Rate: 1000, Fresh: true, Delivered: 5000, DeliveredSince: 1000}
	now := time.Second
	if n := testing.AllocsPerRun(100, func() {
		now += ms
		a.Newest.Number++
		a.Sample.Delivered += packet
		ctl.OnPacketSent(now, cc.Packet{Number: a.Newest.Number, Bytes: packet, InFlight: packet, AckEliciting: true})
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
	f.Add([]byte{0, 10, 3, 50, 14, 0, 7, 3, 11, 0, 12, 0, 13, 0, 15, 1, 7, 1})
	f.Add([]byte{15, 1, 15, 2, 6, 9, 0, 9, 3, 50, 7, 255, 6, 50, 0, 1, 3, 50, 7, 255})
	f.Fuzz(func(t *testing.T, ops []byte) {
		out := cctest.Fuzz(t, New(cctest.Config()), ops)
		if again := cctest.Fuzz(t, New(cctest.Config()), ops); !slices.Equal(out, again) {
			t.Fatal("equal inputs gave different outputs")
		}
	})
}

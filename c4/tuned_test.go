package c4

import (
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// What the default has beyond draft-05, see docs/c4/experiments.md. Each test
// shows the rule at work and draft-05 without it.

func TestInitialEndsEarlierAtStandingQueue(tt *testing.T) {
	for _, test := range []struct {
		cfg      Config
		smoothed time.Duration
		want     State
	}{
		{Default(), 161 * ms, Recovery},
		{Default(), 160 * ms, Initial}, // not more than twice the least
		{Draft05(), 161 * ms, Initial},
	} {
		t := newC4Test(tt, test.cfg)
		t.round(1_000_000)
		t.fullRound(1_000_000) // one era without growth
		t.wantVar("nb_eras_no_increase", 1)
		t.c.OnRTT(t.now, cc.RTT{Latest: 300 * ms, Smoothed: test.smoothed, Min: 80 * ms})
		t.wantState(test.want)
	}
	// Not while the rate grows.
	t := newC4Test(tt, Default())
	t.round(1_000_000)
	t.c.OnRTT(t.now, cc.RTT{Latest: 300 * ms, Smoothed: 300 * ms, Min: 80 * ms})
	t.wantState(Initial)
}

// A queue that has been seen empty is not drained again.
func TestBacklogByCycle(tt *testing.T) {
	const rate = 1_024_000
	for _, test := range []struct {
		cfg     Config
		rtt     time.Duration
		backlog float64
		alpha   float64
	}{
		{Default(), 80 * ms, 0, 0.9375},
		{Default(), 85 * ms, 0.0625, 0.875},
		{Default(), 100 * ms, 0.25, 0.75},
		{Default(), 200 * ms, 0.75, 0.75}, // no more than the estimate
		{Draft05(), 80 * ms, 0.75, 0.75},
	} {
		t := newC4Test(tt, test.cfg)
		t.throughInitial(rate)
		t.wantVar("alpha_current", 0.75)
		t.cruise(rate)
		t.c.setMaxRTT(300 * ms) // so that nothing is an excess
		t.rtt = test.rtt
		for t.c.state != Recovery {
			t.c.rtt.runningMin = 80 * ms // it follows, slowly
			t.fullRound(rate)
		}
		t.c.rtt.runningMin = 80 * ms
		t.c.recovery.backlog = 768
		t.c.boundBacklog()
		t.c.alpha = t.c.recoveryAlpha()
		t.wantVar("backlog", test.backlog)
		t.wantVar("alpha_current", test.alpha)
	}
}

func TestPushDelay(tt *testing.T) {
	t := newC4Test(tt, Default())
	t.throughInitial(1_000_000)
	t.cruise(1_000_000)
	t.push(1_000_000, 1_024_000)
	limit := t.c.cfg.PushDelay.time(t.c.rtt.threshold)
	t.rtt += 2 * limit
	t.fullRound(1_024_000) // the first era tells of packets sent before
	t.wantState(Pushing)
	t.rtt -= 2 * limit
	t.send(1)
	for _, d := range []time.Duration{80 * ms, 80*ms + limit} {
		t.sampleOf(d)
		t.ack(acked{rate: 1_024_000})
		t.wantState(Pushing)
	}
	t.sampleOf(80*ms + limit + time.Microsecond)
	t.ack(acked{rate: 1_024_000})
	t.wantState(Recovery)
	t.wantVar("backlog", 127./1024)
	t.wantVar("alpha_current", 0.875)

	// Growth weighs more.
	t = newC4Test(tt, Default())
	t.throughInitial(1_000_000)
	t.cruise(1_000_000)
	t.push(1_000_000, 1_024_000)
	t.fullRound(1_024_000)
	t.sampleOf(80*ms + 2*limit)
	t.ack(acked{rate: 1_250_000})
	t.wantState(Pushing)
}

// With AlphaWait, which the default leaves off, a path without queues and jitter gets
// frames faster while no data wait.
func TestAlphaWait(tt *testing.T) {
	on := Default()
	on.AlphaWait = one + one/2
	wait := func(cfg Config, longest time.Duration) *c4Test {
		t := newC4Test(tt, cfg)
		t.throughInitial(1_000_000)
		t.c.setMaxRTT(80 * ms)
		t.cruise(1_000_000)
		for range 4 {
			t.send(1)
			t.c.OnAppLimited(t.now)
			t.advance(t.rtt)
			t.sampleOf(longest)
			t.sample()
			t.ack(acked{rate: 100_000, lowest: t.next})
			t.wantState(Cruising)
		}
		return t
	}
	t := wait(on, 80*ms)
	t.wantVar("alpha_current", 1.5)
	if got := t.c.Control().PacingRate; got != 1_500_000 {
		t.Errorf("pacing rate %d", got)
	}
	t.wantVar("alpha_previous", 1) // what is slow stays what it was
	t.fullRound(1_000_000)         // data
	t.wantState(Probing)

	wait(on, 90*ms).wantVar("alpha_current", 1) // the threshold is below 7 ms
	wait(Default(), 80*ms).wantVar("alpha_current", 1)
}

// On a path below a millisecond cruising has a coefficient above 1. It is cruising
// all the same: a longer round trip is the path's, and not congestion.
func TestCruisingMeasures(tt *testing.T) {
	for _, test := range []struct {
		cfg  Config
		want State
	}{{Default(), Cruising}, {Draft05(), Recovery}} {
		t := newC4Test(tt, test.cfg)
		t.rtt = 200 * time.Microsecond
		t.throughInitial(1_000_000)
		t.cruise(1_000_000)
		t.fullRound(1_000_000)
		t.sampleOf(20 * ms)
		t.wantState(test.want)
	}
}

// What resuming queues is no reason to forget the seed; what it loses is.
func TestResumingMeasures(tt *testing.T) {
	for _, test := range []struct {
		cfg  Config
		want State
	}{{Default(), Resuming}, {Draft05(), Recovery}} {
		t := newC4Test(tt, test.cfg)
		t.c.OnSeed(0, cc.Seed{Window: 1_000_000, RTT: 80 * ms})
		t.send(1)
		t.advance(80 * ms)
		t.sample()
		t.wantState(Resuming)
		t.roundWith(acked{rate: 1_000_000, inFlight: 1_000_000})
		t.sampleOf(500 * ms)
		t.wantState(test.want)
		t.loseMany(8)
		t.wantState(Recovery)
	}
}

// Long round trips beside short ones are jitter.
func TestMaxRTTByJitter(tt *testing.T) {
	for _, test := range []struct {
		cfg      Config
		shortest time.Duration
		want     float64 // us
	}{
		{Default(), 80 * ms, 95_000},
		{Default(), 90 * ms, 90_000}, // a queue
		{Draft05(), 80 * ms, 90_000},
	} {
		t := newC4Test(tt, test.cfg)
		t.throughInitial(1_000_000)
		t.cruise(1_000_000)
		t.probe(1_000_000)
		t.c.setMaxRTT(90 * ms)
		t.c.resetEra()
		t.send(1)
		t.sampleOf(95 * ms)
		t.sampleOf(test.shortest)
		t.ack(acked{rate: 1_000_000, lowest: t.next})
		t.wantVar("nominal_max_rtt", test.want)
	}
}

func TestNamed(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"c4":                                   func(*Config) {},
		"c4+PushEras=3":                        func(c *Config) { c.PushEras = 3 },
		"c4+BacklogMeasured+AlphaWait=1536":    func(c *Config) { c.BacklogMeasured, c.AlphaWait = true, 1536 },
		"c4+InitialPeak=false+RestartPause=2s": func(c *Config) { c.InitialPeak, c.RestartPause = false, 2*time.Second },
		"c4+Trimming=1+RestartRateMax=5":       func(c *Config) { c.Trimming, c.RestartRateMax = TrimMidpoint, 5 },
	} {
		want := Default()
		change(&want)
		if got, err := Named(name); err != nil || got != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "c5", "c4+", "c4+Nothing", "c4+PushEras", "c4+PushEras=x", "c4+PushEras=0", "c4+Trimming=9", "c4+Trimming=-1", "c4+RestartPause=1", "c4+cfg=1"} {
		if _, err := Named(name); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
}

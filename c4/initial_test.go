package c4

import (
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// "If the nominal rate or the nominal max RTT are not yet assessed": window of 10
// packets, unpaced.
// [C4-SPEC] Section 4.1, Setting pacing rate, congestion window and quantum
func TestInitialBeforeAnyEstimate(tt *testing.T) {
	t := newC4Test(tt, Config{})
	t.wantState(Initial)
	t.wantControl(0, 15_360)
	t.send(1)
	t.advance(80 * ms)
	t.sample()
	t.wantVar("nominal_max_rtt", 80_000)
	t.wantControl(0, 15_360)
	t.ack(acked{rate: 25_000})
	// "the pacing rate is set to a minimum of 1,048,576 bps (128 KB/s)"
	t.wantControl(131_072, 15_360+1424)
}

// "initial_cwnd += nb_bytes_acknowledged >> (3 * nb_eras_no_increase)"
// [C4-SPEC] Section 4.2, Initial state
func TestInitialWindowGrowth(tt *testing.T) {
	t := newC4Test(tt, Config{})
	t.round(10_000) // growth from nothing
	t.wantVar("initial_cwnd", 15_360+1424)
	t.fullRound(10_000) // the era itself still counts in full
	t.wantVar("nb_eras_no_increase", 1)
	t.wantVar("initial_cwnd", 15_360+2*1424)
	t.fullRound(10_000)
	t.wantVar("nb_eras_no_increase", 2)
	t.wantVar("initial_cwnd", 15_360+2*1424+1424>>3)
	t.fullRound(12_500) // a quarter of the doubling: growth
	t.wantVar("nb_eras_no_increase", 0)
}

// An era ends once: acknowledgements that settle nothing new do not count.
func TestInitialErasEndOnce(tt *testing.T) {
	t := newC4Test(tt, Config{})
	t.round(1_000_000)
	t.fullRound(1_000_000)
	for range 5 {
		t.ack(acked{rate: 1_000_000, since: 1 << 40, lowest: t.next})
	}
	t.wantVar("nb_eras_no_increase", 1)
	t.wantVar("era_sequence", float64(t.next))
}

// "C4 will exit the Initial state [...] if the nominal rate does not increase for
// 3 consecutive eras, omitting the eras for which the transmission was
// application limited."
// [C4-SPEC] Section 4.2, Initial state
func TestInitialEndsAfterThreeErasWithoutGrowth(tt *testing.T) {
	t := newC4Test(tt, Config{})
	t.round(1_000_000)
	t.fullRound(1_000_000)
	t.round(900_000) // application limited
	t.wantVar("nb_eras_no_increase", 1)
	t.fullRound(1_000_000)
	t.wantState(Initial)
	window := float64(t.c.initial.window)
	t.fullRound(1_249_999) // less than a quarter of the increase tried
	t.wantState(Recovery)
	t.wantVar("nominal_rate", 1_249_999)
	// "the quotient of the half the last CWND divided by the last nominal rate"
	window += 1424 >> 6
	max := time.Duration(window/2*1e9/1_249_999) * time.Nanosecond
	if got := t.c.rtt.nominalMax; (got - max).Abs() > time.Microsecond {
		t.Errorf("nominal max RTT %v, want %v", got, max)
	}
	t.wantEvents(cc.Event{Kind: cc.EventState, Cause: cc.CauseNoGrowth, To: "recovery"})
}

// "If the signal is due to delay or ECN, C4 will only exit the initial state if
// the nominal_rate did not increase in the last 2 eras."
// [C4-SPEC] Section 4.2, Initial state
func TestInitialIgnoresDelayWhileGrowing(tt *testing.T) {
	t := newC4Test(tt, Draft05())
	t.round(1_000_000)
	for range 2 {
		t.sampleOf(300 * ms)
		t.wantState(Initial)
		t.fullRound(1_000_000)
	}
	t.ack(acked{rate: 1_000_001}) // grew a little in this era
	t.sampleOf(300 * ms)
	t.wantState(Initial)
	t.fullRound(1_000_000)
	t.wantState(Recovery) // third era
}

func TestInitialEndsByDelay(tt *testing.T) {
	t := newC4Test(tt, Config{})
	t.round(1_000_000)
	t.fullRound(1_000_000)
	t.fullRound(1_000_000)
	// Threshold at 1 MB/s: 80 ms * (1/16 + 61/1024 * 196/1024), rounded down.
	t.sampleOf(80*ms + t.c.rtt.threshold)
	t.wantState(Initial)
	t.sampleOf(80*ms + t.c.rtt.threshold + 1)
	t.wantState(Recovery)
	t.wantVar("nominal_rate", 1_000_000)
	t.wantEvents(cc.Event{Kind: cc.EventState, Cause: cc.CauseDelay, To: "recovery"})
	if !t.c.Control().SlowStart {
		t.Error("the end of initial counts as congestion")
	}
}

// "If the signal is due to loss, C4 will only exit the initial state if more
// than 20 packets have been received."
// [C4-SPEC] Section 4.2, Initial state
func TestInitialEndsByLoss(tt *testing.T) {
	t := newC4Test(tt, Config{})
	t.round(20_000_000)
	t.send(1)
	for range 18 {
		t.ack(acked{rate: 20_000_000})
	}
	t.wantState(Initial)
	// Every loss here is above the threshold of 2 percent. 19 acknowledgements
	// and one loss make 20.
	t.loseMany(1)
	t.wantState(Initial)
	t.loseMany(1)
	t.wantState(Recovery)
	t.wantVar("nominal_rate", 20_000_000)
}

func TestInitialStaysWithoutARate(tt *testing.T) {
	t := newC4Test(tt, Config{})
	t.sample()
	t.loseMany(100)
	t.wantState(Initial)
	t.wantVar("nominal_rate", 0)
}

// The reference wants excess delay beside the CE marks, the text does not.
func TestInitialEndsByMarks(tt *testing.T) {
	for _, needsDelay := range []bool{true, false} {
		cfg := Default()
		cfg.InitialECNNeedsDelay = needsDelay
		t := newC4Test(tt, cfg)
		t.round(1_000_000)
		t.fullRound(1_000_000)
		t.mark(1, 0)
		t.wantState(Initial) // still one era short
		t.fullRound(1_000_000)
		t.mark(1, 0)
		if needsDelay {
			t.wantState(Initial)
		} else {
			t.wantState(Recovery)
		}
	}
}

// The peak over short intervals lifts pacing half way, and the window to half of
// what it fills. [C4-REF]
func TestInitialPeak(tt *testing.T) {
	for _, keep := range []bool{true, false} {
		cfg := Default()
		cfg.InitialKeepsWindow = keep
		t := newC4Test(tt, cfg)
		t.send(1)
		t.advance(80 * ms)
		t.sample()
		t.ack(acked{rate: 100_000, peak: 2_000_000})
		t.wantControl((200_000+2_000_000)/2, 80_000)
		if keep {
			t.wantVar("initial_cwnd", 80_000)
		} else {
			t.wantVar("initial_cwnd", 15_360+1424)
		}
	}
	cfg := Default()
	cfg.InitialPeak = false
	t := newC4Test(tt, cfg)
	t.sample()
	t.ack(acked{rate: 100_000, peak: 2_000_000})
	t.wantControl(200_000, 15_360+1424)
}

// "C4 will reenter the initial phase on the first time high jitter is detected
// for the flow" [C4-SPEC] Section 4.4.1, and again, each time a second has
// passed since the recovery that followed: [C4-DESIGN] Revisiting support for Wi-Fi
func TestRestartUnderJitter(tt *testing.T) {
	const many = 100
	for _, test := range []struct {
		name     string
		cfg      func(*Config)
		rate     cc.Rate
		longest  time.Duration
		low, top int // restarts within ten seconds
	}{
		{name: "after a pause", rate: 100_000, longest: 210 * ms, low: 4, top: 7},
		{name: "once", cfg: func(c *Config) { c.Restart = RestartOnce }, rate: 100_000, longest: 210 * ms, low: 1, top: 1},
		{name: "never", cfg: func(c *Config) { c.Restart = RestartNever }, rate: 100_000, longest: 210 * ms},
		{name: "too fast", rate: 1_000_000, longest: 210 * ms},
		{name: "fast allowed", cfg: func(c *Config) { c.RestartRateMax = 1_000_001 }, rate: 1_000_000, longest: 210 * ms, low: 4, top: 7},
		{name: "two and a half times the minimum", rate: 100_000, longest: 200 * ms},
		{name: "long pause", cfg: func(c *Config) { c.RestartPause = time.Hour }, rate: 100_000, longest: 210 * ms},
	} {
		tt.Run(test.name, func(tt *testing.T) {
			cfg := Draft05()
			if test.cfg != nil {
				test.cfg(&cfg)
			}
			t := newC4Test(tt, cfg)
			t.throughInitial(test.rate)
			t.c.initial.window = int64(test.rate) * 160 / 1000 // for a max RTT of 80 ms
			t.c.setMaxRTT(80 * ms)
			restarts, last := 0, t.now
			for range many {
				t.send(1)
				t.advance(100 * ms)
				t.sampleOf(80 * ms)
				t.sampleOf(test.longest)
				t.ack(acked{rate: test.rate, since: 1 << 40, lowest: t.next})
				for _, e := range t.c.Events(nil) {
					if e.Kind != cc.EventState || e.To != "initial" {
						continue
					}
					restarts++
					soon := cfg.Restart == RestartAfterPause && e.At-last < cfg.RestartPause
					if e.Cause != cc.CauseJitter || soon {
						t.Errorf("restart for %v, %v after the last one", e.Cause, e.At-last)
					}
					last = e.At
				}
			}
			if restarts < test.low || restarts > test.top {
				t.Errorf("%d restarts, want %d to %d", restarts, test.low, test.top)
			}
			t.wantVar("nominal_rate", float64(test.rate))
		})
	}
}

// A repeated initial starts from what is known, in the way the variant says.
// [C4-SPEC] Section 4.2.1, Reentering the initial state
func TestReentry(tt *testing.T) {
	for _, test := range []struct {
		name   string
		set    func(*Config)
		window float64
		max    float64
	}{
		{name: "window in use", window: 107_812, max: 100_000},
		{name: "by rate", set: func(c *Config) { c.ReentryByRate = true }, window: 100_000, max: 100_000},
		{name: "smoothed RTT", set: func(c *Config) { c.ReentrySmoothedRTT = true }, window: 107_812, max: 80_000},
		{name: "both", set: func(c *Config) { c.ReentryByRate, c.ReentrySmoothedRTT = true, true }, window: 80_000, max: 80_000},
	} {
		cfg := Draft05()
		if test.set != nil {
			test.set(&cfg)
		}
		t := newC4Test(tt, cfg)
		t.throughInitial(1_000_000)
		t.c.setMaxRTT(100 * ms)
		t.c.alpha = 960
		t.c.setControl() // 15/16 * 1 MB/s * 115 ms
		t.c.initial.noGrowth, t.c.initial.acks = 2, 100
		t.c.ecn.alpha, t.c.growth.congested, t.c.growth.notLimited = 7, true, true
		t.c.enterInitial(cc.CauseGrowth)
		t.wantVar("initial_cwnd", test.window)
		t.wantVar("nominal_max_rtt", test.max)
		t.wantVar("nb_eras_no_increase", 0)
		t.wantVar("ecn_alpha", 0)
		t.wantVar("alpha_previous", 2)
		want := growth{oldRate: 1_000_000, pushAlpha: 2048}
		if t.c.growth != want || t.c.initial.acks != 0 || t.c.initial.settled {
			t.Errorf("%s: %+v, %+v", test.name, t.c.growth, t.c.initial)
		}
	}
}

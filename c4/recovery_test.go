package c4

import (
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// "The estimate of the backlog is set to 1 full RTT of data after the Initial
// phase [...] if the backlog estimate is less than 1/16, set the pacing rate to
// 15/16th of the nominal rate; else if the backlog estimate is less than 1/8, set
// the pacing rate to 7/8th of the nominal rate; else set the pacing rate to 3/4th"
// [C4-DESIGN] Draining the backlog
func TestBacklogAfterInitial(tt *testing.T) {
	const rate = 1_024_000
	t := newC4Test(tt, Draft05())
	t.throughInitial(rate)
	for _, backlog := range []float64{1, 0.75, 0.5, 0.25} {
		t.wantVar("backlog", backlog)
		t.wantVar("alpha_current", 0.75)
		if got := t.c.Control().PacingRate; got != rate*3/4 {
			t.Fatalf("pacing rate %d", got)
		}
		t.cruise(rate)
		t.wantVar("backlog", backlog-0.25)
		t.probe(rate)
		t.fullRound(rate)
	}
	t.wantState(Recovery)
	t.wantVar("alpha_current", 0.9375)
	t.wantVar("backlog", 0)
}

// "It is set to a quarter of the RTT of data after the pushing phase"
// [C4-DESIGN] Draining the backlog
func TestBacklogAfterPushing(tt *testing.T) {
	const rate = 1_024_000
	for _, backlog := range []Coef{0, 0.5 * 1024} {
		t := newC4Test(tt, Draft05())
		t.throughInitial(rate)
		t.cruise(rate)
		t.c.recovery.backlog = backlog
		t.push(rate, rate+1)
		t.c.recovery.backlog = backlog
		t.fullRound(rate)
		t.wantState(Recovery)
		t.wantVar("backlog", max(0.25, backlog.float()))
		t.wantVar("alpha_current", 0.75)
		t.fullRound(rate)
		t.wantVar("backlog", max(0.25, backlog.float())-0.25)
	}
}

func TestRecoveryAlpha(tt *testing.T) {
	for _, test := range []struct {
		rule    Draining
		backlog Coef
		flag    bool
		want    Coef
	}{
		{DrainNone, one, true, 960},
		{DrainFlag, one, false, 960},
		{DrainFlag, 0, true, 896},
		{DrainBacklog, 0, true, 960},
		{DrainBacklog, 63, false, 960},
		{DrainBacklog, 64, false, 896},
		{DrainBacklog, 127, false, 896},
		{DrainBacklog, 128, false, 768},
		{DrainBacklog, one, false, 768},
	} {
		cfg := Default()
		cfg.Draining = test.rule
		t := newC4Test(tt, cfg)
		t.c.recovery.backlog, t.c.recovery.drainFlag = test.backlog, test.flag
		if got := t.c.recoveryAlpha(); got != test.want {
			t.Errorf("rule %d, backlog %d, flag %v: %d, want %d", test.rule, test.backlog, test.flag, got, test.want)
		}
	}
}

// [C4-SPEC] Section 5.7 sets the flag after initial, after pushing, and when the
// round trip has become shorter.
func TestDrainFlag(tt *testing.T) {
	const rate = 1_000_000
	cfg := Draft05()
	cfg.Draining = DrainFlag
	t := newC4Test(tt, cfg)
	t.throughInitial(rate)
	t.wantVar("alpha_current", 0.875)
	t.cruise(rate)
	if t.c.recovery.drainFlag {
		t.Error("the flag stays after recovery")
	}
	t.probe(rate)
	t.c.recovery.drainFlag = false // whatever cruising has found
	t.fullRound(rate)
	t.wantVar("alpha_current", 0.9375)
	t.cruise(rate)
	t.push(rate, rate+1)
	t.fullRound(rate)
	t.wantVar("alpha_current", 0.875)
	t.cruise(rate)
	t.c.setMaxRTT(200 * ms)
	t.probe(rate)
	t.fullRound(rate)
	t.wantVar("alpha_current", 0.875)
	// Not if the rate has grown since: then there is room.
	t.cruise(rate)
	t.c.setMaxRTT(200 * ms)
	t.probe(rate)
	t.fullRound(2 * rate)
	t.wantVar("alpha_current", 0.9375)
}

func TestBacklogVariants(tt *testing.T) {
	const rate = 1_000_000
	cfg := Draft05()
	cfg.BacklogClearOnGrowth = true
	t := newC4Test(tt, cfg)
	t.throughInitial(rate)
	t.fullRound(rate + rate/4) // grew by what counts after initial
	t.wantVar("backlog", 0)

	cfg = Draft05()
	cfg.BacklogClearNearMin = one / 16
	t = newC4Test(tt, cfg)
	t.throughInitial(rate)
	t.rtt = 86 * ms // 85 would be within a sixteenth of 80
	t.fullRound(rate)
	t.wantVar("backlog", 0.75)
	t.rtt = 80 * ms
	t.probe(rate)
	t.fullRound(rate)
	t.fullRound(rate)
	t.wantVar("backlog", 0)
}

// Congestion in a recovery that does not drain already prolongs it, once.
// [C4-REF]
func TestRecoveryIsProlongedOnce(tt *testing.T) {
	const rate = 1_024_000
	for _, extend := range []bool{true, false} {
		cfg := Draft04()
		cfg.RecoveryExtension = extend
		t := newC4Test(tt, cfg)
		t.throughInitial(rate)
		start := t.c.era.sequence
		t.send(2)
		t.sampleOf(200 * ms) // the packets acknowledged were sent in initial
		t.wantState(Recovery)
		t.wantVar("nominal_rate", rate) // "No second rate cut"
		if !extend {
			t.wantVar("alpha_current", 0.9375)
			t.wantVar("era_sequence", float64(start))
			continue
		}
		t.wantVar("alpha_current", 0.875)
		t.wantVar("era_sequence", float64(start+2))
		t.send(2)
		t.sampleOf(200 * ms)
		t.wantVar("era_sequence", float64(start+2))
		if got := t.c.Control().PacingRate; got != rate*7/8 {
			t.Errorf("pacing %d after the extension", got)
		}
	}
	// A recovery that drains is not prolonged.
	t := newC4Test(tt, Draft05())
	t.throughInitial(rate)
	t.sampleOf(200 * ms)
	t.wantVar("alpha_current", 0.75)
}

// "If C4 observes more than 2 successive congestion events it will drop the
// nominal rate to the value of the recent maximum rate". It is 2 in the
// specification and in the reference.
// [C4-SPEC] Section 5.5.2, Reaction to persistent congestion
func TestPersistentCongestion(tt *testing.T) {
	const rate = 20_000_000
	for _, restart := range []bool{false, true} {
		cfg := Draft04()
		cfg.PersistentRestart = restart
		t := newC4Test(tt, cfg)
		t.throughInitial(rate)
		t.cruise(rate)
		congested := func(measured cc.Rate) {
			t.Helper()
			t.wantState(Cruising)
			t.loseMany(2)
			t.wantState(Recovery)
			t.round(measured)
		}
		congested(5_000_000)
		t.wantVar("recent_congestions", 1)
		t.wantVar("nominal_rate", rate*3/4)
		t.c.Events(nil)
		congested(5_000_000)
		t.wantVar("nominal_rate", 5_000_000)
		if restart {
			t.wantVar("recent_congestions", 0)
		} else {
			t.wantVar("recent_congestions", 2)
		}
		t.wantEvents(
			cc.Event{Kind: cc.EventState, Cause: cc.CauseLoss, To: "recovery"},
			cc.Event{Kind: cc.EventCongestion, Cause: cc.CauseLoss},
			cc.Event{Kind: cc.EventRate, Cause: cc.CausePersistent},
			cc.Event{Kind: cc.EventState, To: "cruising", Cause: cc.CauseNoGrowth},
		)
		// "It is reset to zero if no congestion signal was received"
		t.probe(4_000_000)
		t.round(4_000_000)
		t.round(4_000_000)
		t.wantVar("recent_congestions", 0)
	}
}

// "if at least one rate measurement has been received since the end of the
// previous recovery period" [C4-SPEC] Section 5.5.2
func TestPersistentCongestionNeedsAMeasurement(tt *testing.T) {
	const rate = 20_000_000
	t := newC4Test(tt, Draft04())
	t.throughInitial(rate)
	t.cruise(rate)
	for range 2 {
		t.loseMany(2)
		t.roundWith(acked{since: -1}) // no sample
	}
	t.wantVar("recent_congestions", 2)
	t.wantVar("nominal_rate", rate*3/4*3/4)
}

// Growth raises the level: one growing cycle leads to pushing, three in a row to
// initial.
// [C4-DESIGN] Cascade of Increases
func TestCascade(tt *testing.T) {
	t := newC4Test(tt, Draft04())
	t.throughInitial(1_000_000)
	t.cruise(1_000_000)
	t.push(1_000_000, 1_050_000)
	t.wantVar("probe_level", 2)
	// Slow growth ends pushing and counts.
	t.fullRound(1_150_000)
	t.wantState(Recovery)
	t.fullRound(1_150_000)
	t.wantState(Pushing)
	t.wantVar("probe_level", 3)
	t.fullRound(1_300_000)
	t.fullRound(1_300_000)
	t.wantState(Initial)
	t.wantVar("probe_level", 1)
	t.wantVar("nominal_rate", 1_300_000)
}

// A cycle without growth ends the cascade, unless the application limited it.
func TestLevelAfterNoGrowth(tt *testing.T) {
	t := newC4Test(tt, Draft04())
	t.throughInitial(1_000_000)
	t.cruise(1_000_000)
	t.push(1_000_000, 1_050_000)
	t.round(1_000_000) // application limited
	t.round(1_000_000)
	t.wantState(Pushing)
	t.wantVar("probe_level", 2)
	t.fullRound(1_000_000)
	t.fullRound(1_000_000)
	t.wantState(Cruising)
	t.wantVar("probe_level", 1)
}

// "if the previous probe was not successful and did result in a high rate of
// ECN/CE marks, move to probe level 0", "if the previous probe was successful but
// did result in a high rate of ECN/CE marks, remain at the same probe level"
// [C4-DESIGN] Adaptation to ECN/L4S
func TestLevelAfterMarks(tt *testing.T) {
	t := newC4Test(tt, Draft04())
	t.throughInitial(1_000_000)
	t.cruise(1_000_000)
	t.probe(1_000_000)
	t.mark(1, 0)
	t.wantState(Recovery)
	t.wantVar("nominal_rate", 1_000_000) // exempt: it was a probe
	t.fullRound(1_000_000)
	t.wantState(Cruising)
	t.wantVar("probe_level", 0)
	// One era of cruising, then a very careful probe.
	t.fullRound(1_000_000)
	t.wantState(Probing)
	t.wantVar("alpha_current", 33./32)
	t.fullRound(1_050_000)
	t.mark(1, 0)
	t.wantState(Recovery)
	t.fullRound(1_050_000)
	t.wantState(Cruising)
	t.wantVar("ecn_alpha", 0)
	// The marks spoilt the growth. An unmarked success leads to level 1.
	t.wantVar("probe_level", 0)
	t.probe(1_050_000)
	t.fullRound(1_090_000)
	t.fullRound(1_090_000)
	t.wantState(Cruising)
	t.wantVar("probe_level", 1)
}

func TestProbeECNSticky(tt *testing.T) {
	cfg := Draft04()
	cfg.ProbeECNSticky = true
	t := newC4Test(tt, cfg)
	t.throughInitial(1_000_000)
	t.mark(1, 1000)
	t.cruise(1_000_000)
	t.probe(1_000_000)
	t.wantVar("alpha_current", 33./32)

	t = newC4Test(tt, Draft04())
	t.throughInitial(1_000_000)
	t.mark(1, 1000)
	t.cruise(1_000_000)
	t.probe(1_000_000)
	t.wantVar("alpha_current", 17./16)
}

// [C4-DESIGN] Revising the trimming pattern
func TestTrimming(tt *testing.T) {
	const rate = 1_000_000
	for _, test := range []struct {
		name      string
		rule      Trimming
		appToo    bool
		limited   bool
		congested bool
		previous  cc.Rate
		want      float64
	}{
		{name: "none", rule: TrimNone, want: rate},
		{name: "midpoint", rule: TrimMidpoint, want: 950_000},
		{name: "max of two, now", rule: TrimMaxOfTwo, previous: 800_000, want: 900_000},
		{name: "max of two, before", rule: TrimMaxOfTwo, previous: 970_000, want: 970_000},
		{name: "max of two, above", rule: TrimMaxOfTwo, previous: 2_000_000, want: rate},
		{name: "app limited", rule: TrimMaxOfTwo, limited: true, want: rate},
		{name: "app limited too", rule: TrimMaxOfTwo, limited: true, appToo: true, want: 900_000},
		{name: "congested", rule: TrimMaxOfTwo, congested: true, want: rate},
	} {
		tt.Run(test.name, func(tt *testing.T) {
			cfg := Default()
			cfg.Trimming, cfg.TrimAppLimited = test.rule, test.appToo
			t := newC4Test(tt, cfg)
			t.throughInitial(rate)
			t.cruise(rate)
			t.probe(rate)
			t.c.growth.notLimited = false
			t.c.recentMaxRate = 0
			t.round(900_000)
			t.c.previousMaxRate = test.previous
			if test.congested {
				t.sampleOf(300 * ms)
			}
			a := acked{rate: 900_000, since: 1 << 40}
			if test.limited {
				a.since = 0
			}
			t.roundWith(a)
			t.wantState(Cruising)
			t.wantVar("nominal_rate", test.want)
		})
	}
}

// "BacklogMeasured": what the round trip does not show is not there.
func TestBacklogMeasured(tt *testing.T) {
	for rtt, want := range map[time.Duration]float64{
		80 * ms:  0,
		100 * ms: 0.25,
		300 * ms: 1,
	} {
		cfg := Draft05()
		cfg.BacklogMeasured = true
		t := newC4Test(tt, cfg)
		t.round(1_000_000)
		t.fullRound(1_000_000)
		t.fullRound(1_000_000)
		t.rtt = rtt
		t.fullRound(1_000_000)
		t.wantState(Recovery)
		t.wantVar("backlog", want)
	}
}

func TestBacklogNeedsData(tt *testing.T) {
	for _, full := range []bool{false, true} {
		cfg := Draft05()
		cfg.BacklogNeedsData = true
		t := newC4Test(tt, cfg)
		t.throughInitial(1_000_000)
		t.cruise(1_000_000)
		t.push(1_000_000, 1_010_000)
		t.c.recovery.backlog = 0
		if full {
			t.fullRound(1_000_000)
			t.wantVar("backlog", 0.25)
		} else {
			t.round(1_000_000)
			t.wantVar("backlog", 0)
		}
	}
}

func TestTrimKeepsLimited(tt *testing.T) {
	for _, keep := range []bool{false, true} {
		cfg := Draft05()
		cfg.TrimKeepsLimited = keep
		t := newC4Test(tt, cfg)
		t.throughInitial(1_000_000)
		t.cruise(1_000_000)
		for range 3 { // limited by the application
			t.round(100_000)
		}
		t.wantState(Recovery)
		t.round(100_000)
		for range 2 { // the path is slower than thought
			t.fullRound(900_000)
		}
		t.fullRound(900_000)
		t.fullRound(900_000)
		t.wantState(Cruising)
		if keep {
			t.wantVar("nominal_rate", 1_000_000)
		} else {
			t.wantVar("nominal_rate", 900_000)
		}
	}
}

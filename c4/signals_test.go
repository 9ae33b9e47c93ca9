package c4

import (
	"math"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// [C4-SPEC] Section 5.1, Variable Sensitivity, at 0.92 and, as in the reference,
// 963/1024; and the three thresholds that follow from it, by the formulas of
// Sections 5.2 to 5.4 in floating point.
func TestSensitivityAndThresholds(tt *testing.T) {
	for _, test := range []struct {
		rate cc.Rate
		knee float64 // share of the knee
		top  float64 // share of the rest
	}{
		{0, 0, 0},
		{49_999, 0, 0},
		{50_000, 0, 0},
		{525_000, 0.5, 0},
		{1_000_000, 1, 0},
		{5_500_000, 1, 0.5},
		{10_000_000, 1, 1},
		{10_000_001, 1, 1},
		{1 << 40, 1, 1},
	} {
		for _, cfg := range []Config{Default(), {SensitivityKnee: 942, DelaySlope: 192}} {
			knee, slope := cfg.SensitivityKnee.float(), cfg.DelaySlope.float()
			t := newC4Test(tt, Default())
			t.c.cfg.SensitivityKnee, t.c.cfg.DelaySlope = cfg.SensitivityKnee, cfg.DelaySlope
			t.c.nominalRate = test.rate
			s := test.knee*knee + test.top*(1-knee)
			near := func(what string, got, want, within float64) {
				if math.Abs(got-want) > within {
					t.Errorf("%s at %d B/s, knee %.3f: %g, want %g", what, test.rate, knee, got, want)
				}
			}
			const step = 1. / 1024
			near("sensitivity", t.c.sensitivity().float(), s, step)
			near("loss threshold", float64(t.c.lossThreshold())/float64(certain), 0.02+0.5*(1-s), step)
			near("ECN threshold", t.c.ecnThreshold().float(), (2-s)*3/32, step)
			for _, rtt := range []time.Duration{ms, 80 * ms, time.Second} {
				t.c.setMaxRTT(rtt)
				want := min(float64(25*ms), float64(rtt)*(1./16+(1-s)*slope))
				near("delay threshold", float64(t.c.rtt.threshold), want, 2*step*float64(rtt))
			}
		}
	}
}

// "smoothed_loss_rate = (loss + 15*smoothed_loss_rate)/16", for every packet.
// [C4-SPEC] Section 5.3, Detecting Excessive Losses
func TestLossRate(t *testing.T) {
	var l lossRate
	want, next := 0.0, int64(1)
	for _, number := range []int64{1, 2, 5, 20, 52, 53} {
		for ; next <= number; next++ {
			loss := 0.0
			if next == number {
				loss = 1
				// The reference takes the decay of the lost packet, too.
				want *= 15. / 16
				want += (1 - want) / 16
				continue
			}
			want = (loss + 15*want) / 16
		}
		if !l.count(number) {
			t.Fatalf("loss of %d not counted", number)
		}
		if got := float64(l.rate) / float64(certain); math.Abs(got-want) > 1e-6 {
			t.Errorf("loss rate after %d: %g, want %g", number, got, want)
		}
		if l.count(number) || l.count(number-1) {
			t.Errorf("%d counted twice", number)
		}
	}
	// At most 32 packets dilute it.
	a, b := lossRate{rate: certain / 2, last: 100}, lossRate{rate: certain / 2, last: 100}
	a.count(132)
	b.count(10_000)
	if a.rate != b.rate {
		t.Errorf("loss rate %d after 32 packets, %d after more", a.rate, b.rate)
	}
}

// A loss numbered below the era's start in recovery is one of those that led
// there. [C4-SPEC] Section 4.4, Recovery state
func TestOldLossesInRecoveryAreIgnored(tt *testing.T) {
	t := newC4Test(tt, Draft04())
	t.throughInitial(20_000_000)
	t.send(10)
	t.cruise(20_000_000)
	t.send(10)
	t.lose(t.next - 10)
	t.wantState(Recovery)
	t.wantVar("nominal_rate", 15_000_000)
	rate := t.c.loss.rate
	for n := int64(9); n > 0; n-- {
		t.lose(t.next - n)
	}
	if t.c.loss.rate != rate {
		t.Error("losses from before recovery counted")
	}
	t.wantVar("alpha_current", 0.9375)
	t.send(1)
	t.lose(t.next - 1)
	t.wantVar("alpha_current", 0.875)
	t.wantVar("nominal_rate", 15_000_000)
}

// "we should not change the state of C4 for losses detected solely based on
// timer" [C4-SPEC] Section 5.3.1, Do not react to Probe Time Out
func TestTimerLossesChangeNothing(tt *testing.T) {
	t := newC4Test(tt, Config{})
	t.throughInitial(20_000_000)
	t.cruise(20_000_000)
	t.send(100)
	before := *t.c
	for n := range int64(100) {
		t.c.OnPTO(t.now, int(n+1))
		t.c.OnLoss(t.now, cc.Loss{Number: t.next - 100 + n, Reason: cc.LossPTO})
		t.c.OnSpuriousLoss(t.now, cc.Loss{Number: t.next - 100 + n})
	}
	if before != *t.c {
		t.Errorf("timer losses changed the controller:\n%+v\n%+v", before, *t.c)
	}
	t.c.OnLoss(t.now, cc.Loss{Number: t.next - 1, Reason: cc.LossTime})
	t.wantState(Recovery)
}

// The reductions of [C4-SPEC] Section 5.5.1, and the reference's for losses.
func TestBeta(tt *testing.T) {
	t := newC4Test(tt, Draft04())
	t.c.nominalRate = 20_000_000
	if got := t.c.beta(cc.CauseLoss); got != 256 {
		t.Errorf("loss at full sensitivity: %d", got)
	}
	t.c.nominalRate = 0
	if got := t.c.beta(cc.CauseLoss); got != 128 {
		t.Errorf("loss without sensitivity: %d", got)
	}
	t.c.cfg.LossBetaBySensitivity = false
	if got := t.c.beta(cc.CauseLoss); got != 256 {
		t.Errorf("loss in the text: %d", got)
	}
	t.c.setMaxRTT(80 * ms) // threshold 20.3 ms
	for excess, want := range map[time.Duration]Coef{
		t.c.rtt.threshold / 8: 127,
		t.c.rtt.threshold / 4: 255,
		time.Second:           256,
	} {
		t.c.rtt.excess = excess
		if got := t.c.beta(cc.CauseDelay); got < want || got > want+1 {
			t.Errorf("delay excess %v: %d, want %d", excess, got, want)
		}
	}
	threshold := t.c.ecnThreshold() // 3/16 at rate 0
	for alpha, want := range map[Coef]Coef{
		threshold:     0,
		threshold + 1: 1024 / 192,
		216:           24 * 1024 / 192,
		1024:          256,
	} {
		t.c.ecn.alpha = alpha
		if got := t.c.beta(cc.CauseECN); got != want {
			t.Errorf("ecn alpha %d: %d, want %d", alpha, got, want)
		}
	}
}

// "On entering recovery from the cruising state, C4 reduces the nominal_rate by
// the factor beta" [C4-SPEC] Section 5.5.1; losses lower the max RTT, too [C4-REF].
func TestReductionInCruising(tt *testing.T) {
	for _, cut := range []bool{true, false} {
		cfg := Draft04()
		cfg.LossCutsMaxRTT = cut
		t := newC4Test(tt, cfg)
		t.throughInitial(20_000_000)
		t.cruise(20_000_000)
		t.c.setMaxRTT(80 * ms)
		t.loseMany(1)
		t.wantState(Recovery)
		t.wantVar("nominal_rate", 15_000_000)
		if cut {
			t.wantVar("nominal_max_rtt", 60_000)
		} else {
			t.wantVar("nominal_max_rtt", 80_000)
		}
		t.wantEvents(
			cc.Event{Kind: cc.EventState, Cause: cc.CauseNoGrowth, To: "recovery"},
			cc.Event{Kind: cc.EventState, Cause: cc.CauseNoGrowth, To: "cruising"},
			cc.Event{Kind: cc.EventState, Cause: cc.CauseLoss, To: "recovery"},
			cc.Event{Kind: cc.EventCongestion, Cause: cc.CauseLoss},
		)
		// Samples from before do not undo it.
		// [C4-DESIGN] Avoiding Congestion Bounce
		t.ack(acked{rate: 20_000_000})
		t.wantVar("nominal_rate", 15_000_000)
		t.wantVar("recent_max_rate", 20_000_000)
	}
}

func TestReductionByMarks(tt *testing.T) {
	t := newC4Test(tt, Draft04())
	t.throughInitial(20_000_000)
	t.cruise(20_000_000)
	t.mark(1, 1)
	t.wantState(Recovery)
	t.wantVar("ecn_alpha", 0.5)
	t.wantVar("nominal_rate", 15_000_000)
	t.fullRound(15_000_000)
	t.wantVar("ecn_alpha", 0)
}

// "if frac >= 0.5: ecn_alpha = frac, else: ecn_alpha += (frac - ecn_alpha)/16"
// [C4-SPEC] Section 5.4, Detecting Excessive CE Marks
func TestECNRatio(tt *testing.T) {
	for _, test := range []struct {
		name           string
		every, preempt bool
		start          Coef
		ce, ect1       int64
		want           Coef
	}{
		{name: "average", start: 512, ce: 1, ect1: 3, want: (15*512 + 256) / 16},
		{name: "preempt", start: 512, ce: 3, ect1: 1, want: 768},
		{name: "preempt at a half", start: 0, ce: 1, ect1: 1, want: 512},
		{name: "average down", start: 1024, ce: 3, ect1: 1, want: (15*1024 + 768) / 16},
		{name: "preempt down", preempt: true, start: 1024, ce: 3, ect1: 1, want: 768},
		{name: "no marks", start: 512, ce: 0, ect1: 10, want: 512},
		{name: "no marks, every ack", every: true, start: 512, ce: 0, ect1: 10, want: 480},
		{name: "no packets, every ack", every: true, start: 512, want: 512},
	} {
		cfg := Default()
		cfg.ECNEveryAck, cfg.ECNPreemptAlways = test.every, test.preempt
		t := newC4Test(tt, cfg)
		t.c.ecn.alpha = test.start
		t.mark(test.ce, test.ect1)
		if got := t.c.ecn.alpha; got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
		// What came without marks is counted when the era ends.
		if test.name == "no marks" {
			t.c.resetEra()
			if got := t.c.ecn.alpha; got != 480 {
				t.Errorf("%s, at the end of the era: %d", test.name, got)
			}
		}
	}
}

// Counts that go back come from a broken peer.
func TestECNCountsThatGoBack(tt *testing.T) {
	t := newC4Test(tt, Config{})
	t.c.OnECN(0, cc.ECN{CE: 10, ECT1: 100})
	alpha := t.c.ecn.alpha
	t.c.OnECN(0, cc.ECN{CE: 5, ECT1: 50})
	t.c.OnECN(0, cc.ECN{CE: math.MinInt64, ECT1: math.MinInt64})
	if t.c.ecn.alpha != alpha {
		t.Errorf("ecn alpha %d, was %d", t.c.ecn.alpha, alpha)
	}
}

// "We only use the measurements to increase the nominal rate"
// [C4-DESIGN] Monitoring the nominal rate
func TestNominalRate(tt *testing.T) {
	t := newC4Test(tt, Draft05())
	t.ack(acked{rate: 1_000_000})
	t.wantVar("nominal_rate", 1_000_000)
	t.ack(acked{rate: 900_000})
	t.wantVar("nominal_rate", 1_000_000)
	t.ack(acked{rate: 1_100_000, stale: true})
	t.wantVar("nominal_rate", 1_000_000)
	t.ack(acked{rate: 1_100_000, since: -1})
	t.wantVar("nominal_rate", 1_000_000)
	t.ack(acked{rate: 1_100_000, handshake: true})
	t.wantVar("nominal_rate", 1_000_000)
	t.ack(acked{rate: 1_100_000})
	t.wantVar("nominal_rate", 1_100_000)
	t.wantVar("recent_max_rate", 1_100_000)

	t = newC4Test(tt, Draft04())
	t.ack(acked{rate: 1_100_000, stale: true})
	t.wantVar("nominal_rate", 1_100_000)
}

// The path was the limit if it delivered more than the nominal rate fills the
// shortest round trip with. [C4-REF]
func TestNotLimited(tt *testing.T) {
	t := newC4Test(tt, Config{})
	t.sample()
	t.ack(acked{rate: 1_000_000})
	t.c.resetGrowth()
	t.ack(acked{rate: 1_000_000, since: 80_000})
	if t.c.growth.notLimited {
		t.Error("80,000 bytes are what 1 MB/s brings in 80 ms")
	}
	t.ack(acked{rate: 1_000_000, since: 80_001})
	if !t.c.growth.notLimited {
		t.Error("80,001 bytes are more than that")
	}
}

// [C4-SPEC] Section 3.2, Nominal max RTT
func TestNominalMaxRTT(tt *testing.T) {
	cruising := func() *c4Test {
		t := newC4Test(tt, Draft04())
		t.throughInitial(1_000_000)
		t.cruise(1_000_000)
		t.c.setMaxRTT(80 * ms)
		return t
	}
	t := cruising()
	t.sampleOf(90 * ms)
	t.rtt = 70 * ms
	t.round(1_000_000)
	t.wantVar("running_min_rtt", 70_000)
	t.wantVar("nominal_max_rtt", 90_000)

	// "else nominal_max_rtt = (7*nominal_max_rtt + era_max_rtt)/8", and the
	// running min likewise when it was not reached.
	t = cruising()
	t.rtt = 88 * ms
	t.round(1_000_000)
	t.wantVar("running_min_rtt", 81_000)
	t.wantVar("nominal_max_rtt", 88_000)
	t.rtt = 80 * ms
	t.round(1_000_000) // leaves cruising
	t.wantVar("nominal_max_rtt", 87_000)

	// "cap RTT increases to MAX_JITTER, i.e., 250ms"
	t = cruising()
	t.sample()
	t.rtt = time.Second
	t.round(1_000_000)
	t.wantVar("running_min_rtt", 80_000)
	t.wantVar("nominal_max_rtt", 330_000)

	// An era without a sample of its own has the latest.
	t = cruising()
	t.send(1)
	t.ack(acked{rate: 1_000_000, lowest: t.next})
	t.wantVar("running_min_rtt", 80_000)
	t.wantVar("nominal_max_rtt", 80_000)

	// Not "if alpha_previous > 1.0": what probing sent is acknowledged in
	// recovery.
	t = cruising()
	t.rtt = 80 * ms
	t.probe(1_000_000)
	t.fullRound(1_000_000)
	t.rtt = 81 * ms
	t.round(1_000_000)
	t.wantState(Cruising)
	t.wantVar("nominal_max_rtt", 80_000)
}

// "cwnd = pacing_rate * (nominal_max_rtt + margin)", quantum of 4 ms.
// [C4-SPEC] Section 4.1, Setting pacing rate, congestion window and quantum
func TestControl(tt *testing.T) {
	for _, test := range []struct {
		state   State
		alpha   Coef
		rate    cc.Rate
		max     time.Duration
		pacing  cc.Rate
		window  int64
		quantum int64
	}{
		// margin max/4
		{Cruising, one, 1_000_000, 40 * ms, 1_000_000, 40_000 + 10_000, 3906},
		// margin 15 ms
		{Cruising, one, 1_000_000, 80 * ms, 1_000_000, 80_000 + 15_000, 3906},
		{Recovery, 768, 1_000_000, 80 * ms, 750_000, 60_000 + 11_250, 2929},
		// never below two packets
		{Recovery, 960, 1000, ms, 937, 2 * 1440, 2 * 1440},
		{Cruising, one, 1 << 40, time.Second, 1 << 40, 1<<40 + 15<<40/1000, 65_536},
		// at least one packet more than at the nominal rate
		{Probing, 1088, 160_000, 80 * ms, 170_000, 13_600 + 2550 + 1440 - 800, 2 * 1440},
		{Probing, 1088, 1_024_000, 80 * ms, 1_088_000, 87_040 + 16_320, 4250},
		{Pushing, 1280, 16_000, 80 * ms, 20_000, 1600 + 300 + 1440 - 320, 2 * 1440},
	} {
		t := newC4Test(tt, Config{})
		t.c.state, t.c.alpha, t.c.nominalRate = test.state, test.alpha, test.rate
		t.c.setMaxRTT(test.max)
		t.c.setControl()
		t.wantControl(test.pacing, test.window)
		if got := t.c.Control().Quantum; got != test.quantum {
			t.Errorf("%v at %d: quantum %d, want %d", test.state, test.rate, got, test.quantum)
		}
	}
}

func TestMTU(tt *testing.T) {
	t := newC4Test(tt, Config{})
	if got := t.c.Control().Quantum; got != 2*1440 {
		t.Errorf("quantum %d", got)
	}
	t.c.OnMTU(0, 1500)
	t.c.OnMTU(0, -1)
	if got := t.c.Control().Quantum; got != 2*1500 {
		t.Errorf("quantum %d", got)
	}
}

// Handshake packets count for the smoothed RTT only.
func TestHandshakeIsIgnored(tt *testing.T) {
	t := newC4Test(tt, Config{})
	t.c.OnPacketSent(0, cc.Packet{Number: 7, Handshake: true})
	t.c.OnRTT(0, cc.RTT{Latest: ms, Smoothed: 2 * ms, Handshake: true})
	t.c.OnECN(0, cc.ECN{CE: 10, Handshake: true})
	t.c.OnLoss(0, cc.Loss{Number: 1, Handshake: true})
	t.ack(acked{rate: 1000, handshake: true})
	want := newC4Test(tt, Config{}).c
	want.smoothedRTT, want.handshakeRTT = 2*ms, ms
	if *want != *t.c {
		t.Errorf("got %+v\nwant %+v", *t.c, *want)
	}
}

// Time that goes back is reported and taken as standing still.
func TestTimeDoesNotGoBack(tt *testing.T) {
	t := newC4Test(tt, Config{})
	t.advance(time.Second)
	t.send(1)
	t.advance(-ms)
	t.send(1)
	t.wantEvents(cc.Event{Kind: cc.EventViolation})
	if t.c.now != time.Second {
		t.Errorf("now %v", t.c.now)
	}
}

// Every input tells the time, and the controller starts with 10 packets, ECT(1).
func TestInputs(t *testing.T) {
	for name, input := range map[string]func(*Controller){
		"sent":     func(c *Controller) { c.OnPacketSent(1, cc.Packet{}) },
		"limited":  func(c *Controller) { c.OnAppLimited(1) },
		"ecn":      func(c *Controller) { c.OnECN(1, cc.ECN{}) },
		"rtt":      func(c *Controller) { c.OnRTT(1, cc.RTT{}) },
		"loss":     func(c *Controller) { c.OnLoss(1, cc.Loss{}) },
		"spurious": func(c *Controller) { c.OnSpuriousLoss(1, cc.Loss{}) },
		"pto":      func(c *Controller) { c.OnPTO(1, 1) },
		"mtu":      func(c *Controller) { c.OnMTU(1, 1500) },
		"seed":     func(c *Controller) { c.OnSeed(1, cc.Seed{}) },
		"ack":      func(c *Controller) { c.OnAck(1, &cc.Ack{}) },
	} {
		c := New(cc.Config{}, Config{})
		want := cc.Control{Window: 15_360, Quantum: 2 * cc.DefaultMTU, SlowStart: true, ECN: cc.ECT1}
		if got := c.Control(); got != want {
			t.Fatalf("%+v, want %+v", got, want)
		}
		if input(c); c.now != 1 {
			t.Errorf("%s left the time at %v", name, c.now)
		}
	}
}

// A loss that was counted before is not judged again.
func TestRepeatedLoss(tt *testing.T) {
	t := newC4Test(tt, Draft04())
	t.throughInitial(20_000_000)
	t.cruise(20_000_000)
	t.send(1)
	t.c.loss = lossRate{rate: certain / 2, last: t.next}
	t.lose(t.next)
	t.wantState(Cruising)
}

// What the profiles are made of: [C4-REF], and what the newest design changes.
func TestProfiles(t *testing.T) {
	d4, d5 := Draft04(), Draft05()
	if d4.Draining != DrainNone || d4.Trimming != TrimNone || d4.Restart != RestartOnce || !d4.StaleRate {
		t.Errorf("draft-04: %+v", d4)
	}
	if d5.Draining != DrainBacklog || d5.Trimming != TrimMaxOfTwo || d5.Restart != RestartAfterPause ||
		d5.RestartPause != time.Second || d5.StaleRate {
		t.Errorf("draft-05: %+v", d5)
	}
	d4.Draining, d4.Trimming, d4.Restart, d4.StaleRate = d5.Draining, d5.Trimming, d5.Restart, d5.StaleRate
	if d4 != d5 {
		t.Errorf("otherwise they differ: %+v, %+v", d4, d5)
	}
	want := Config{
		AlphaRecovery: 960, AlphaDrainShallow: 896, AlphaDrainDeep: 768,
		AlphaProbe: 1088, AlphaProbeECN: 1056, AlphaPush: 1256,
		InitialPeak: true, InitialKeepsWindow: true, InitialECNNeedsDelay: true,
		CruiseEras: 2, PushEras: 1, RecoveryExtension: true,
		Draining: DrainBacklog, BacklogInitial: 1024, BacklogPush: 256,
		Trimming: TrimMaxOfTwo, PersistentCount: 2,
		Restart: RestartAfterPause, RestartPause: time.Second,
		RestartRTTMin: 50 * ms, RestartRateMax: 1_000_000,
		SensitivityKnee: 963, DelaySlope: 196, LossBetaBySensitivity: true, LossCutsMaxRTT: true,
	}
	if d5 != want {
		t.Errorf("draft-05 is\n%+v, want\n%+v", d5, want)
	}
}

func TestConfig(t *testing.T) {
	for _, name := range []string{"c4", "c4-draft04", "c4-draft05"} {
		cfg, err := Named(name)
		if err != nil || cfg.Check() != nil || cfg == (Config{}) {
			t.Errorf("%s: %+v, %v, %v", name, cfg, err, cfg.Check())
		}
	}
	if _, err := Named("reno"); err == nil {
		t.Error("reno is a C4 profile")
	}
	if got := New(cc.Config{}, Config{}).cfg; got != Default() {
		t.Errorf("the zero Config is %+v", got)
	}
	for name, change := range map[string]func(*Config){
		"AlphaRecovery": func(c *Config) { c.AlphaRecovery = one + 1 },
		"AlphaProbe":    func(c *Config) { c.AlphaProbe = one },
		"AlphaProbeECN": func(c *Config) { c.AlphaProbeECN = one },
		"AlphaPush":     func(c *Config) { c.AlphaPush = one },
		"CruiseEras":    func(c *Config) { c.CruiseEras = 0 },
		"Draining":      func(c *Config) { c.Draining = 9 },
		"Trimming":      func(c *Config) { c.Trimming = 9 },
		"Restart":       func(c *Config) { c.Restart = 9 },
		"RestartPause":  func(c *Config) { c.RestartPause = -1 },
	} {
		cfg := Default()
		change(&cfg)
		if cfg.Check() == nil {
			t.Errorf("bad %s accepted", name)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("New accepts a bad %s", name)
				}
			}()
			New(cc.Config{}, cfg)
		}()
	}
}

func TestNames(t *testing.T) {
	for s, want := range map[State]string{
		Initial: "initial", Recovery: "recovery", Cruising: "cruising",
		Probing: "probing", Pushing: "pushing", Resuming: "resuming", 99: "unknown",
	} {
		if s.String() != want {
			t.Errorf("state %d is %q, want %q", s, s, want)
		}
	}
}

package c4

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// operations turns bytes into calls of a Controller and checks after each that
// what must always hold, holds. Numbers and times are those a transport could
// give, and sometimes ones that it should not.
type operations struct {
	data []byte
	c    *Controller
	twin *Controller // gets the same calls
	name string      // of the last call

	now      time.Duration
	next     int64
	lowest   int64
	inFlight int64
	mtu      int64
	ecn      cc.ECN
	unmarked bool // leave out OnECN

	before     Controller // copy from before the last call
	sampleRate cc.Rate    // of the last call, if it was an ack
	extensions int        // of the present recovery
}

func newOperations(data []byte) *operations {
	o := &operations{data: data, mtu: 1440}
	cfg := o.config()
	base := cc.Config{MTU: o.mtu}
	o.c, o.twin = New(base, cfg), New(base, cfg)
	return o
}

// config picks a profile and some variants.
func (o *operations) config() Config {
	cfg := []Config{Draft05(), Draft04(), Default()}[o.byte()%3]
	bits := o.byte()
	flag := func(n int) bool { return bits>>n&1 == 1 }
	if flag(0) {
		cfg.PushEras, cfg.AlphaPush = 2, 1280
	}
	if flag(1) {
		cfg.Draining = DrainFlag
	}
	if flag(2) {
		cfg.Trimming = TrimMidpoint
	}
	if flag(3) {
		cfg.DelayInCruising, cfg.ECNEveryAck = true, true
	}
	if flag(4) {
		cfg.PushErasMax, cfg.PersistentRestart = 3, true
	}
	if flag(5) {
		cfg.RecoveryExtension, cfg.InitialPeak = false, false
	}
	if flag(6) {
		cfg.BacklogClearOnGrowth, cfg.BacklogClearNearMin = true, 64
		cfg.BacklogMeasured, cfg.BacklogNeedsData, cfg.TrimKeepsLimited = true, true, true
	}
	if flag(7) {
		cfg.TrimAppLimited, cfg.ReentryByRate, cfg.ProbeECNSticky = true, true, true
	}
	return cfg
}

func (o *operations) byte() int64 {
	if len(o.data) == 0 {
		return 0
	}
	b := o.data[0]
	o.data = o.data[1:]
	return int64(b)
}

// number returns a number of very varied size, negative once in a while.
func (o *operations) number() int64 {
	b := o.byte()
	n := (b&7 + 1) << (b >> 3 * 2)
	if b == 255 {
		return -n
	}
	return n + o.byte()
}

// rate returns a rate near the nominal rate or up to 400 MB/s, rarely anything.
func (o *operations) rate() cc.Rate {
	b := o.byte()
	switch {
	case b == 255:
		return cc.Rate(o.number())
	case b >= 96:
		return o.c.nominalRate / 64 * cc.Rate(b&31+56)
	}
	return cc.Rate((b&15 + 16) << (b >> 4) * 400)
}

func (o *operations) rtt() time.Duration {
	b := o.byte()
	if b == 255 {
		return time.Duration(o.number())
	}
	return time.Duration(b&31+1) * 500 * time.Microsecond << (b >> 5)
}

// both makes a call to the controller and to its twin.
func (o *operations) both(name string, call func(*Controller)) {
	o.name = name
	o.before = *o.c
	call(o.c)
	call(o.twin)
}

// step makes one call.
func (o *operations) step() error {
	o.sampleRate = -1
	switch op := o.byte() % 16; op {
	case 0, 1, 2:
		for range o.byte()%16 + 1 {
			o.inFlight += o.mtu
			p := cc.Packet{Number: o.next, Bytes: o.mtu, InFlight: o.inFlight, AckEliciting: true}
			o.next++
			o.both("sent", func(c *Controller) { c.OnPacketSent(o.now, p) })
		}
	case 3, 4, 5, 6, 7:
		o.ack(op >= 5)
	case 8:
		r := cc.RTT{Latest: o.rtt(), Smoothed: o.rtt()}
		o.both("rtt", func(c *Controller) { c.OnRTT(o.now, r) })
	case 9, 10:
		l := cc.Loss{Number: o.lowest + o.byte(), Reason: cc.LossReason(o.byte() % 3)}
		o.both("loss "+l.Reason.String(), func(c *Controller) { c.OnLoss(o.now, l) })
	case 11:
		if o.unmarked {
			return nil
		}
		o.ecn.CE += o.byte() % 8
		o.ecn.ECT1 += o.byte() % 64
		e := o.ecn
		o.both("ecn", func(c *Controller) { c.OnECN(o.now, e) })
	case 12:
		o.both("dry", func(c *Controller) { c.OnAppLimited(o.now) })
	case 13:
		n := int(o.byte())
		o.both("pto", func(c *Controller) { c.OnPTO(o.now, n); c.OnSpuriousLoss(o.now, cc.Loss{}) })
	case 14:
		o.mtu = o.byte()*40 + 1
		o.both("mtu", func(c *Controller) { c.OnMTU(o.now, o.mtu) })
	case 15:
		s := cc.Seed{Window: o.number(), RTT: o.rtt()}
		o.both("seed", func(c *Controller) { c.OnSeed(o.now, s) })
	}
	return o.check()
}

// ack acknowledges after an RTT sample and some time, possibly to the end of an
// era.
func (o *operations) ack(endsEra bool) {
	rtt := o.rtt()
	o.now += rtt / time.Duration(o.byte()%4+1)
	if o.now > 1<<60 {
		o.now = 1 << 60
	}
	o.both("rtt", func(c *Controller) { c.OnRTT(o.now, cc.RTT{Latest: rtt, Smoothed: rtt}) })
	if err := o.check(); err != nil {
		return // found again by step
	}
	bytes := min(max(o.number(), 0), o.inFlight)
	o.inFlight -= bytes
	if endsEra {
		o.lowest = o.next
	} else {
		o.lowest = min(o.lowest+o.byte()%4, o.next)
	}
	a := cc.Ack{
		Bytes:           bytes,
		Newest:          cc.Acked{Number: o.next - 1, SentAt: o.now - min(rtt, o.now)},
		LowestUnsettled: o.lowest,
		InFlight:        o.inFlight,
		Sample:          cc.Sample{Rate: o.rate(), Fresh: o.byte()&7 != 0, Peak: o.rate(), DeliveredSince: o.number()},
	}
	if a.Sample.Fresh || o.c.cfg.StaleRate {
		o.sampleRate = a.Sample.Rate
	}
	o.both("ack", func(c *Controller) { c.OnAck(o.now, &a) })
}

// check returns what does not hold after the last call.
func (o *operations) check() error {
	c, was := o.c, &o.before
	fail := func(format string, args ...any) error {
		return fmt.Errorf("after %s, %v -> %v: %s", o.name, was.state, c.state, fmt.Sprintf(format, args...))
	}
	if *c != *o.twin {
		return fail("same inputs, different state:\n%+v\n%+v", *c, *o.twin)
	}

	// 1. The nominal rate rises through a sample only.
	if c.nominalRate > was.nominalRate && (o.name != "ack" || c.nominalRate > o.sampleRate) {
		return fail("nominal rate %d -> %d without a sample of it", was.nominalRate, c.nominalRate)
	}
	// It falls by congestion in cruising and resuming, or when recovery ends.
	if c.nominalRate < was.nominalRate {
		signal := was.state == Cruising || was.state == Resuming
		judged := was.state == Recovery && c.state != Recovery && o.name == "ack"
		if !signal && !judged {
			return fail("nominal rate %d -> %d", was.nominalRate, c.nominalRate)
		}
		if signal && c.nominalRate < was.nominalRate-was.nominalRate/4 {
			return fail("nominal rate %d -> %d, more than a quarter", was.nominalRate, c.nominalRate)
		}
	}

	// 3. The nominal max RTT keeps its floor, and its jitter bound when updated.
	if c.rtt.nominalMax != 0 && c.rtt.nominalMax < time.Millisecond {
		return fail("nominal max RTT %v", c.rtt.nominalMax)
	}
	if o.name == "ack" && was.state != Initial && c.rtt.nominalMax > max(was.rtt.nominalMax, time.Millisecond) {
		if c.rtt.nominalMax > max(c.rtt.runningMin+250*time.Millisecond, time.Millisecond) {
			return fail("nominal max RTT %v with a running min of %v", c.rtt.nominalMax, c.rtt.runningMin)
		}
	}

	// 4. Timers change nothing.
	if o.name == "pto" || o.name == "loss pto" {
		b := *was
		b.now, b.events = c.now, c.events
		if b != *c {
			return fail("changed")
		}
	}

	// 5. A recovery is prolonged once at most, and cuts nothing itself.
	if c.state == Recovery && was.state == Recovery && c.era.sequence != was.era.sequence {
		o.extensions++
		if o.extensions > 1 {
			return fail("recovery prolonged %d times", o.extensions)
		}
	}
	if c.state != Recovery {
		o.extensions = 0
	}

	// 6. Probing needs data to probe with.
	if c.state == Probing && was.state != Probing && c.appLimited() {
		return fail("probing while app limited")
	}

	// 7. Backlog and recovery's alpha.
	if b := c.recovery.backlog; b < 0 || b > one {
		return fail("backlog %d", b)
	}
	if a := c.alpha; c.state == Recovery && a != 960 && a != 896 && a != 768 {
		return fail("alpha %d", a)
	}

	// 8. The CE ratio is a share, and forgotten with recovery.
	if a := c.ecn.alpha; a < 0 || a > one {
		return fail("ECN alpha %d", a)
	}
	if was.state == Recovery && c.state != Recovery && o.name == "ack" && c.ecn.alpha != 0 {
		if c.ecn.foldedCE == was.ecn.foldedCE && c.ecn.foldedECT1 == was.ecn.foldedECT1 {
			return fail("ECN alpha %d", c.ecn.alpha)
		}
	}
	if r := c.loss.rate; r < 0 || r > certain {
		return fail("loss rate %d", r)
	}

	// 9. Control.
	out := c.Control()
	if out.Window < 2*c.mtu || out.Window > 1<<62 {
		return fail("window %d", out.Window)
	}
	if out.Quantum < 2*c.mtu || out.Quantum > max(65_536, 2*c.mtu) {
		return fail("quantum %d", out.Quantum)
	}
	if out.PacingRate < 0 {
		return fail("pacing rate %d", out.PacingRate)
	}
	if c.state != Initial && c.state != Resuming && out.PacingRate != c.alpha.rate(c.nominalRate) {
		return fail("pacing rate %d with alpha %d and %d", out.PacingRate, c.alpha, c.nominalRate)
	}

	// 10. How initial ends.
	if was.state == Initial && c.state == Recovery {
		switch {
		case o.name == "ack" && was.initial.noGrowth == noGrowthEras-1:
		case (o.name == "rtt" || o.name == "ecn") && was.initial.noGrowth >= 2:
		case (o.name == "rtt" || o.name == "ecn") && was.initial.noGrowth == 1 &&
			c.cfg.InitialDelaySmoothed > 0 && c.smoothedRTT > c.cfg.InitialDelaySmoothed.time(c.rtt.runningMin):
		case o.name == "loss packets" || o.name == "loss time":
			if was.initial.acks < acksBeforeLoss {
				return fail("loss ended initial after %d acks", was.initial.acks)
			}
		default:
			return fail("end of initial with %d eras without growth", was.initial.noGrowth)
		}
		want := clamp(whole(c.nominalRate.TimeFor(c.initial.window/2)), time.Millisecond, rttMax)
		if c.rtt.nominalMax != want {
			return fail("nominal max RTT %v, want %v", c.rtt.nominalMax, want)
		}
	}

	// 11. Initial begins again for jitter or for growth.
	if was.state != Initial && c.state == Initial {
		growth := was.state == Recovery && was.recovery.level >= levelMax ||
			was.state == Pushing && c.cfg.PushErasMax > 0
		jitter := c.rtt.nominalMax > 50*ms && c.nominalRate < 1_000_000
		if c.cfg.Restart == RestartAfterPause {
			jitter = jitter && was.initial.settled && c.now > was.initial.settledAt+time.Second
		}
		if !growth && !jitter {
			return fail("initial again with a nominal max RTT of %v and %d B/s", c.rtt.nominalMax, c.nominalRate)
		}
	}

	if c.now < was.now || c.rtt.nominalMax > rttMax || c.nominalRate > rateMax || c.initial.window > windowMax {
		return fail("out of bounds: %+v", *c)
	}
	return nil
}

// run makes all calls and returns the first error.
func (o *operations) run() error {
	for n := 0; len(o.data) > 0; n++ {
		if err := o.step(); err != nil {
			return fmt.Errorf("call %d: %w", n, err)
		}
	}
	return nil
}

func FuzzOperations(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(randomBytes(seed, 512))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := newOperations(data).run(); err != nil {
			t.Error(err)
		}
	})
}

// TestInvariants runs many random sequences, and makes sure that they get about.
func TestInvariants(t *testing.T) {
	entered := map[string]int{}
	for seed := range uint64(120) {
		o := newOperations(randomBytes(seed, 4096))
		for len(o.data) > 0 {
			if err := o.step(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for _, e := range o.c.Events(nil) {
				if e.Kind == cc.EventState {
					entered[e.From+" to "+e.To+" for "+e.Cause.String()]++
				}
			}
			o.twin.Events(nil)
		}
	}
	for _, want := range []string{
		"initial to recovery for no_growth",
		"initial to recovery for delay",
		"initial to recovery for loss",
		"initial to resuming for seed",
		"resuming to recovery for loss",
		"recovery to cruising for no_growth",
		"recovery to pushing for growth",
		"recovery to initial for growth",
		"cruising to probing for round",
		"cruising to recovery for loss",
		"cruising to recovery for ecn",
		"cruising to initial for jitter",
		"probing to recovery for round",
		"pushing to recovery for round",
		"pushing to initial for growth",
	} {
		if entered[want] == 0 {
			t.Errorf("never went from %s; went %v", want, entered)
		}
	}
}

func randomBytes(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 4))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// A path that never marks is a path without ECN.
func TestNoMarksNoDifference(t *testing.T) {
	for seed := range uint64(25) {
		data := randomBytes(seed, 4096)
		data[1] |= 8 // ECNEveryAck
		plain, ecn := newOperations(data), newOperations(data)
		plain.unmarked, ecn.unmarked = true, true
		for sent := int64(1); len(plain.data) > 0; sent++ {
			if err := plain.step(); err != nil {
				t.Fatal(err)
			}
			if err := ecn.step(); err != nil {
				t.Fatal(err)
			}
			ecn.both("ecn", func(c *Controller) { c.OnECN(ecn.now, cc.ECN{ECT1: 3 * sent}) })
			if plain.c.Control() != ecn.c.Control() || plain.c.state != ecn.c.state {
				t.Fatalf("seed %d at %v: %+v in %v without ECN, %+v in %v with", seed, plain.now,
					plain.c.Control(), plain.c.state, ecn.c.Control(), ecn.c.state)
			}
		}
	}
}

// Extreme inputs must not overflow into nonsense.
func TestExtremes(tt *testing.T) {
	for _, v := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
		t := newC4Test(tt, Config{})
		d := time.Duration(v)
		for range 20 {
			t.c.OnPacketSent(d, cc.Packet{Number: max(v-1, 0), Bytes: v, InFlight: v})
			t.c.OnRTT(d, cc.RTT{Latest: d, Smoothed: d})
			t.c.OnECN(d, cc.ECN{CE: v, ECT1: v})
			t.c.OnLoss(d, cc.Loss{Number: v})
			t.c.OnAck(d, &cc.Ack{
				Bytes: v, LowestUnsettled: v, InFlight: v, Newest: cc.Acked{SentAt: d},
				Sample: cc.Sample{Rate: cc.Rate(v), Peak: cc.Rate(v), DeliveredSince: v, Fresh: true},
			})
			t.c.OnMTU(d, v)
			t.c.OnSeed(d, cc.Seed{Window: v, RTT: d})
			out := t.c.Control()
			if out.PacingRate < 0 || out.Window < 2*t.c.mtu || out.Quantum < 2*t.c.mtu {
				t.Fatalf("input %d: %+v", v, out)
			}
		}
	}
}

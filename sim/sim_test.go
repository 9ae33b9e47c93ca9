package sim

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/sim/scenario"
)

const ms = time.Millisecond

func load(t testing.TB, name string) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.Builtin(name, Controllers())
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func parse(t testing.TB, text string) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.Parse("test", "test", strings.NewReader(text), Controllers())
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func mustRun(t testing.TB, s *Sim, sc *scenario.Scenario, o Options) *Result {
	t.Helper()
	r, err := s.Run(sc, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fixed is a controller with a constant rate and window.
type fixed struct {
	cc.Controller // nil: the methods below are all that is called
	control       cc.Control
	acked, sent   int64
	lost          int64
	lastNow       time.Duration
	t             testing.TB
}

func newFixed(t testing.TB, rate cc.Rate, window int64) func(cc.Config) cc.Controller {
	return func(cc.Config) cc.Controller {
		return &fixed{t: t, control: cc.Control{PacingRate: rate, Window: window, Quantum: 4 * mtuMax}}
	}
}

func (f *fixed) at(now time.Duration) {
	if now < f.lastNow {
		f.t.Errorf("time goes back from %v to %v", f.lastNow, now)
	}
	f.lastNow = now
}

func (f *fixed) Control() cc.Control                         { return f.control }
func (f *fixed) State() string                               { return "fixed" }
func (f *fixed) Events(dst []cc.Event) []cc.Event            { return dst }
func (f *fixed) OnPacketSent(now time.Duration, p cc.Packet) { f.at(now); f.sent += p.Bytes }
func (f *fixed) OnAppLimited(now time.Duration)              { f.at(now) }
func (f *fixed) OnECN(now time.Duration, _ cc.ECN)           { f.at(now) }
func (f *fixed) OnRTT(now time.Duration, _ cc.RTT)           { f.at(now) }
func (f *fixed) OnLoss(now time.Duration, l cc.Loss)         { f.at(now); f.lost += l.Bytes }
func (f *fixed) OnSpuriousLoss(now time.Duration, _ cc.Loss) { f.at(now) }
func (f *fixed) OnPTO(now time.Duration, _ int)              { f.at(now) }
func (f *fixed) OnMTU(now time.Duration, _ int64)            { f.at(now) }
func (f *fixed) OnSeed(now time.Duration, _ cc.Seed)         { f.at(now) }
func (f *fixed) OnAck(now time.Duration, a *cc.Ack) {
	f.at(now)
	if a.Handshake {
		return
	}
	f.acked += a.Bytes + cc.TagBytes*int64(len(a.Packets))
	sum := int64(0)
	last := int64(-1)
	for _, p := range a.Packets {
		sum += p.Bytes
		if p.Number <= last {
			f.t.Errorf("packets of an ACK are not in order: %d after %d", p.Number, last)
		}
		last = p.Number
	}
	if sum != a.Bytes || a.Newest.Number != last {
		f.t.Errorf("ACK of %d bytes, newest %d, has packets of %d bytes up to %d", a.Bytes, a.Newest.Number, sum, last)
	}
	if a.InFlight < 0 || a.InFlight > a.PriorInFlight {
		f.t.Errorf("in flight %d before and %d after an ACK", a.PriorInFlight, a.InFlight)
	}
	if a.LowestUnsettled <= a.Newest.Number-packetsReorder {
		f.t.Errorf("packet %d is unsettled although %d is acknowledged", a.LowestUnsettled, a.Newest.Number)
	}
}

// At a constant rate below the link's, a download takes what it has to take.
func TestFixedRate(t *testing.T) {
	const rate, size = 1_000_000, 5_000_000
	sc := parse(t, "link rate=20Mbit/s delay=40ms queue=80ms\nflow main size=5MB\n")
	var s Sim
	r := mustRun(t, &s, sc, Options{New: newFixed(t, rate, 1<<20)})
	overhead := float64(r.Flows[0].Sent) / size
	if overhead < 1.02 || overhead > 1.04 {
		t.Errorf("sent %d bytes for %d", r.Flows[0].Sent, size)
	}
	// handshake 2 RTT, request and first byte 1, closing 1
	want := 3.5*0.080 + float64(r.Flows[0].Sent)/rate
	if got := r.Time.Seconds(); math.Abs(got-want) > 0.1 {
		t.Errorf("took %.3f s, want about %.3f", got, want)
	}
	if r.Drops != 0 || r.Flows[0].Lost != 0 || r.Flows[0].Delivered != size || !r.Finished {
		t.Errorf("result %+v", r)
	}
	if m := r.Flows[0].RTTMean; m < 80_000 || m > 82_000 {
		t.Errorf("mean round trip %.0f us on an idle path of 80 ms", m)
	}
}

// Above the link's rate the queue fills, packets are lost, and still everything
// arrives.
func TestOverload(t *testing.T) {
	sc := parse(t, "link rate=20Mbit/s delay=10ms queue=50ms\nflow main size=3MB\n")
	var s Sim
	var f *fixed
	r := mustRun(t, &s, sc, Options{New: func(c cc.Config) cc.Controller {
		f = newFixed(t, 5_000_000, 1<<20)(c).(*fixed)
		return f
	}})
	if r.Drops == 0 || r.Flows[0].Lost < r.Drops/2 {
		t.Errorf("%d drops, %d lost", r.Drops, r.Flows[0].Lost)
	}
	if !r.Finished || r.Flows[0].Delivered != 3_000_000 {
		t.Errorf("finished %v, delivered %d", r.Finished, r.Flows[0].Delivered)
	}
	first := int64(sizePacket0 + mtuMax)
	if f.acked+f.lost > f.sent+first {
		t.Errorf("%d acknowledged and %d lost of %d sent", f.acked, f.lost, f.sent+first)
	}
	if max := r.Flows[0].RTTMax; max < 65_000 || max > 75_000 {
		t.Errorf("longest round trip %.0f us, want 20 ms and a queue of 50 ms", max)
	}
}

// The window bounds what is in flight: one packet may exceed it.
func TestWindow(t *testing.T) {
	const window = 20_000
	sc := parse(t, "link rate=20Mbit/s delay=40ms queue=80ms\nflow main size=300kB\n")
	var s Sim
	tr := &counter{}
	mustRun(t, &s, sc, Options{New: newFixed(t, 0, window), Tracer: tr})
	if tr.mostInFlight > window+2*mtuMax || tr.mostInFlight < window {
		t.Errorf("%d bytes in flight with a window of %d", tr.mostInFlight, window)
	}
}

// counter is a Tracer that counts.
type counter struct {
	sent, dropped, lost, acks, events, frames int
	mostInFlight                              int64
	late                                      map[string][]time.Duration
}

func (c *counter) PacketSent(_ time.Duration, flow int, _, _, inFlight int64) {
	if flow == 0 {
		c.sent++
		c.mostInFlight = max(c.mostInFlight, inFlight)
	}
}
func (c *counter) Dropped(time.Duration, int, int64, int64)                   { c.dropped++ }
func (c *counter) PacketLost(time.Duration, int, int64, int64, cc.LossReason) { c.lost++ }
func (c *counter) Acked(time.Duration, int, *cc.Ack)                          { c.acks++ }
func (c *counter) Metrics(time.Duration, int, Metrics)                        {}
func (c *counter) Event(int, cc.Event)                                        { c.events++ }
func (c *counter) Frame(now time.Duration, _ int, source string, _ int64, due time.Duration) {
	c.frames++
	if c.late == nil {
		c.late = map[string][]time.Duration{}
	}
	c.late[source] = append(c.late[source], max(0, now-due))
}

// A tracer changes nothing, and sees what the result says.
func TestTracer(t *testing.T) {
	sc := load(t, "drop_and_back")
	var s Sim
	plain := mustRun(t, &s, sc, Options{CC: "c4", Seed: 5})
	tr := &counter{}
	traced := mustRun(t, &s, sc, Options{CC: "c4", Seed: 5, Tracer: tr})
	if plain.Time != traced.Time || plain.Flows[0].RTTMean != traced.Flows[0].RTTMean {
		t.Error("a tracer changes the run")
	}
	f := &traced.Flows[0]
	const first = 2 // 1-RTT packets that leave with the handshake
	if tr.sent != f.Packets+first || tr.lost != f.Lost || int64(tr.acks) != f.RTTSamples || tr.dropped != traced.Drops {
		t.Errorf("tracer %+v, result %+v", tr, f)
	}
}

// Equal seeds give equal runs, also from a Sim that has run other things before.
func TestRepeatable(t *testing.T) {
	var a, b Sim
	for _, n := range []string{"wifi_bad_c4", "media_wf", "vs_bbr", "ecn_c4"} {
		mustRun(t, &b, load(t, "media"), Options{CC: "bbr"})
		x := mustRun(t, &a, load(t, n), Options{CC: "c4", Seed: 9})
		y := mustRun(t, &b, load(t, n), Options{CC: "c4", Seed: 9})
		if x.Time != y.Time || x.Events != y.Events || x.Flows[0].RTTMean != y.Flows[0].RTTMean || x.Flows[0].RTTDeviation != y.Flows[0].RTTDeviation {
			t.Errorf("%s: %v with %d events and %v with %d", n, x.Time, x.Events, y.Time, y.Events)
		}
		z := mustRun(t, &a, load(t, n), Options{CC: "c4", Seed: 10})
		if x.Events == z.Events && x.Time == z.Time {
			t.Errorf("%s: another seed makes no difference", n)
		}
	}
}

// Handshake packets that are lost are repeated, and round trips are counted from
// the repetition.
func TestHandshakeLoss(t *testing.T) {
	var s Sim
	repeated := 0
	for seed := range uint64(8) { // the other flow fills the queue when this one starts
		r := mustRun(t, &s, load(t, "after_c4"), Options{CC: "c4-draft04", Seed: seed})
		if len(s.conns[0].sender.flightAAt) > 1 {
			repeated++
		}
		if !r.Finished || r.Flows[0].Delivered != 5_000_000 || r.Flows[0].RTTMax > 165_000 {
			t.Errorf("seed %d: finished %v with %d bytes, longest round trip %.0f us", seed, r.Finished, r.Flows[0].Delivered, r.Flows[0].RTTMax)
		}
	}
	if repeated == 0 {
		t.Error("no handshake was repeated")
	}
	// and in the other direction, for good
	sc := parse(t, "link rate=20Mbit/s delay=10ms queue=20ms\nflow main size=20kB start=503ms\ncross up rate=27.3Mbit/s\n")
	for seed := range uint64(8) {
		r := mustRun(t, &s, sc, Options{CC: "cubic", Seed: seed})
		if !r.Finished || r.Flows[0].Delivered != 20_000 {
			t.Errorf("seed %d: finished %v with %d bytes", seed, r.Finished, r.Flows[0].Delivered)
		}
	}
}

// A second datagram that comes before the first waits for its keys.
func TestHandshakeOrder(t *testing.T) {
	var s Sim
	sc := load(t, "alone")
	mustRun(t, &s, sc, Options{CC: "c4", Limit: ms})
	c := s.conns[0]
	deliver := func(kind packetKind, number int64) {
		k := s.pool.get(c, kind, 1000)
		k.number = number
		c.atClient(s.now, k, cc.NotECT)
	}
	deliver(kindFlightB, 0)
	deliver(kindData, 1)
	if c.receiver.ready {
		t.Fatal("ready without keys")
	}
	deliver(kindFlightA, 0)
	if r := &c.receiver; !r.ready || r.received != 5 || r.highest != 1 {
		t.Errorf("ready %v with %d packets up to %d", r.ready, r.received, r.highest)
	}
}

// A flow that has finished stays finished, whatever still arrives for it.
func TestFinishedFlow(t *testing.T) {
	sc := parse(t, "link rate=5Mbit/s delay=1ms queue=250ms jitter=7ms\nflow main size=1MB start=1s\nflow other size=20kB\n")
	var s Sim
	for seed := range uint64(20) {
		r := mustRun(t, &s, sc, Options{CC: "bbr", Seed: seed})
		if !r.Finished || r.Flows[1].Ended == 0 || r.Events > 50_000 {
			t.Errorf("seed %d: finished %v, the other at %v, %d events", seed, r.Finished, r.Flows[1].Ended, r.Events)
		}
	}
	// what comes late is ignored
	c := s.conns[1]
	c.atClient(s.now, s.pool.get(c, kindFlightA, sizeFlightA), cc.NotECT)
	c.atServer(s.now, s.pool.get(c, kindInitial, sizeInitial))
	if c.receiver.wake != never || c.sender.wake != never {
		t.Error("a finished connection wakes up")
	}
}

func TestStopAndLimit(t *testing.T) {
	var s Sim
	r := mustRun(t, &s, parse(t, "link rate=1Mbit/s delay=10ms\nflow main size=100MB\nstop at=2s\n"), Options{CC: "c4"})
	if r.Finished || r.Time != 2*time.Second {
		t.Errorf("stopped at %v, finished %v", r.Time, r.Finished)
	}
	r = mustRun(t, &s, parse(t, "link rate=1Mbit/s delay=10ms\nflow main size=100MB\n"), Options{CC: "c4", Limit: time.Second})
	if r.Finished || r.Time != time.Second {
		t.Errorf("limited to %v, finished %v", r.Time, r.Finished)
	}
}

func TestUnknownController(t *testing.T) {
	var s Sim
	if _, err := s.Run(load(t, "alone"), Options{CC: "nothing"}); err == nil {
		t.Error("no error")
	}
}

// Extra delay outside the bottleneck adds to the round trip of its flow only.
func TestFlowDelay(t *testing.T) {
	sc := parse(t, "link rate=20Mbit/s delay=10ms queue=100ms\nflow main size=1MB\nflow far size=1MB delay=50ms\nstop at=20s\n")
	var s Sim
	r := mustRun(t, &s, sc, Options{New: newFixed(t, 200_000, 1<<20), CC: "c4"})
	if d := r.Flows[1].RTTMean - r.Flows[0].RTTMean; d < 99_000 || d > 103_000 {
		t.Errorf("round trips %.0f and %.0f us, want 100 ms between them", r.Flows[0].RTTMean, r.Flows[1].RTTMean)
	}
}

// Reverse traffic delays acknowledgements, not data.
func TestCrossTraffic(t *testing.T) {
	base := "link rate=20Mbit/s delay=10ms queue=100ms\nflow main size=2MB\n"
	var s Sim
	free := mustRun(t, &s, parse(t, base), Options{New: newFixed(t, 1_000_000, 1<<20)})
	busy := mustRun(t, &s, parse(t, base+"cross up rate=21Mbit/s size=1250B\n"), Options{New: newFixed(t, 1_000_000, 1<<20)})
	if busy.Flows[0].RTTMean < free.Flows[0].RTTMean+50_000 {
		t.Errorf("round trip %.0f us without and %.0f us with reverse traffic", free.Flows[0].RTTMean, busy.Flows[0].RTTMean)
	}
	if busy.Drops != 0 || !busy.Finished {
		t.Errorf("%d drops on the down link", busy.Drops)
	}
}

// Memory is kept from run to run.
func TestAllocations(t *testing.T) {
	sc := load(t, "alone")
	var s Sim
	o := Options{CC: "c4", Seed: 1}
	mustRun(t, &s, sc, o)
	// the controller, the streams, the result, and buffers of the controller
	const ceiling = 400
	if n := testing.AllocsPerRun(3, func() { mustRun(t, &s, sc, o) }); n > ceiling {
		t.Errorf("%v allocations in a run of 7400 packets, ceiling %d", n, ceiling)
	}
}

//go:build linux

package realstack

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/sim"
	"github.com/moq-c4/moq-c4/sim/scenario"
)

// figures are means over runs.
type figures struct {
	time, rtt          time.Duration
	average, most      time.Duration // av_latency and max_latency of media
	audio, audioSteady time.Duration // average, and the latest one after the beginning
	drops, marked      float64
	cancelled          float64
}

func (f *figures) each() []*time.Duration {
	return []*time.Duration{&f.time, &f.rtt, &f.average, &f.most, &f.audio, &f.audioSteady}
}

// mean averages runs.
func mean(runs []figures) figures {
	var m figures
	n := time.Duration(len(runs))
	for i := range runs {
		r := &runs[i]
		for k, v := range r.each() {
			*m.each()[k] += *v / n
		}
		m.drops += r.drops / float64(n)
		m.marked += r.marked / float64(n)
		m.cancelled += r.cancelled / float64(n)
	}
	return m
}

// The scenarios of the comparison, with the number of runs for the tables. Those with jitter differ from run to run.
var compared = []struct {
	name string
	runs int
}{
	{"alone", 10},
	{"low_and_up", 10},
	{"drop_and_back", 10},
	{"blackhole", 10},
	{"bbloat", 5},
	{"wifi_bad", 100},
	{"ecn", 20},
	{"media", 10},
	{"media10", 10},
	{"media4", 10},
	{"media_600fr", 5},
	{"media_short_long", 10},
	{"media_wb", 100},
	{"media_wf", 40},
	{"media_ws", 10},
	{"media_ecn", 20},
}

// media4 is the call on a link that it just fits: not one of the drafts' scenarios.
const media4 = `
link rate=4Mbit/s delay=20ms queue=100ms
flow main media
audio a1   rate=50 size=80B frames=250 priority=2
video vlow rate=30 size=3750B key=37500B group=30 frames=150 priority=4
video vmid rate=30 size=6250B key=62500B group=30 frames=150 priority=6 cancel=250ms unmeasured
measure from=200ms
`

func load(t testing.TB, name string) *scenario.Scenario {
	t.Helper()
	if name == "media4" {
		sc, err := scenario.Parse(name, name, strings.NewReader(media4), nil)
		if err != nil {
			t.Fatal(err)
		}
		return sc
	}
	sc, err := scenario.Builtin(name, sim.Controllers())
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// real runs a scenario on the real stack.
func real(t *testing.T, sc *scenario.Scenario, controller string, runs int) figures {
	t.Helper()
	var all []figures
	for seed := range uint64(runs) {
		m := runStack(t, sc, controller, seed+1)
		f := figures{
			time: m.time, rtt: m.rtt, drops: float64(m.down.Dropped()), marked: float64(m.down.Marked), cancelled: float64(m.cancelled),
		}
		f.average, f.most = m.average(sc)
		if a := m.sources["a1"]; a != nil {
			f.audio, f.audioSteady = a.mean(), a.steadyMax
		}
		all = append(all, f)
	}
	return mean(all)
}

// simulated runs a scenario in the packet simulator.
func simulated(t testing.TB, sc *scenario.Scenario, controller string, runs int) figures {
	t.Helper()
	o := sim.Options{CC: controller, QUICGoAcks: true}
	if controller == stock {
		o.CC, o.New = "", func(c cc.Config) cc.Controller { return newNewReno(c) }
	}
	var s sim.Sim
	var all []figures
	for seed := range uint64(runs) {
		o.Seed = seed + 1
		r, err := s.Run(sc, o)
		if err != nil {
			t.Fatal(err)
		}
		flow := &r.Flows[0]
		f := figures{
			time: r.Time, rtt: time.Duration(flow.RTTMean * float64(time.Microsecond)),
			average: r.AvLatency, most: r.MaxLatency,
			drops: float64(r.Drops), marked: float64(flow.Marked), cancelled: float64(flow.Cancelled),
		}
		for _, src := range flow.Sources {
			if src.Name == "a1" {
				f.audio = src.Average
			}
		}
		all = append(all, f)
	}
	return mean(all)
}

// The bounds of the comparison, as fractions.
const (
	boundTime    = 0.02
	boundAverage = 0.05
	boundRTT     = 0.10
)

// deviation is by how much a differs from b, as a fraction of b.
func deviation(a, b time.Duration) float64 {
	if b == 0 {
		return 0
	}
	return float64(a-b) / float64(b)
}

// check compares the figures of a scenario. It returns what is out of bounds and has no reason in exceptions, or is
// beyond what the exception allows.
func check(name, controller string, real, sim *figures) (wrong []string) {
	for _, c := range []struct {
		what  string
		a, b  time.Duration
		bound float64
	}{
		{"time", real.time, sim.time, boundTime},
		{"average", real.average, sim.average, boundAverage},
		{"rtt", real.rtt, sim.rtt, boundRTT},
	} {
		e := exceptions[name+" "+controller+" "+c.what]
		bound := max(c.bound, e.bound)
		if d := deviation(c.a, c.b); d > bound || d < -bound {
			wrong = append(wrong, fmt.Sprintf("%s with %s: %s %v, in the packet simulator %v: %+.1f %%, more than %.0f %%",
				name, controller, c.what, c.a, c.b, 100*d, 100*bound))
		}
	}
	return wrong
}

// An exception is a figure that may differ by more, and why.
type exception struct {
	bound float64
	why   string // key of reasons
}

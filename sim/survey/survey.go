// Package survey measures controllers as the survey "Fifty Shades of Congestion
// Control" does: alone with traffic in the other direction, several flows of one
// controller and of two, and flows with different round-trip times.
//
// [Run] simulates and [Result.Write] gives tables as Markdown, [Result.Figures]
// heat maps.
package survey

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/moq-c4/moq-c4/sim/batch"
	"github.com/moq-c4/moq-c4/sim/link"
	"github.com/moq-c4/moq-c4/sim/scenario"
)

// Config says what to measure. CCs is needed.
type Config struct {
	CCs []string

	// Rate is the bottleneck's, in bit/s. Default 100 Mbit/s, as in the survey
	// for TCP.
	Rate float64

	// Duration of each run. Default 30 s.
	Duration time.Duration

	// Runs of each combination. Default 3.
	Runs int

	Seed     uint32
	Workers  int
	Progress func(done, total int)
}

// The rest of the set-up.
const (
	oneWay       = 500 * time.Microsecond // of the shared path
	queuePackets = 1000                   // txqueuelen of the survey's machines
	packetBits   = 8 * 1440
	stagger      = 100 * time.Millisecond // between the starts of flows
	endless      = 1_000_000_000_000      // bytes
)

var (
	// Loads are the shares of the bandwidth that goes in the other direction.
	Loads = []int{0, 10, 20, 30, 40, 50, 60, 70, 80, 90}

	// Counts are numbers of flows of one controller.
	Counts = []int{2, 3, 4}

	// Mixes are numbers of flows of two controllers.
	Mixes = [][2]int{{1, 1}, {1, 3}, {2, 2}}

	// Extras are differences in round-trip time between the nearest and the
	// farthest flow.
	Extras = []time.Duration{0, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond}
)

// Cell is a measurement: means over the runs, and over the flows of the first
// controller. Rates are in Mbit/s.
type Cell struct {
	SendingRate  float64 // from the source, headers included
	Throughput   float64 // at the receiver, headers included
	Goodput      float64 // useful data
	GoodputRatio float64 // useful data / data sent
	RTT          float64 // ms
	Jain         float64 // over all flows, of the throughput
	Share        float64 // throughput of the first controller's flows / their fair share
}

// Result holds the measurements, in the order of the Config's controllers.
type Result struct {
	Config Config

	Baseline [][]Cell   // by controller and load
	Intra    [][]Cell   // by controller and count
	Inter    [][][]Cell // by mix, controller and other controller
	RTT      [][][]Cell // for 2 and 4 flows, by controller and extra
}

// Run measures.
func Run(ctx context.Context, c Config) (*Result, error) {
	if c.Rate == 0 {
		c.Rate = 100e6
	}
	if c.Duration == 0 {
		c.Duration = 30 * time.Second
	}
	if c.Runs == 0 {
		c.Runs = 3
	}
	r := &Result{Config: c}

	var baseline, intra []*scenario.Scenario
	for _, load := range Loads {
		sc := c.scenario(fmt.Sprintf("baseline_%d", load), flows(1, 0, ""))
		if load > 0 {
			sc.Cross = []scenario.Cross{c.reverse(float64(load) / 100)}
		}
		baseline = append(baseline, sc)
	}
	for _, n := range Counts {
		intra = append(intra, c.scenario(fmt.Sprintf("intra_%d", n), flows(n, 0, "")))
	}
	inter := make([][]*scenario.Scenario, len(Mixes))
	for i, mix := range Mixes {
		for _, other := range c.CCs {
			inter[i] = append(inter[i], c.scenario(fmt.Sprintf("inter_%d_%d_%s", mix[0], mix[1], other), flows(mix[0], mix[1], other)))
		}
	}
	far := make([][]*scenario.Scenario, len(farFlows))
	for i, n := range farFlows {
		for _, extra := range Extras {
			f := flows(n, 0, "")
			for j := range f {
				f[j].Delay = extra / 2 * time.Duration(j) / time.Duration(n-1) / time.Microsecond * time.Microsecond
			}
			far[i] = append(far[i], c.scenario(fmt.Sprintf("rtt_%d_%d", n, extra.Milliseconds()), f))
		}
	}

	// one batch, so that the cores are busy to the end
	var all []*scenario.Scenario
	all = append(append(all, baseline...), intra...)
	for _, s := range append(append([][]*scenario.Scenario{}, inter...), far...) {
		all = append(all, s...)
	}
	rows, err := batch.Run(ctx, batch.Config{
		Scenarios: all, CCs: c.CCs, Runs: c.Runs, Seed: c.Seed, Workers: c.Workers, Progress: c.Progress,
	})
	if err != nil {
		return nil, err
	}
	cells := map[*scenario.Scenario][]Cell{}
	for i := range rows {
		sc := rows[i].Scenario
		cells[sc] = append(cells[sc], c.cell(&rows[i]))
	}
	table := func(scs []*scenario.Scenario) [][]Cell {
		t := make([][]Cell, len(c.CCs))
		for _, sc := range scs {
			for j := range c.CCs {
				t[j] = append(t[j], cells[sc][j])
			}
		}
		return t
	}
	r.Baseline, r.Intra = table(baseline), table(intra)
	for _, s := range inter {
		r.Inter = append(r.Inter, table(s))
	}
	for _, s := range far {
		r.RTT = append(r.RTT, table(s))
	}
	return r, nil
}

// reverse is traffic against the flow, from a sender that wakes once a
// millisecond, as iperf3 does.
func (c *Config) reverse(load float64) scenario.Cross {
	const size, wake = 1250, 0.001
	x := scenario.Cross{Up: true, Rate: c.Rate * load, Size: size}
	x.Burst = max(1, int64(math.Round(x.Rate*wake/8/size)))
	return x
}

// farFlows are the numbers of flows in the measurements with different RTTs.
var farFlows = []int{2, 4}

// flows returns n flows of the controller under test and m of another.
func flows(n, m int, other string) []scenario.Flow {
	var f []scenario.Flow
	for i := range n + m {
		x := scenario.Flow{Name: fmt.Sprintf("f%d", i), Size: endless, Start: time.Duration(i) * stagger}
		if i >= n {
			x.CC = other
		}
		f = append(f, x)
	}
	return f
}

func (c *Config) scenario(name string, flows []scenario.Flow) *scenario.Scenario {
	queue := time.Duration(queuePackets * packetBits / c.Rate * float64(time.Second)).Truncate(time.Microsecond)
	p := link.Params{Rate: c.Rate, Delay: oneWay, Queue: queue}
	return &scenario.Scenario{
		Name: name, Phases: []scenario.Phase{{Up: p, Down: p}}, Flows: flows, StopAt: c.Duration,
	}
}

// cell sums up a row.
func (c *Config) cell(row *batch.Row) Cell {
	var out Cell
	n := 0
	for _, f := range row.Scenario.Flows {
		if f.CC == "" {
			n++
		}
	}
	for i := range row.Results {
		var sum, squares, own, sent, delivered float64
		for j, f := range row.Results[i].Flows {
			s := f.Active.Seconds()
			through := float64(f.Received) * 8 / 1e6 / s
			sum += through
			squares += float64(through * through)
			if j < n {
				own += through
				sent += float64(f.Sent) * 8 / 1e6 / s
				delivered += float64(f.Delivered) * 8 / 1e6 / s
				out.RTT += f.RTTMean / 1e3 / float64(n)
			}
		}
		total := float64(len(row.Results[i].Flows))
		out.SendingRate += sent / float64(n)
		out.Throughput += own / float64(n)
		out.Goodput += delivered / float64(n)
		if sent > 0 {
			out.GoodputRatio += delivered / sent
		}
		if squares > 0 {
			out.Jain += sum * sum / (total * squares)
			out.Share += own / float64(n) / (sum / total)
		}
	}
	for _, v := range []*float64{&out.SendingRate, &out.Throughput, &out.Goodput, &out.GoodputRatio, &out.RTT, &out.Jain, &out.Share} {
		*v /= float64(max(1, len(row.Results)))
		if math.IsNaN(*v) {
			*v = 0
		}
	}
	return out
}

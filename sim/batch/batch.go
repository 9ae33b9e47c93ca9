package batch

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moq-c4/moq-c4/sim"
	"github.com/moq-c4/moq-c4/sim/scenario"
)

// Config says what to run. Scenarios and CCs are needed, the rest has defaults.
type Config struct {
	Scenarios []*scenario.Scenario

	// CCs name the controllers under test.
	CCs []string

	// Runs is how often each combination runs. Default 1.
	Runs int

	// Seed makes batches differ. The runs of a batch have seeds of their own.
	Seed uint32

	// First is the number of the first run, to repeat one of a batch.
	First int

	Quirks sim.Quirks

	// C4 is what c4 stands for in scenarios, see sim.Options.
	C4 string

	// Workers is how many runs go on at once. Default: one per core.
	Workers int

	// Progress is called now and then, from one goroutine at a time. Nil: not.
	Progress func(done, total int)
}

// SeedOf returns the seed of run i of a batch. Run 0 of batch 0 has seed 0.
func SeedOf(batch uint32, i int) uint64 { return uint64(batch)<<32 | uint64(uint32(i)) }

// Row sums up the runs of one scenario with one controller. Times are in us.
type Row struct {
	Scenario *scenario.Scenario
	CC       string

	// Results are the runs, in order.
	Results []Result

	// Unfinished is how many runs hit their time limit.
	Unfinished int

	TimeAvg, TimeP90 float64

	// AvLatency is the mean over the runs of the highest average latency of a
	// media source, MaxLatencyP90 the 90th percentile of the highest latency.
	// Zero without media.
	AvLatency, MaxLatencyP90 float64

	// RTTMean and RTTStd are means over the runs of the mean and of the standard
	// deviation of the round-trip samples of the main flow. RTTPlusStdP90 is the
	// 90th percentile of their sum, RTTMax the mean of the highest sample.
	RTTMean, RTTStd, RTTPlusStdP90, RTTMax float64

	LoadShare float64 // mean
	Jain      float64 // mean
	Drops     float64 // mean
}

// Result is what is kept of a run. Times are in us.
type Result struct {
	Seed       uint64
	Finished   bool
	Time       float64
	AvLatency  float64
	MaxLatency float64
	RTTMean    float64
	RTTStd     float64
	RTTMax     float64
	LoadShare  float64
	Jain       float64
	Drops      int
	Flows      []Flow // in the scenario's order
}

// Flow is what is kept of a flow.
type Flow struct {
	Sent, Received, Delivered int64
	LostBytes                 int64
	RTTMean                   float64
	Active                    time.Duration
}

// Run runs the batch. It ends early, with the context's error, when ctx is done.
func Run(ctx context.Context, c Config) ([]Row, error) {
	if c.Runs == 0 {
		c.Runs = 1
	}
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	var rows []Row
	for _, sc := range c.Scenarios {
		for _, cc := range c.CCs {
			rows = append(rows, Row{Scenario: sc, CC: cc, Results: make([]Result, c.Runs)})
		}
	}
	total := len(rows) * c.Runs
	var (
		next, done atomic.Int64
		mu         sync.Mutex // guards firstErr and calls of Progress
		firstErr   error
		wg         sync.WaitGroup
	)
	for range min(c.Workers, total) {
		wg.Go(func() {
			var s sim.Sim
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= total {
					return
				}
				row := &rows[n/c.Runs]
				i := n % c.Runs
				r, err := s.Run(row.Scenario, sim.Options{
					CC: row.CC, C4: c.C4, Seed: SeedOf(c.Seed, c.First+i), Quirks: c.Quirks,
				})
				if err != nil {
					mu.Lock()
					if firstErr == nil {
						firstErr = fmt.Errorf("%s: %w", row.Scenario.Name, err)
					}
					mu.Unlock()
					return
				}
				row.Results[i] = keep(r, SeedOf(c.Seed, c.First+i))
				d := int(done.Add(1))
				if c.Progress != nil && (d%16 == 0 || d == total) {
					mu.Lock()
					c.Progress(d, total)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if firstErr != nil {
		return nil, firstErr
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i := range rows {
		rows[i].sum()
	}
	return rows, nil
}

func us(d time.Duration) float64 { return float64(d / time.Microsecond) }

func keep(r *sim.Result, seed uint64) Result {
	f := &r.Flows[0]
	k := Result{
		Seed: seed, Finished: r.Finished, Time: us(r.Time),
		AvLatency: us(r.AvLatency), MaxLatency: us(r.MaxLatency),
		RTTMean: f.RTTMean, RTTStd: f.RTTDeviation, RTTMax: f.RTTMax,
		LoadShare: r.LoadShare, Jain: r.Jain, Drops: r.Drops,
	}
	for i := range r.Flows {
		f := &r.Flows[i]
		end := f.Ended
		if end == 0 {
			end = r.Time
		}
		k.Flows = append(k.Flows, Flow{
			Sent: f.Sent, Received: f.Received, Delivered: f.Delivered, LostBytes: f.LostBytes,
			RTTMean: f.RTTMean, Active: end - f.Started,
		})
	}
	return k
}

func (r *Row) sum() {
	column := func(get func(*Result) float64) []float64 {
		v := make([]float64, len(r.Results))
		for i := range r.Results {
			v[i] = get(&r.Results[i])
		}
		return v
	}
	for i := range r.Results {
		if !r.Results[i].Finished && r.Scenario.StopAt == 0 {
			r.Unfinished++
		}
	}
	times := column(func(x *Result) float64 { return x.Time })
	r.TimeAvg, r.TimeP90 = Mean(times), Quantile(times, 0.9)
	r.AvLatency = Mean(column(func(x *Result) float64 { return x.AvLatency }))
	r.MaxLatencyP90 = Quantile(column(func(x *Result) float64 { return x.MaxLatency }), 0.9)
	r.RTTMean = Mean(column(func(x *Result) float64 { return x.RTTMean }))
	r.RTTStd = Mean(column(func(x *Result) float64 { return x.RTTStd }))
	r.RTTMax = Mean(column(func(x *Result) float64 { return x.RTTMax }))
	r.RTTPlusStdP90 = Quantile(column(func(x *Result) float64 { return x.RTTMean + x.RTTStd }), 0.9)
	r.LoadShare = Mean(column(func(x *Result) float64 { return x.LoadShare }))
	r.Jain = Mean(column(func(x *Result) float64 { return x.Jain }))
	r.Drops = Mean(column(func(x *Result) float64 { return float64(x.Drops) }))
}

// Mean returns the mean, 0 of nothing.
func Mean(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// Quantile returns the q-quantile with linear interpolation, 0 of nothing.
func Quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Clone(v)
	slices.Sort(v)
	at := q * float64(len(v)-1)
	i := int(at)
	if i+1 >= len(v) {
		return v[len(v)-1]
	}
	part := float64((at - float64(i)) * (v[i+1] - v[i]))
	return v[i] + part
}

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/sim"
	"github.com/moq-c4/moq-c4/sim/batch"
	"github.com/moq-c4/moq-c4/sim/plot"
	"github.com/moq-c4/moq-c4/sim/qlog"
)

const runHelp = `
c4sim run NAME|FILE... runs scenarios and prints a line for each scenario and
controller. It fails if a run does not finish or a pass bound does not hold.

Columns: time until the main connection is closed (average and 90th percentile
over the runs), media latency (mean of the averages; 90th percentile of the
highest), round trip (mean, standard deviation), load (share of the link that the
main server used) and packets dropped by the link.
`

type runFlags struct {
	common
	format string
	quirks string
	c4     string
	first  int
	qlog   string
	plot   string
	part   string

	from, to time.Duration // of part
}

func runScenarios(ctx context.Context, env cli.Env) error {
	var f runFlags
	fs := cli.NewFlags("c4sim run", runHelp, env.Stderr)
	f.register(fs, "c4", 10)
	fs.StringVar(&f.format, "format", "table", "`format`: table, tsv or json (times in microseconds)")
	fs.StringVar(&f.quirks, "quirks", "none", "`faults` of the reference to imitate: media-timer, ecn-marking, dualq-coupling, fixed-seeds, or all")
	fs.StringVar(&f.c4, "c4", "", "`controller` that c4 stands for in scenarios (default the one under test if it is a c4, else c4)")
	fs.IntVar(&f.first, "first", 0, "`number` of the first run, to repeat one of a batch")
	fs.StringVar(&f.qlog, "qlog", "", "write a qlog of each line's first run into this `directory`")
	fs.StringVar(&f.plot, "plot", "", "draw each line's first run, and the distribution over the runs, into this SVG `file`; with several lines, into files named after it")
	fs.StringVar(&f.part, "plot-part", "", "draw only this part of the run, `FROM-TO` such as 2.5s-4s")
	args, err := cli.Parse(fs, env.Args)
	if err != nil {
		return err
	}
	if err := f.readPart(); err != nil {
		return err
	}
	names, err := f.check()
	if err != nil {
		return err
	}
	if f.c4 != "" {
		if _, err := controllers(f.c4); err != nil {
			return err
		}
	}
	write := batch.WriteTable
	switch f.format {
	case "table":
	case "tsv":
		write = batch.WriteTSV
	case "json":
		write = batch.WriteJSON
	default:
		return cli.Usage("--format is table, tsv or json, not %q", f.format)
	}
	q, err := quirks(f.quirks)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return cli.Usage("which scenarios? (see c4sim list)")
	}
	if f.first < 0 {
		return cli.Usage("--first is negative")
	}
	all, err := scenarios(args)
	if err != nil {
		return err
	}
	if f.qlog != "" {
		if err := os.MkdirAll(f.qlog, 0o777); err != nil {
			return cli.Usage("--qlog: %w", err)
		}
	}

	bar := newProgress(env.Stderr)
	rows, err := batch.Run(ctx, batch.Config{
		Scenarios: all, CCs: names, Runs: f.runs, Seed: uint32(f.seed), First: f.first,
		Quirks: q, C4: f.c4, Workers: f.workers, Progress: bar.show,
	})
	bar.clear()
	if err != nil {
		return err
	}
	if err := write(env.Stdout, rows); err != nil {
		return err
	}
	if err := trace(rows, &f, q); err != nil {
		return err
	}
	failures := batch.Check(rows)
	for _, text := range failures {
		fmt.Fprintln(env.Stderr, "fail:", text)
	}
	if n := len(failures); n > 0 {
		return fmt.Errorf("%d bounds do not hold", n)
	}
	return nil
}

// readPart reads --plot-part.
func (f *runFlags) readPart() error {
	if f.part == "" {
		return nil
	}
	from, to, _ := strings.Cut(f.part, "-")
	var err1, err2 error
	f.from, err1 = time.ParseDuration(from)
	f.to, err2 = time.ParseDuration(to)
	if err1 != nil || err2 != nil || f.from < 0 || f.to <= f.from {
		return cli.Usage("--plot-part is FROM-TO, such as 2.5s-4s, not %q", f.part)
	}
	return nil
}

// trace runs the first run of each row once more, with a tracer.
func trace(rows []batch.Row, f *runFlags, q sim.Quirks) error {
	if f.qlog == "" && f.plot == "" {
		return nil
	}
	var s sim.Sim
	for i := range rows {
		row := &rows[i]
		name := row.Scenario.Name + "-" + row.CC
		o := sim.Options{CC: row.CC, C4: f.c4, Seed: row.Results[0].Seed, Quirks: q}
		if f.qlog != "" {
			file := filepath.Join(f.qlog, name+".qlog")
			if err := traceQlog(&s, row, o, file); err != nil {
				return fmt.Errorf("qlog %s: %w", file, err)
			}
		}
		if f.plot != "" {
			file := f.plot
			if len(rows) > 1 {
				ext := filepath.Ext(file)
				file = strings.TrimSuffix(file, ext) + "-" + name + ext
			}
			if err := tracePlot(&s, row, o, f, file); err != nil {
				return fmt.Errorf("plot %s: %w", file, err)
			}
		}
	}
	return nil
}

func traceQlog(s *sim.Sim, row *batch.Row, o sim.Options, file string) error {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	w := qlog.New(out, 0, fmt.Sprintf("%s with %s, seed %d", row.Scenario.Name, row.CC, o.Seed))
	o.Tracer = w
	_, err = s.Run(row.Scenario, o)
	return errors.Join(err, w.Close(), out.Close())
}

func tracePlot(s *sim.Sim, row *batch.Row, o sim.Options, f *runFlags, file string) error {
	r := plot.Recorder{From: f.from, To: f.to}
	o.Tracer = &r
	if _, err := s.Run(row.Scenario, o); err != nil {
		return err
	}
	fig := r.Figure(row.Scenario.Name+" with "+row.CC+": "+row.Scenario.About, row.Scenario)
	if len(row.Results) > 1 && f.part == "" {
		addDistributions(fig, row)
	}
	return writeFigure(fig, file)
}

// addDistributions adds how the runs of a row differ.
func addDistributions(fig *plot.Figure, row *batch.Row) {
	get := func(f func(*batch.Result) float64) [][]float64 {
		v := make([]float64, len(row.Results))
		for i := range row.Results {
			v[i] = f(&row.Results[i]) / 1e3
		}
		return [][]float64{v}
	}
	name := []string{row.CC}
	if row.AvLatency > 0 {
		fig.Add(plot.Distribution("highest frame delay, share of runs", "ms", name, get(func(r *batch.Result) float64 { return r.MaxLatency })))
	} else {
		fig.Add(plot.Distribution("completion time, share of runs", "ms", name, get(func(r *batch.Result) float64 { return r.Time })))
	}
	fig.Add(plot.Distribution("mean round trip, share of runs", "ms", name, get(func(r *batch.Result) float64 { return r.RTTMean })))
}

func writeFigure(fig *plot.Figure, file string) error {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(out)
	_, err = fig.WriteTo(b)
	return errors.Join(err, b.Flush(), out.Close())
}

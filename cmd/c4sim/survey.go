package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/sim/survey"
)

const surveyHelp = `
c4sim survey measures controllers as the survey "Fifty Shades of Congestion
Control" does: alone with 0 to 90 % of the bandwidth used in the other direction,
2 to 4 flows of one controller and of two, and flows whose round-trip times differ
by 0 to 400 ms. It writes tables as Markdown, and heat maps.
`

func runSurvey(ctx context.Context, env cli.Env) error {
	var f common
	var out, plots string
	var rate float64
	var duration time.Duration
	fs := cli.NewFlags("c4sim survey", surveyHelp, env.Stderr)
	f.register(fs, "c4,cubic-rfc9438,bbr,reno,vegas", 3)
	fs.Float64Var(&rate, "rate", 100, "bottleneck in `Mbit/s`")
	fs.DurationVar(&duration, "duration", 30*time.Second, "virtual `time` of each run")
	fs.StringVar(&out, "out", "", "write to this `file` (default standard output)")
	fs.StringVar(&plots, "plots", "", "write heat maps into this `directory`, and link them")
	args, err := cli.Parse(fs, env.Args)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		return cli.Usage("survey takes no arguments")
	}
	names, err := f.check()
	if err != nil {
		return err
	}
	if rate < 1 || rate > 10_000 {
		return cli.Usage("--rate is not between 1 and 10000")
	}
	if duration < time.Second || duration > 10*time.Minute {
		return cli.Usage("--duration is not between 1s and 10m")
	}
	bar := newProgress(env.Stderr)
	r, err := survey.Run(ctx, survey.Config{
		CCs: names, Rate: rate * 1e6, Duration: duration, Runs: f.runs,
		Seed: uint32(f.seed), Workers: f.workers, Progress: bar.show,
	})
	bar.clear()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `# Survey

Made by

    c4sim survey --cc %s --rate %g --duration %s --runs %d --seed %d --out docs/c4/survey.md --plots docs/c4/plots

with the measurements of "Fifty Shades of Congestion Control: A Performance and
Interactions Evaluation": a bottleneck of %g Mbit/s with a queue of 1000 packets,
a round trip of 1 ms, flows that send all the time and start 0.1 s apart, means
over %d runs of %s. Rates are per flow; sending rate and throughput count packet
headers, goodput does not.

The survey ran Linux TCP on machines. Here the traffic in the other direction
comes in bursts of a millisecond, as from iperf3, and delays acknowledgements,
which are small and rare, by up to a millisecond; none is lost. Vegas suffers most,
as it did there, the others far less.

There all lost at least 10 Mbit/s, and Vegas all but 3 %% of the link, because
acknowledgements were lost: no flow ever got more than 74 Mbit/s through that link,
so that 90 Mbit/s against it were more than it could carry. The same happens here
when the traffic is more than the link carries, or comes in long bursts. Throughput
of 60 MB, Mbit/s, one run each, of a scenario file with

    link rate=100Mbit/s delay=500us queue=115ms
    flow main size=60MB
    cross up rate=90Mbit/s size=1440B burst=8

| against it | c4 | cubic-rfc9438 | bbr | reno | vegas |
|---|---:|---:|---:|---:|---:|
| nothing | 96.6 | 97.7 | 95.9 | 97.7 | 79.0 |
| 90 Mbit/s, bursts of 1 ms (8 packets) | 97.5 | 97.7 | 96.8 | 97.7 | 54.9 |
| 90 Mbit/s, bursts of 10 ms | 95.7 | 96.8 | 96.5 | 96.8 | 21.9 |
| 90 Mbit/s, bursts of 50 ms | 93.8 | 93.8 | 28.4 | 94.8 | 7.6 |
| 100 Mbit/s | 97.3 | 97.5 | 29.7 | 97.4 | 18.6 |
| 101 Mbit/s | 94.2 | 96.5 | 10.7 | 96.5 | 0.8 |
`, f.cc, rate, duration, f.runs, f.seed, rate, f.runs, duration)
	figures := r.Figures()
	if plots != "" {
		if err := os.MkdirAll(plots, 0o777); err != nil {
			return err
		}
		fmt.Fprintln(&b)
		for _, name := range slices.Sorted(maps.Keys(figures)) {
			file := filepath.Join(plots, name)
			if err := writeFigure(figures[name], file); err != nil {
				return err
			}
			link, err := filepath.Rel(filepath.Dir(out), file)
			if err != nil {
				link = file
			}
			fmt.Fprintf(&b, "![%s](%s)\n", figures[name].Title, filepath.ToSlash(link))
		}
	}
	r.Write(&b)
	if out == "" {
		_, err = env.Stdout.Write(b.Bytes())
		return err
	}
	return os.WriteFile(out, b.Bytes(), 0o666)
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/sim"
	"github.com/moq-c4/moq-c4/sim/batch"
	"github.com/moq-c4/moq-c4/sim/plot"
	"github.com/moq-c4/moq-c4/sim/reference"
	"github.com/moq-c4/moq-c4/sim/report"
	"github.com/moq-c4/moq-c4/sim/scenario"
)

const reportHelp = `
c4sim report runs all built-in scenarios with c4-draft04, cubic and bbr as the
reference does, its quirks included, and with the controllers under test, and
writes the comparison as Markdown.
`

// distributions are the scenarios whose mean says little.
var distributions = []string{"bbloat_c4", "vs_c4_lg", "vs_cubic", "ecn_cubic", "wifi_bad", "wifi_bad_c4", "alone_200"}

func runReport(ctx context.Context, env cli.Env) error {
	var f common
	var out, plots, only string
	fs := cli.NewFlags("c4sim report", reportHelp, env.Stderr)
	f.register(fs, "c4,c4-draft05", 100)
	fs.StringVar(&out, "out", "", "write to this `file` (default standard output)")
	fs.StringVar(&plots, "plots", "", "write plots into this `directory`, and link them")
	fs.StringVar(&only, "scenarios", "all", "comma-separated `names` of scenarios")
	args, err := cli.Parse(fs, env.Args)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		return cli.Usage("report takes no arguments")
	}
	names, err := f.check()
	if err != nil {
		return err
	}
	all, err := scenarios(strings.Split(only, ","))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := writeReport(ctx, env, &b, &f, all, names, plots, filepath.Dir(out)); err != nil {
		return err
	}
	if out == "" {
		_, err = env.Stdout.Write(b.Bytes())
		return err
	}
	return os.WriteFile(out, b.Bytes(), 0o666)
}

// runBatch is batch.Run with a progress bar.
func runBatch(ctx context.Context, env cli.Env, c batch.Config) ([]batch.Row, error) {
	bar := newProgress(env.Stderr)
	defer bar.clear()
	c.Progress = bar.show
	return batch.Run(ctx, c)
}

func writeReport(ctx context.Context, env cli.Env, b *bytes.Buffer, f *common, all []*scenario.Scenario, names []string, plots, base string) error {
	ref, err := reference.Load(false)
	if err != nil {
		return err
	}
	refECN, err := reference.Load(true)
	if err != nil {
		return err
	}
	config := batch.Config{
		Scenarios: all, CCs: report.Compared, Runs: f.runs, Seed: uint32(f.seed),
		Quirks: sim.AllQuirks, C4: report.Draft04, Workers: f.workers,
	}
	began, cpuBegan := time.Now(), cpuTime()
	compared, err := runBatch(ctx, env, config)
	if err != nil {
		return err
	}
	took, cpu := time.Since(began), cpuTime()-cpuBegan

	config.CCs, config.C4 = names, ""
	newest, err := runBatch(ctx, env, config)
	if err != nil {
		return err
	}
	var aqm []*scenario.Scenario
	for _, sc := range all {
		if sc.DualQ {
			aqm = append(aqm, sc)
		}
	}
	config.Scenarios, config.CCs, config.C4 = aqm, report.Compared, report.Draft04
	config.Quirks = sim.Quirks{MediaTimer: true, DualQCoupling: true, FixedSeeds: true}
	ecn, err := runBatch(ctx, env, config)
	if err != nil {
		return err
	}

	fmt.Fprintf(b, `# Results

Made by

    c4sim report --runs %d --seed %d --cc %s --out docs/c4/results.md --plots docs/c4/plots

from %d scenarios, %d runs of each with each controller. Do not edit: the
explanations are in the package sim/report. The drafts' scenarios are described
by "c4sim list NAME"; wifi_bad_q80 is wifi_bad with the shorter queue that the
drafts used for bbr and cubic.

## Against the reference

The reference is picoquic's simulator (August 2026), whose C4 is that of
draft-04; c4-draft04 is its counterpart here. Its quirks are switched on: the
media timer that makes some audio wait for video, the ECN marking that sends
everything to the classic queue, and controllers that draw the same random numbers
in every run. Percentages are deviations from the reference,
in bold outside the tolerance: for c4-draft04 1 %% in time, 3 %% in mean RTT, 0.5 %%
and 1 %% in average and maximum latency on the steady rows, and 4 %% where flows
compete, on Wi-Fi and with bursts; for cubic and bbr 8 %%. The reference's means
are over 60 to 100 runs of c4 and 25 to 100 of the others, so that rows with two
outcomes differ by chance.
`, f.runs, f.seed, f.cc, len(all), f.runs)
	report.Reference(b, compared, ref, false)

	fmt.Fprint(b, `
### Distributions

Rows in which a few outcomes hold most of the runs: quantiles say more than
means.
`)
	report.Distributions(b, compared, distributions)
	if plots != "" {
		if err := plotDistributions(b, compared, plots, base); err != nil {
			return err
		}
	}

	fmt.Fprint(b, `
## ECN as it should be

The reference with its marking corrected (each packet carries what its controller
asks for; C4 gets ECT(1) and the low-latency queue), but with the fault in the
coupling of its AQM, which is switched on here too. 25 runs there.
`)
	report.Reference(b, ecn, refECN, true)

	fmt.Fprint(b, `
## The newest design

The default and the newest design beside draft-04, with the same quirks, and
beside the newest c4 column of the drafts' tables (which is draft-04). Percentages
are against c4-draft04.
`)
	var joined []batch.Row
	for _, sc := range all {
		for _, rows := range [][]batch.Row{newest, compared} {
			for i := range rows {
				if rows[i].Scenario == sc && (rows[i].CC == report.Draft04 || strings.HasPrefix(rows[i].CC, "c4")) {
					joined = append(joined, rows[i])
				}
			}
		}
	}
	report.Newest(b, joined, names, ref)

	total := len(compared) * f.runs
	fmt.Fprintf(b, `
## Speed

The first table's %d runs took %.0f s on %d cores, with whatever else the machine
was doing.
`, total, took.Seconds(), runtime.GOMAXPROCS(0))
	if cpu > 0 {
		fmt.Fprintf(b, "They used %.0f s of processor time: %.0f runs for each second of it.\n", cpu.Seconds(), float64(total)/cpu.Seconds())
	}
	return nil
}

// plotDistributions draws the distributions over the runs and links them.
func plotDistributions(b *bytes.Buffer, rows []batch.Row, dir, base string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	fmt.Fprintln(b)
	for _, name := range distributions {
		fig := &plot.Figure{Title: name + ", over the runs"}
		var ccs []string
		var times, rtts [][]float64
		for i := range rows {
			r := &rows[i]
			if r.Scenario.Name != name {
				continue
			}
			var t, rtt []float64
			for j := range r.Results {
				t = append(t, r.Results[j].Time/1e6)
				rtt = append(rtt, r.Results[j].RTTMean/1e3)
			}
			ccs, times, rtts = append(ccs, r.CC), append(times, t), append(rtts, rtt)
		}
		if len(ccs) == 0 {
			continue
		}
		fig.Add(plot.Distribution("completion time, share of runs", "s", ccs, times))
		fig.Add(plot.Distribution("mean round trip, share of runs", "ms", ccs, rtts))
		file := filepath.Join(dir, "dist-"+name+".svg")
		if err := writeFigure(fig, file); err != nil {
			return err
		}
		link, err := filepath.Rel(base, file)
		if err != nil {
			link = file
		}
		fmt.Fprintf(b, "![%s](%s)\n", name, filepath.ToSlash(link))
	}
	return nil
}

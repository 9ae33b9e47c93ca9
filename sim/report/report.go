package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/moq-c4/moq-c4/sim/batch"
	"github.com/moq-c4/moq-c4/sim/reference"
)

// Draft04 is the controller that behaves as the reference's C4.
const Draft04 = "c4-draft04"

// Compared are the controllers that the reference has, by our names.
var Compared = []string{Draft04, "cubic", "bbr"}

// referenceName is the reference's name of a controller.
func referenceName(cc string) string {
	if cc == Draft04 {
		return "c4"
	}
	return cc
}

// rowOf finds a row.
func rowOf(rows []batch.Row, scenario, cc string) *batch.Row {
	for i := range rows {
		if rows[i].Scenario.Name == scenario && rows[i].CC == cc {
			return &rows[i]
		}
	}
	return nil
}

func measured(r *batch.Row) reference.Measured {
	return reference.Measured{TimeAvg: r.TimeAvg, RTTMean: r.RTTMean, AvLatency: r.AvLatency, MaxLatencyP90: r.MaxLatencyP90}
}

type outside struct {
	scenario, cc string
	what         []string
	stderr       float64 // of the time, as a fraction
	refRuns      int
}

// Reference writes a table for each group of scenarios with the deviations from
// the reference, and a list of the rows outside the tolerance. ecnFixed says that
// the reference is the one with its marking corrected.
func Reference(w io.Writer, rows []batch.Row, ref map[reference.Key]*reference.Row, ecnFixed bool) {
	why := reasons
	if ecnFixed {
		why = reasonsECN
	}
	group := ""
	var out []outside
	within, total := map[string]int{}, map[string]int{}
	for i := range rows {
		r := &rows[i]
		cc := referenceName(r.CC)
		want := ref[reference.Key{Scenario: r.Scenario.Name, CC: cc}]
		if want == nil {
			continue
		}
		if r.Scenario.Group != group {
			group = r.Scenario.Group
			fmt.Fprintf(w, "\n### %s\n\n", group)
			head := "| scenario | controller | time, s | | mean RTT, ms | | deviation of RTT, ms | "
			line := "|---|---|---:|---:|---:|---:|---:|"
			if group == "media" {
				head += "| latency, ms | | maximum, ms | "
				line += "---:|---:|---:|---:|---:|"
			} else {
				line += "---:|"
			}
			fmt.Fprintf(w, "%s|\n%s\n", head, line)
		}
		tol := reference.ToleranceOf(r.Scenario.Name, r.Scenario.Group, cc)
		o := outside{scenario: r.Scenario.Name, cc: r.CC, refRuns: want.Runs, stderr: standardError(r)}
		mark := map[string]bool{}
		for _, d := range want.Compare(measured(r), tol) {
			if d.Outside {
				mark[d.What] = true
				o.what = append(o.what, fmt.Sprintf("%s %s against %s (%s)", d.What, amount(d.What, d.Got), amount(d.What, d.Want), percent(d.Got, d.Want)))
			}
		}
		total[r.CC]++
		if len(o.what) == 0 {
			within[r.CC]++
		} else {
			out = append(out, o)
		}
		cell := func(what string, got, want float64, seconds bool) string {
			s := fmt.Sprintf("%.1f", got/1e3)
			if seconds {
				s = fmt.Sprintf("%.3f", got/1e6)
			}
			p := percent(got, want)
			if mark[what] {
				p = "**" + p + "**"
			}
			return fmt.Sprintf(" %s | %s |", s, p)
		}
		fmt.Fprintf(w, "| %s | %s |", r.Scenario.Name, r.CC)
		io.WriteString(w, cell("time", r.TimeAvg, want.TimeAvg, true))
		io.WriteString(w, cell("mean RTT", r.RTTMean, want.RTTMean, false))
		io.WriteString(w, cell("", r.RTTStd, want.RTTStd, false))
		if group == "media" {
			io.WriteString(w, cell("average latency", r.AvLatency, want.AvLatency, false))
			io.WriteString(w, cell("maximum latency", r.MaxLatencyP90, want.MaxLatencyP90, false))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\n### Rows outside the tolerance\n\nInside are ")
	for i, cc := range Compared {
		if i > 0 {
			io.WriteString(w, ", ")
		}
		fmt.Fprintf(w, "%d of %d rows of %s", within[cc], total[cc], cc)
	}
	fmt.Fprintf(w, ".\n\n")
	for _, o := range out {
		fmt.Fprintf(w, "- **%s, %s**: %s. Standard error of the time here %.1f %%; the reference has %d runs.\n  %s\n",
			o.scenario, o.cc, strings.Join(o.what, "; "), 100*o.stderr, o.refRuns, reason(why, o.scenario, referenceName(o.cc)))
	}
}

func amount(what string, v float64) string {
	if what == "time" {
		return fmt.Sprintf("%.3f s", v/1e6)
	}
	return fmt.Sprintf("%.1f ms", v/1e3)
}

func percent(got, want float64) string {
	if want == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.1f %%", 100*(got/want-1))
}

// standardError of the mean time, as a fraction of it.
func standardError(r *batch.Row) float64 {
	n := len(r.Results)
	if n < 2 || r.TimeAvg == 0 {
		return 0
	}
	sum := 0.0
	for i := range r.Results {
		d := r.Results[i].Time - r.TimeAvg
		sum += float64(d * d)
	}
	return math.Sqrt(sum/float64(n-1)/float64(n)) / r.TimeAvg
}

// Newest writes how the controllers of the newest design do beside draft-04 and
// the drafts' own table. rows must hold all of them and Draft04.
func Newest(w io.Writer, rows []batch.Row, ccs []string, ref map[reference.Key]*reference.Row) {
	names := append(append([]string{}, ccs...), Draft04)
	fmt.Fprint(w, "\nTime in s, average / 90th percentile:\n\n| scenario |")
	for _, cc := range names {
		fmt.Fprintf(w, " %s |", cc)
	}
	fmt.Fprint(w, " drafts |\n|---|")
	fmt.Fprintln(w, strings.Repeat("---|", len(names)+1))
	for _, name := range scenarioNames(rows) {
		want := ref[reference.Key{Scenario: name, CC: "c4"}]
		if want == nil {
			continue
		}
		base := rowOf(rows, name, Draft04)
		fmt.Fprintf(w, "| %s |", name)
		for _, cc := range names {
			r := rowOf(rows, name, cc)
			fmt.Fprintf(w, " %.3f / %.3f", r.TimeAvg/1e6, r.TimeP90/1e6)
			if cc != Draft04 {
				fmt.Fprintf(w, " (%s)", percent(r.TimeAvg, base.TimeAvg))
			}
			fmt.Fprint(w, " |")
		}
		if want.DraftTimeAvg > 0 {
			fmt.Fprintf(w, " %.3f / %.3f |\n", want.DraftTimeAvg/1e6, want.DraftTimeP90/1e6)
		} else {
			fmt.Fprint(w, " - |\n")
		}
	}

	fmt.Fprint(w, "\nMean RTT / 90th percentile of RTT mean plus deviation, ms; share of the link and Jain's index where flows compete:\n\n| scenario |")
	for _, cc := range names {
		fmt.Fprintf(w, " %s |", cc)
	}
	fmt.Fprint(w, "\n|---|")
	fmt.Fprintln(w, strings.Repeat("---|", len(names)))
	for _, name := range scenarioNames(rows) {
		if ref[reference.Key{Scenario: name, CC: "c4"}] == nil {
			continue
		}
		fmt.Fprintf(w, "| %s |", name)
		for _, cc := range names {
			r := rowOf(rows, name, cc)
			fmt.Fprintf(w, " %.1f / %.1f", r.RTTMean/1e3, r.RTTPlusStdP90/1e3)
			if len(r.Scenario.Flows) > 1 {
				fmt.Fprintf(w, "; %.2f, %.2f", r.LoadShare, r.Jain)
			}
			fmt.Fprint(w, " |")
		}
		fmt.Fprintln(w)
	}

	fmt.Fprint(w, "\nMedia: average latency / 90th percentile of the highest, ms:\n\n| scenario |")
	for _, cc := range names {
		fmt.Fprintf(w, " %s |", cc)
	}
	fmt.Fprint(w, " drafts |\n|---|")
	fmt.Fprintln(w, strings.Repeat("---|", len(names)+1))
	for _, name := range scenarioNames(rows) {
		want := ref[reference.Key{Scenario: name, CC: "c4"}]
		if want == nil || want.AvLatency == 0 {
			continue
		}
		fmt.Fprintf(w, "| %s |", name)
		for _, cc := range names {
			r := rowOf(rows, name, cc)
			fmt.Fprintf(w, " %.1f / %.1f |", r.AvLatency/1e3, r.MaxLatencyP90/1e3)
		}
		fmt.Fprintf(w, " %.1f / %.1f |\n", want.DraftAvLatency/1e3, want.DraftMaxLatencyP90/1e3)
	}
}

func scenarioNames(rows []batch.Row) []string {
	var names []string
	for i := range rows {
		if n := rows[i].Scenario.Name; len(names) == 0 || names[len(names)-1] != n {
			names = append(names, n)
		}
	}
	return names
}

// Distributions writes quantiles over the runs for rows whose mean says little.
func Distributions(w io.Writer, rows []batch.Row, names []string) {
	fmt.Fprint(w, "\n| scenario | controller | | 10 % | 25 % | 50 % | 75 % | 90 % |\n|---|---|---|---:|---:|---:|---:|---:|\n")
	for _, name := range names {
		for _, cc := range Compared {
			r := rowOf(rows, name, cc)
			if r == nil {
				continue
			}
			var time, rtt []float64
			for i := range r.Results {
				time = append(time, r.Results[i].Time/1e6)
				rtt = append(rtt, r.Results[i].RTTMean/1e3)
			}
			fmt.Fprintf(w, "| %s | %s | time, s |", name, cc)
			for _, q := range []float64{0.1, 0.25, 0.5, 0.75, 0.9} {
				fmt.Fprintf(w, " %.2f |", batch.Quantile(time, q))
			}
			fmt.Fprint(w, "\n| | | RTT, ms |")
			for _, q := range []float64{0.1, 0.25, 0.5, 0.75, 0.9} {
				fmt.Fprintf(w, " %.1f |", batch.Quantile(rtt, q))
			}
			fmt.Fprintln(w)
		}
	}
}

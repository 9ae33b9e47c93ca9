package survey

import (
	"fmt"
	"io"
	"strings"

	"github.com/moq-c4/moq-c4/sim/plot"
)

// Write writes the tables as Markdown.
func (r *Result) Write(w io.Writer) {
	ccs := r.Config.CCs
	fmt.Fprint(w, "\n### Alone, with traffic in the other direction\n\n")
	fmt.Fprint(w, "One flow; the columns are shares of the bandwidth that go against it at a constant rate.\n")
	for _, m := range []struct {
		name, format string
		get          func(Cell) float64
	}{
		{"Sending rate, Mbit/s", "%.1f", func(c Cell) float64 { return c.SendingRate }},
		{"Throughput, Mbit/s", "%.1f", func(c Cell) float64 { return c.Throughput }},
		{"Goodput, Mbit/s", "%.1f", func(c Cell) float64 { return c.Goodput }},
		{"Goodput ratio", "%.4f", func(c Cell) float64 { return c.GoodputRatio }},
		{"Average RTT, ms", "%.1f", func(c Cell) float64 { return c.RTT }},
	} {
		table(w, m.name, ccs, loadNames(), r.Baseline, m.format, m.get)
	}

	fmt.Fprint(w, "\n### Several flows of one controller\n\n")
	cols := []string{}
	for _, n := range Counts {
		cols = append(cols, fmt.Sprintf("%d flows", n))
	}
	table(w, "Jain's index", ccs, cols, r.Intra, "%.3f", func(c Cell) float64 { return c.Jain })
	table(w, "Sum of the goodputs, Mbit/s (per flow times flows)", ccs, cols, scaled(r.Intra), "%.1f", func(c Cell) float64 { return c.Goodput })
	table(w, "Average RTT, ms", ccs, cols, r.Intra, "%.1f", func(c Cell) float64 { return c.RTT })

	fmt.Fprint(w, "\n### Flows of two controllers\n\nThe row's controller against the column's.\n")
	for i, mix := range Mixes {
		name := fmt.Sprintf("%d against %d: ", mix[0], mix[1])
		table(w, name+"Jain's index", ccs, ccs, r.Inter[i], "%.2f", func(c Cell) float64 { return c.Jain })
		table(w, name+"throughput of the row's flows as a part of their fair share", ccs, ccs, r.Inter[i], "%.2f", func(c Cell) float64 { return c.Share })
		table(w, name+"average RTT, ms", ccs, ccs, r.Inter[i], "%.0f", func(c Cell) float64 { return c.RTT })
	}

	fmt.Fprint(w, "\n### Flows with different round-trip times\n\nFlows of one controller; the columns are the RTT of the farthest beyond that of the nearest.\n")
	for i, n := range farFlows {
		table(w, fmt.Sprintf("%d flows: Jain's index", n), ccs, extraNames(), r.RTT[i], "%.3f", func(c Cell) float64 { return c.Jain })
	}
}

// scaled multiplies the goodput by the number of flows.
func scaled(t [][]Cell) [][]Cell {
	out := make([][]Cell, len(t))
	for i := range t {
		for j, c := range t[i] {
			c.Goodput *= float64(Counts[j])
			out[i] = append(out[i], c)
		}
	}
	return out
}

func loadNames() []string {
	var n []string
	for _, l := range Loads {
		n = append(n, fmt.Sprintf("%d %%", l))
	}
	return n
}

func extraNames() []string {
	var n []string
	for _, e := range Extras {
		n = append(n, fmt.Sprintf("%d ms", e.Milliseconds()))
	}
	return n
}

func table(w io.Writer, title string, rows, cols []string, cells [][]Cell, format string, get func(Cell) float64) {
	fmt.Fprintf(w, "\n%s:\n\n| | %s |\n|---|%s\n", title, strings.Join(cols, " | "), strings.Repeat("---:|", len(cols)))
	for i, name := range rows {
		fmt.Fprintf(w, "| %s |", name)
		for j := range cols {
			fmt.Fprintf(w, " "+format+" |", get(cells[i][j]))
		}
		fmt.Fprintln(w)
	}
}

// Figures returns heat maps by file name.
func (r *Result) Figures() map[string]*plot.Figure {
	ccs := r.Config.CCs
	values := func(t [][]Cell, get func(Cell) float64) [][]float64 {
		v := make([][]float64, len(t))
		for i := range t {
			for _, c := range t[i] {
				v[i] = append(v[i], get(c))
			}
		}
		return v
	}
	jain := func(c Cell) float64 { return c.Jain }
	mbit := r.Config.Rate / 1e6

	base := &plot.Figure{Title: "Alone, with traffic in the other direction"}
	base.AddHeatMap(&plot.HeatMap{
		Title: "goodput, Mbit/s", Rows: ccs, Cols: loadNames(), Format: "%.1f", Low: mbit / 2, High: mbit, HighIsBetter: true,
		Values: values(r.Baseline, func(c Cell) float64 { return c.Goodput }),
	})
	base.AddHeatMap(&plot.HeatMap{
		Title: "average RTT, ms", Rows: ccs, Cols: loadNames(), Format: "%.1f", Low: 0, High: 100,
		Values: values(r.Baseline, func(c Cell) float64 { return c.RTT }),
	})

	inter := &plot.Figure{Title: "Flows of two controllers"}
	for i, mix := range Mixes {
		inter.AddHeatMap(&plot.HeatMap{
			Title: fmt.Sprintf("%d against %d: Jain's index", mix[0], mix[1]), Rows: ccs, Cols: ccs, Format: "%.2f",
			Low: 1 / float64(mix[0]+mix[1]), High: 1, HighIsBetter: true, Values: values(r.Inter[i], jain),
		})
		inter.AddHeatMap(&plot.HeatMap{
			Title: fmt.Sprintf("%d against %d: share of the row's controller, 1 is fair", mix[0], mix[1]), Rows: ccs, Cols: ccs, Format: "%.2f",
			Low: 0, High: 2, MiddleIsBest: true, Values: values(r.Inter[i], func(c Cell) float64 { return c.Share }),
		})
	}

	far := &plot.Figure{Title: "Flows with different round-trip times"}
	for i, n := range farFlows {
		far.AddHeatMap(&plot.HeatMap{
			Title: fmt.Sprintf("%d flows: Jain's index", n), Rows: ccs, Cols: extraNames(), Format: "%.2f",
			Low: 1 / float64(n), High: 1, HighIsBetter: true, Values: values(r.RTT[i], jain),
		})
	}
	return map[string]*plot.Figure{"survey-baseline.svg": base, "survey-inter.svg": inter, "survey-rtt.svg": far}
}

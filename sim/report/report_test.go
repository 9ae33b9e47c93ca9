package report

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/moq-c4/moq-c4/sim"
	"github.com/moq-c4/moq-c4/sim/batch"
	"github.com/moq-c4/moq-c4/sim/reference"
	"github.com/moq-c4/moq-c4/sim/scenario"
)

func TestReport(t *testing.T) {
	var scs []*scenario.Scenario
	for _, n := range []string{"alone", "alone_1_5M", "media10"} {
		sc, err := scenario.Builtin(n, sim.Controllers())
		if err != nil {
			t.Fatal(err)
		}
		scs = append(scs, sc)
	}
	rows, err := batch.Run(context.Background(), batch.Config{
		Scenarios: scs, CCs: append([]string{"c4"}, Compared...), Runs: 2, Seed: 1, Quirks: sim.AllQuirks, C4: Draft04,
	})
	if err != nil {
		t.Fatal(err)
	}
	ref, err := reference.Load(false)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	var compared []batch.Row
	for _, r := range rows {
		if r.CC != "c4" {
			compared = append(compared, r)
		}
	}
	Reference(&b, compared, ref, false)
	Newest(&b, rows, []string{"c4"}, ref)
	Distributions(&b, rows, []string{"alone"})
	text := b.String()
	for _, want := range []string{
		"### network", "### media", "| alone | c4-draft04 |", "- **alone_1_5M, c4-draft04**: mean RTT", "Two stable outcomes",
		"Inside are 2 of 3 rows of c4-draft04", "| media10 | ", "| alone | bbr | time, s |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the report", want)
		}
	}
	// every table has as many cells in each line as in its head
	cells := 0
	for line := range strings.SplitSeq(text, "\n") {
		if !strings.HasPrefix(line, "|") {
			cells = 0
			continue
		}
		n := strings.Count(line, "|")
		if cells > 0 && n != cells {
			t.Errorf("%d cells where the table has %d: %s", n, cells, line)
		}
		cells = n
	}
}

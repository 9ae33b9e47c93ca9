package survey

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

// The whole survey, small: figures that must hold for any controller.
func TestRun(t *testing.T) {
	c := Config{CCs: []string{"c4", "vegas"}, Rate: 5e6, Duration: 3 * time.Second, Runs: 1, Seed: 1}
	r, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	all := append(append(append([][]Cell{}, r.Baseline...), r.Intra...), append(r.Inter[0], r.RTT[1]...)...)
	for _, row := range all {
		for _, x := range row {
			if x.Throughput > x.SendingRate || x.Goodput > x.Throughput || x.SendingRate <= 0 {
				t.Errorf("rates %+v", x)
			}
			if x.Jain <= 0 || x.Jain > 1.000001 || x.GoodputRatio <= 0.3 || x.GoodputRatio > 1 || x.Share < 0 {
				t.Errorf("ratios %+v", x)
			}
			if x.Throughput > 5.1 {
				t.Errorf("throughput of %v Mbit/s over 5", x.Throughput)
			}
		}
	}
	if x := r.Baseline[0][0]; x.Goodput < 3.5 || x.Jain != 1 {
		t.Errorf("c4 alone: %+v", x)
	}

	var b bytes.Buffer
	r.Write(&b)
	for _, want := range []string{"Goodput ratio:", "| c4 |", "1 against 3: Jain's index:", "4 flows: Jain's index:"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in the tables", want)
		}
	}
	for name, f := range r.Figures() {
		var svg bytes.Buffer
		if _, err := f.WriteTo(&svg); err != nil || strings.Contains(svg.String(), "NaN") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

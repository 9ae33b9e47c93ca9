package reference_test

import (
	"context"
	"strings"
	"testing"

	"github.com/moq-c4/moq-c4/sim"
	"github.com/moq-c4/moq-c4/sim/batch"
	"github.com/moq-c4/moq-c4/sim/reference"
	"github.com/moq-c4/moq-c4/sim/scenario"
)

func TestLoad(t *testing.T) {
	rows, err := reference.Load(false)
	if err != nil {
		t.Fatal(err)
	}
	r := rows[reference.Key{Scenario: "media10", CC: "c4"}]
	if r == nil || r.AvLatency != 45377 || r.MaxLatencyP90 != 71128 || r.TimeAvg != 5122805 || r.DraftAvLatency != 45378 {
		t.Errorf("media10: %+v", r)
	}
	for _, n := range scenario.Names() {
		for _, cc := range []string{"c4", "cubic", "bbr"} {
			if rows[reference.Key{Scenario: n, CC: cc}] == nil && (n != "wifi_bad_q80" || cc != "c4") {
				t.Errorf("no reference for %s with %s", n, cc)
			}
		}
	}
	if fixed, err := reference.Load(true); err != nil || fixed[reference.Key{Scenario: "ecn_c4", CC: "c4"}].RTTMean != 86538 {
		t.Errorf("ECN table: %v", err)
	}
}

// The rows that hardly differ from run to run agree with the reference, for all
// three controllers; the full comparison is in docs/c4/results.md.
func TestAnchors(t *testing.T) {
	rows, err := reference.Load(false)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{
		"alone", "alone_512k", "low_and_up", "drop_and_back", "blackhole", "short_long", "satellite",
		"ecn", "bbloat", "media", "media10", "media_600fr", "media_short_long", "media_ecn",
	}
	if testing.Short() {
		names = names[:4]
	}
	var scs []*scenario.Scenario
	for _, n := range names {
		sc, err := scenario.Builtin(n, sim.Controllers())
		if err != nil {
			t.Fatal(err)
		}
		scs = append(scs, sc)
	}
	got, err := batch.Run(context.Background(), batch.Config{
		Scenarios: scs, CCs: []string{"c4-draft04"}, Runs: 2, Seed: 1, Quirks: sim.AllQuirks,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range got {
		want := rows[reference.Key{Scenario: g.Scenario.Name, CC: "c4"}]
		tol := reference.ToleranceOf(g.Scenario.Name, g.Scenario.Group, "c4")
		m := reference.Measured{TimeAvg: g.TimeAvg, RTTMean: g.RTTMean, AvLatency: g.AvLatency, MaxLatencyP90: g.MaxLatencyP90}
		for _, d := range want.Compare(m, tol) {
			if d.Outside {
				t.Errorf("%s: %s is %.0f us, the reference has %.0f (%+.2f %%)", g.Scenario.Name, d.What, d.Got, d.Want, 100*d.Fraction)
			}
		}
	}
}

// A bound that cannot fail asserts nothing: every scenario bounds time or latency
// of each controller of the reference, not far above what the reference has. Where
// runs differ, on Wi-Fi and where flows compete, single runs need room.
func TestBoundsCanFail(t *testing.T) {
	rows, err := reference.Load(false)
	if err != nil {
		t.Fatal(err)
	}
	all, err := scenario.All(sim.Controllers())
	if err != nil {
		t.Fatal(err)
	}
	for _, sc := range all {
		for _, cc := range []string{"c4", "c4-draft04", "cubic", "bbr"} {
			key := reference.Key{Scenario: sc.Name, CC: strings.TrimSuffix(cc, "-draft04")}
			want := rows[key]
			if want == nil {
				continue // the reference lacks wifi_bad_q80 with c4
			}
			figures := map[scenario.Metric]float64{
				scenario.TimeP90: want.TimeP90, scenario.RTTMean: want.RTTMean,
				scenario.AvLatency: want.AvLatency, scenario.MaxLatencyP90: want.MaxLatencyP90,
			}
			bounds := 0
			for _, b := range sc.Bounds {
				figure := figures[b.Metric]
				if !b.For(cc) || b.AtLeast || figure == 0 {
					continue
				}
				bounds++
				most := 1.51 * figure
				if sc.DualQ {
					most = 2 * figure // the reference's table knows no marks
				}
				if b.Value > most {
					t.Errorf("%s, line %d: %s %s <= %.0f us, where the reference has %.0f", sc.Name, b.Line, cc, b.Metric, b.Value, figure)
				}
			}
			if bounds < 2 {
				t.Errorf("%s: %d bounds for %s, want two or more", sc.Name, bounds, cc)
			}
		}
	}
}

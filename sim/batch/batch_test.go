package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/moq-c4/moq-c4/sim"
	"github.com/moq-c4/moq-c4/sim/scenario"
)

func open(t testing.TB, names ...string) []*scenario.Scenario {
	t.Helper()
	var all []*scenario.Scenario
	for _, n := range names {
		sc, err := scenario.Builtin(n, sim.Controllers())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, sc)
	}
	return all
}

// Every built-in scenario runs to its end within its bounds; the light ones with
// other controllers too.
func TestScenarios(t *testing.T) {
	all, err := scenario.All(sim.Controllers())
	if err != nil {
		t.Fatal(err)
	}
	for _, sc := range all {
		t.Run(sc.Name, func(t *testing.T) {
			light := sc.Group == "network" || sc.Group == "media"
			if testing.Short() && !light {
				t.Skip("short")
			}
			ccs := []string{"c4"}
			if light && sc.Name != "satellite" && sc.Name != "short_long" {
				ccs = append(ccs, "cubic", "bbr")
			}
			for _, cc := range ccs {
				rows, err := Run(context.Background(), Config{Scenarios: []*scenario.Scenario{sc}, CCs: []string{cc}, Seed: 2})
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range Check(rows) {
					t.Errorf("%s (reproduce: c4sim run %s --cc %s --runs 1 --seed 2)", f, sc.Name, cc)
				}
			}
		})
	}
}

// The output is the same, byte by byte, whatever the number of workers and
// cores.
func TestDeterminism(t *testing.T) {
	scs := open(t, "wifi_bad", "media_wf", "media_ecn")
	text := func(procs, workers int) string {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		rows, err := Run(context.Background(), Config{Scenarios: scs, CCs: []string{"c4", "bbr"}, Runs: 3, Seed: 3, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := errors.Join(WriteJSON(&b, rows), WriteTSV(&b, rows), WriteTable(&b, rows)); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	one := text(1, 1)
	for _, n := range []int{2, 5} {
		if text(n, n) != one {
			t.Errorf("output differs with %d workers", n)
		}
	}
}

// A run of a batch can be repeated alone.
func TestFirst(t *testing.T) {
	c := Config{Scenarios: open(t, "wifi_bad"), CCs: []string{"cubic"}, Runs: 4, Seed: 7}
	all, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	c.First, c.Runs = 2, 1
	one, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := all[0].Results[2], one[0].Results[0]; a.Time != b.Time || a.RTTMean != b.RTTMean || a.Seed != b.Seed {
		t.Errorf("run 2 is %+v, alone %+v", a, b)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	c := Config{Scenarios: open(t, "alone"), CCs: []string{"c4"}, Runs: 1000, Progress: func(int, int) { cancel() }}
	if _, err := Run(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestUnknownController(t *testing.T) {
	if _, err := Run(context.Background(), Config{Scenarios: open(t, "alone"), CCs: []string{"x"}}); err == nil {
		t.Error("no error")
	}
}

func TestCheck(t *testing.T) {
	sc := &scenario.Scenario{Name: "s", Bounds: []scenario.Bound{
		{Line: 3, CCs: []string{"c4"}, Metric: scenario.TimeP90, Value: 4.5e6},
		{Line: 4, CCs: []string{"c4"}, Metric: scenario.LoadShare, AtLeast: true, Value: 0.9},
	}}
	row := Row{Scenario: sc, CC: "c4", Results: make([]Result, 2), TimeP90: 4.6e6, LoadShare: 0.95}
	got := Check([]Row{row})
	if len(got) != 1 || got[0] != "s c4: time_p90 is 4.6s, bound in line 3 is <=4.5s" {
		t.Errorf("failures %q", got)
	}
	row.CC, row.Unfinished = "bbr", 1
	if got = Check([]Row{row}); len(got) != 1 || !strings.Contains(got[0], "1 of 2 runs did not finish") {
		t.Errorf("failures %q", got)
	}
}

func TestQuantile(t *testing.T) {
	v := []float64{5, 1, 4, 2, 3}
	for q, want := range map[float64]float64{0: 1, 0.5: 3, 0.9: 4.6, 1: 5} {
		if got := Quantile(v, q); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v-quantile %v, want %v", q, got, want)
		}
	}
	if v[0] != 5 {
		t.Error("the argument was sorted")
	}
	if Quantile(nil, 0.5) != 0 || Mean(nil) != 0 {
		t.Error("of nothing")
	}
}

func TestFormats(t *testing.T) {
	rows, err := Run(context.Background(), Config{Scenarios: open(t, "media10", "alone"), CCs: []string{"c4"}, Runs: 2, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteTSV(&b, rows); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 3 || lines[0] != strings.ReplaceAll("scenario cc runs time_avg_us time_p90_us av_latency_us max_latency_p90_us rtt_mean_us rtt_std_us load_share drops", " ", "\t") {
		t.Errorf("TSV:\n%s", b.String())
	}
	if f := strings.Split(lines[1], "\t"); len(f) != 11 || f[0] != "media10" || f[1] != "c4" || f[2] != "2" {
		t.Errorf("row %q", lines[1])
	}
	b.Reset()
	if err := WriteJSON(&b, rows); err != nil {
		t.Fatal(err)
	}
	var back []map[string]any
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || len(back) != 2 {
		t.Errorf("JSON: %v", err)
	}
	b.Reset()
	if err := WriteTable(&b, rows); err != nil || !strings.Contains(b.String(), "media10") {
		t.Errorf("table: %v\n%s", err, b.String())
	}
}

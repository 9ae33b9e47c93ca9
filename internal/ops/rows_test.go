package ops

import (
	"strings"
	"testing"
	"time"
)

type thing struct {
	name  string
	n     float64
	delay *Delay
}

func TestRows(t *testing.T) {
	r := NewRegistry(testBuild)
	seen, unseen := new(Delay), new(Delay)
	seen.Observe(time.Millisecond)
	long := strings.Repeat("x", 1000)
	ExportRows(
		r, []string{"name"}, 3,
		func() []thing {
			return []thing{{"a", 1, seen}, {"a", 2, seen}, {"bad\xffname", 3, unseen}, {long, 4, seen}, {"one too many", 5, seen}}
		},
		func(t thing) []string { return []string{t.name} },
		RowCounter("moq_thing_events_total", "Events.", func(t thing) float64 { return t.n }),
		RowGauge("moq_thing_size", "Size.", func(t thing) float64 { return 10 * t.n }),
		RowDelays("moq_thing_wait_seconds", "Waits.", Label{"stage", []string{"in", "out"}}, func(t thing, stage string) *Delay {
			if stage == "in" {
				return t.delay
			}
			return nil
		}),
	)
	wantMetrics(t, r, `
# HELP moq_thing_events_total Events.
# TYPE moq_thing_events_total counter
moq_thing_events_total{name="a"} 1
moq_thing_events_total{name="bad`+"\uFFFD"+`name"} 3
moq_thing_events_total{name="`+long[:maxLabelBytes]+`"} 4
# HELP moq_thing_size Size.
# TYPE moq_thing_size gauge
moq_thing_size{name="a"} 10
moq_thing_size{name="bad`+"\uFFFD"+`name"} 30
moq_thing_size{name="`+long[:maxLabelBytes]+`"} 40
`, "moq_thing_events_total", "moq_thing_size")
	if n := r.Series("moq_thing_wait_seconds"); n != 2 {
		t.Errorf("%d histograms, want 2", n)
	}
	if problems, err := r.Lint(); err != nil || len(problems) > 0 {
		t.Errorf("lint: %q, %v", problems, err)
	}
}

func TestLintFindsProblems(t *testing.T) {
	r := NewRegistry(testBuild)
	r.Counter("moq_wrongCounter", "")
	if problems, err := r.Lint(); err != nil || len(problems) == 0 {
		t.Errorf("no problem was found, %v", err)
	}
}

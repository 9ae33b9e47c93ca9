package ops

import (
	"testing"
	"time"
)

func TestHistory(t *testing.T) {
	var d Delay
	bytes := 0.0
	h := NewHistory(HistorySource{
		Stages: []string{"ingest", "relay"},
		Delay: func(stage string) DelaySnapshot {
			if stage == "relay" {
				return DelaySnapshot{}
			}
			return d.Snapshot()
		},
		Counters: map[string]func() float64{"in": func() float64 { return bytes }},
		Gauges:   map[string]func() float64{"sessions": func() float64 { return 7 }},
	})
	at := time.Unix(1000, 0)
	d.Observe(5 * time.Second) // before the first sample: of no second
	h.sample(at)
	if _, ok := h.Last(); ok {
		t.Error("a point of one sample")
	}
	for range 400 {
		at = at.Add(2 * time.Second)
		d.Observe(100 * time.Millisecond)
		bytes += 500
		h.sample(at)
	}
	points := h.Points(time.Time{})
	if len(points) != historyPoints {
		t.Fatalf("%d points, want %d", len(points), historyPoints)
	}
	last, ok := h.Last()
	if !ok || !last.At.Equal(at) || last.Rates["in"] != 250 || last.Gauges["sessions"] != 7 {
		t.Errorf("the last point: %+v", last)
	}
	if q := last.Delays["ingest"]; q.Count != 1 || q.P99 < 95 || q.P99 > 105 {
		t.Errorf("its delay: %+v", q)
	}
	if _, ok := last.Delays["relay"]; ok {
		t.Error("a stage without frames has a delay")
	}
	if got := h.Points(at.Add(-3 * time.Second)); len(got) != 2 {
		t.Errorf("%d points in the last 3 s, want 2", len(got))
	}
}

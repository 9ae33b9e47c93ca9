package ops

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

var (
	testBuild = Build{"v1.2.0", "0a1b2c", "go1.26.0"}
	reasons   = Label{"reason", []string{"deadline", "cache"}}
	transport = Label{"transport", []string{"quic", "webtransport"}}
)

// testStats is what a package that knows nothing of metrics would keep.
type testStats struct {
	objects  uint64
	sessions int
	dropped  map[string]uint64
}

// newTestRegistry returns a registry with a metric of each kind.
func newTestRegistry(read func() testStats) *Registry {
	r := NewRegistry(testBuild)
	r.Counter("moq_test_handshakes_total", "Handshakes.", transport, reasons)
	r.Gauge("moq_test_queue_bytes", "Bytes queued.")
	r.Delays("moq_test_frame_delay_seconds", "Delay of a frame.", Label{"stage", []string{"relay"}}).With("relay").Observe(0)
	Export(r, read,
		CounterOf("moq_test_objects_total", "Objects.", func(s testStats) float64 { return float64(s.objects) }),
		GaugeOf("moq_test_sessions", "Sessions.", func(s testStats) float64 { return float64(s.sessions) }),
		CounterBy("moq_test_objects_dropped_total", "Objects dropped.", []Label{reasons}, func(s testStats, labels []string) float64 {
			return float64(s.dropped[labels[0]])
		}),
		GaugeBy("moq_test_cache_bytes", "Bytes cached.", []Label{transport, reasons}, func(testStats, []string) float64 { return 1 }),
	)
	return r
}

func TestLint(t *testing.T) {
	r := newTestRegistry(func() testStats { return testStats{} })
	problems, err := testutil.GatherAndLint(r.reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func wantMetrics(t *testing.T, r *Registry, text string, names ...string) {
	t.Helper()
	if err := testutil.GatherAndCompare(r.reg, strings.NewReader(text), names...); err != nil {
		t.Error(err)
	}
}

func TestDeclaredSeriesStartAtZero(t *testing.T) {
	wantMetrics(t, newTestRegistry(func() testStats { return testStats{} }), `
# HELP moq_test_handshakes_total Handshakes.
# TYPE moq_test_handshakes_total counter
moq_test_handshakes_total{reason="cache",transport="quic"} 0
moq_test_handshakes_total{reason="cache",transport="webtransport"} 0
moq_test_handshakes_total{reason="deadline",transport="quic"} 0
moq_test_handshakes_total{reason="deadline",transport="webtransport"} 0
# HELP moq_test_queue_bytes Bytes queued.
# TYPE moq_test_queue_bytes gauge
moq_test_queue_bytes 0
# HELP moq_build_info What the program was made from; always 1.
# TYPE moq_build_info gauge
moq_build_info{go_version="go1.26.0",revision="0a1b2c",version="v1.2.0"} 1
`, "moq_test_handshakes_total", "moq_test_queue_bytes", "moq_build_info")
}

func TestUndeclaredValuesStayBounded(t *testing.T) {
	r := NewRegistry(testBuild)
	c := r.Counter("moq_test_drops_total", "Drops.", reasons)
	c.With("deadline").Add(2)
	for _, peer := range []string{"a", "b", "c", "\xff", ""} {
		c.With(peer).Inc()
	}
	wantMetrics(t, r, `
# HELP moq_test_drops_total Drops.
# TYPE moq_test_drops_total counter
moq_test_drops_total{reason="cache"} 0
moq_test_drops_total{reason="deadline"} 2
moq_test_drops_total{reason="other"} 5
`, "moq_test_drops_total")
}

func TestGauge(t *testing.T) {
	r := NewRegistry(testBuild)
	g := r.Gauge("moq_test_sessions", "Sessions.", transport)
	g.With("quic").Set(5)
	g.With("quic").Add(-2)
	wantMetrics(t, r, `
# HELP moq_test_sessions Sessions.
# TYPE moq_test_sessions gauge
moq_test_sessions{transport="quic"} 3
moq_test_sessions{transport="webtransport"} 0
`, "moq_test_sessions")
}

func TestExportReadsOncePerScrape(t *testing.T) {
	reads := 0
	r := newTestRegistry(func() testStats {
		reads++
		return testStats{objects: uint64(10 * reads), sessions: reads, dropped: map[string]uint64{"cache": uint64(reads)}}
	})
	for range 2 {
		if _, err := r.reg.Gather(); err != nil {
			t.Fatal(err)
		}
	}
	wantMetrics(t, r, `
# HELP moq_test_objects_dropped_total Objects dropped.
# TYPE moq_test_objects_dropped_total counter
moq_test_objects_dropped_total{reason="cache"} 3
moq_test_objects_dropped_total{reason="deadline"} 0
# HELP moq_test_objects_total Objects.
# TYPE moq_test_objects_total counter
moq_test_objects_total 30
# HELP moq_test_sessions Sessions.
# TYPE moq_test_sessions gauge
moq_test_sessions 3
`, "moq_test_objects_dropped_total", "moq_test_objects_total", "moq_test_sessions")
	if reads != 3 {
		t.Errorf("read %d times in 3 scrapes", reads)
	}
}

func TestMetricsDescribesEverySeries(t *testing.T) {
	r := newTestRegistry(func() testStats { return testStats{} })
	described := map[string]bool{}
	for _, m := range r.Metrics() {
		described[m.Name] = true
	}
	families, err := r.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		name := f.GetName()
		if strings.HasPrefix(name, "moq_") && !described[name] {
			t.Errorf("%s is not described", name)
		}
		delete(described, name)
	}
	for name := range described {
		t.Errorf("%s is described, yet not gathered", name)
	}
}

func TestTable(t *testing.T) {
	r := NewRegistry(testBuild)
	r.Counter("moq_a_total", "Things.", transport, reasons)
	metrics := slices.DeleteFunc(r.Metrics(), func(m Metric) bool { return m.Name == "moq_build_info" })
	want := "| metric | type | labels | meaning |\n|---|---|---|---|\n" +
		"| `moq_a_total` | counter | `transport`: quic, webtransport; `reason`: deadline, cache | Things. |\n"
	if got := Table(metrics); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

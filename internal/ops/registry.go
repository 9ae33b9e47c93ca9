package ops

import (
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// A Registry holds the metrics of a process. Metrics are added while the process
// starts; adding the same name twice panics. Its methods, and those of the
// metrics, may be called by several goroutines at once.
type Registry struct {
	reg *prometheus.Registry

	mu      sync.Mutex // guards metrics
	metrics []Metric
}

// NewRegistry returns a registry with the metrics that every process has: Go's
// runtime, the operating system's view of the process, and moq_build_info.
func NewRegistry(b Build) *Registry {
	r := &Registry{reg: prometheus.NewRegistry()}
	r.reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r.Gauge("moq_build_info", "What the program was made from; always 1.",
		Label{"version", []string{b.Version}},
		Label{"revision", []string{b.Revision}},
		Label{"go_version", []string{b.GoVersion}},
	).With(b.Version, b.Revision, b.GoVersion).Set(1)
	return r
}

// A Label is a label of a metric with all the values it can have. Any other
// value is counted under "other", so that a label stays as small as declared.
type Label struct {
	Name   string
	Values []string
}

// otherValue is the label value of everything that was not declared.
const otherValue = "other"

func (l Label) clamp(value string) string {
	if slices.Contains(l.Values, value) {
		return value
	}
	return otherValue
}

// combinations returns each combination of the labels' values, in order.
// Without labels that is one, the empty one.
func combinations(labels []Label) [][]string {
	all := [][]string{nil}
	for _, l := range labels {
		var next [][]string
		for _, head := range all {
			for _, v := range l.Values {
				next = append(next, append(slices.Clone(head), v))
			}
		}
		all = next
	}
	return all
}

func labelNames(labels []Label) []string {
	names := make([]string, len(labels))
	for i, l := range labels {
		names[i] = l.Name
	}
	return names
}

// A Metric describes a metric of a registry.
type Metric struct {
	Name   string
	Type   string // "counter", "gauge" or "histogram"
	Help   string
	Labels []Label
}

// add registers c, whose metrics are described by metrics.
func (r *Registry) add(c prometheus.Collector, metrics ...Metric) {
	r.reg.MustRegister(c)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.metrics = append(r.metrics, metrics...)
}

// Metrics describes the registry's metrics by name, those of the Go runtime and
// of the operating system's process left out.
func (r *Registry) Metrics() []Metric {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(slices.Values(r.metrics), func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })
}

// Table returns metrics as a Markdown table, for the documentation.
func Table(metrics []Metric) string {
	var b strings.Builder
	b.WriteString("| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, m := range metrics {
		var labels []string
		for _, l := range m.Labels {
			labels = append(labels, "`"+l.Name+"`: "+strings.Join(l.Values, ", "))
		}
		b.WriteString("| `" + m.Name + "` | " + m.Type + " | " + strings.Join(labels, "; ") + " | " + m.Help + " |\n")
	}
	return b.String()
}

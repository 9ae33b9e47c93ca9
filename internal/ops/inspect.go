package ops

import (
	"math"
	"slices"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// Lint returns what is wrong with the names and help texts of the registry's metrics by the conventions of Prometheus, for
// tests. Only metrics that have a series now are looked at.
func (r *Registry) Lint() (problems []string, err error) {
	families, err := r.reg.Gather()
	if err != nil {
		return nil, err
	}
	found, err := promlint.NewWithMetricFamilies(families).Lint()
	for _, p := range found {
		problems = append(problems, p.Metric+": "+p.Text)
	}
	return problems, err
}

// Value returns the value of a counter or gauge with these label values, in any order, or NaN if there is none, for tests.
func (r *Registry) Value(name string, values ...string) float64 {
	families, _ := r.reg.Gather()
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var got []string
			for _, l := range m.GetLabel() {
				got = append(got, l.GetValue())
			}
			slices.Sort(got)
			if slices.Equal(got, slices.Sorted(slices.Values(values))) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return math.NaN()
}

// Series returns how many series, or histograms, a metric has now, for tests.
func (r *Registry) Series(name string) (n int) {
	families, err := r.reg.Gather()
	if err != nil {
		return -1
	}
	for _, f := range families {
		if f.GetName() == name {
			n += len(f.GetMetric())
		}
	}
	return n
}

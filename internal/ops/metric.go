package ops

import "github.com/prometheus/client_golang/prometheus"

// A Counter only grows. Its name ends in _total.
type Counter interface {
	Inc()
	Add(float64) // panics if negative
}

// A Gauge goes up and down.
type Gauge interface {
	Set(float64)
	Add(float64)
}

// A Vec is a metric with labels. Each declared combination of values exists,
// at zero, from the start.
type Vec[M any] struct {
	labels []Label
	with   func(values ...string) M
}

// With returns the metric for these values, which are those of the labels in
// the order declared. Keep what it returns where speed matters. A wrong number
// of values panics.
func (v Vec[M]) With(values ...string) M {
	clamped := make([]string, len(values))
	for i, value := range values {
		if i < len(v.labels) {
			value = v.labels[i].clamp(value)
		}
		clamped[i] = value
	}
	return v.with(clamped...)
}

func newVec[M any](labels []Label, with func(values ...string) M) Vec[M] {
	for _, values := range combinations(labels) {
		with(values...)
	}
	return Vec[M]{labels, with}
}

// Counter adds a counter. Without labels, With() is the counter.
func (r *Registry) Counter(name, help string, labels ...Label) Vec[Counter] {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labelNames(labels))
	r.add(vec, Metric{name, "counter", help, labels})
	return newVec(labels, func(values ...string) Counter { return vec.WithLabelValues(values...) })
}

// Gauge adds a gauge. Without labels, With() is the gauge.
func (r *Registry) Gauge(name, help string, labels ...Label) Vec[Gauge] {
	vec := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labelNames(labels))
	r.add(vec, Metric{name, "gauge", help, labels})
	return newVec(labels, func(values ...string) Gauge { return vec.WithLabelValues(values...) })
}

package ops

import "github.com/prometheus/client_golang/prometheus"

// A Series tells how one metric is read off a value of type T.
type Series[T any] struct {
	metric Metric
	kind   prometheus.ValueType
	value  func(stats T, labels []string) float64
}

// CounterOf is a counter read off a T.
func CounterOf[T any](name, help string, value func(T) float64) Series[T] {
	return CounterBy(name, help, nil, func(stats T, _ []string) float64 { return value(stats) })
}

// GaugeOf is a gauge read off a T.
func GaugeOf[T any](name, help string, value func(T) float64) Series[T] {
	return GaugeBy(name, help, nil, func(stats T, _ []string) float64 { return value(stats) })
}

// CounterBy is a counter with labels; value is asked for each combination of
// their values, in the order declared.
func CounterBy[T any](name, help string, labels []Label, value func(stats T, labels []string) float64) Series[T] {
	return Series[T]{Metric{name, "counter", help, labels}, prometheus.CounterValue, value}
}

// GaugeBy is a gauge with labels; value is asked for each combination of their
// values, in the order declared.
func GaugeBy[T any](name, help string, labels []Label, value func(stats T, labels []string) float64) Series[T] {
	return Series[T]{Metric{name, "gauge", help, labels}, prometheus.GaugeValue, value}
}

// Export adds metrics that are read off what read returns, such as the counters
// that a package keeps itself. Each scrape calls read once, so the series of one
// scrape belong together. read may be called by several goroutines at once.
func Export[T any](r *Registry, read func() T, series ...Series[T]) {
	e := &exporter[T]{read: read}
	var metrics []Metric
	for _, s := range series {
		e.series = append(e.series, exported[T]{
			Series: s,
			desc:   prometheus.NewDesc(s.metric.Name, s.metric.Help, labelNames(s.metric.Labels), nil),
			labels: combinations(s.metric.Labels),
		})
		metrics = append(metrics, s.metric)
	}
	r.add(e, metrics...)
}

// exporter is a prometheus.Collector. Nothing changes after Export.
type exporter[T any] struct {
	read   func() T
	series []exported[T]
}

type exported[T any] struct {
	Series[T]
	desc   *prometheus.Desc
	labels [][]string
}

func (e *exporter[T]) Describe(ch chan<- *prometheus.Desc) {
	for _, s := range e.series {
		ch <- s.desc
	}
}

func (e *exporter[T]) Collect(ch chan<- prometheus.Metric) {
	stats := e.read()
	for _, s := range e.series {
		for _, labels := range s.labels {
			ch <- prometheus.MustNewConstMetric(s.desc, s.kind, s.value(stats, labels), labels...)
		}
	}
}

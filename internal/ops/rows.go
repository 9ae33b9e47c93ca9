package ops

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// maxLabelBytes bounds a label value that a peer has chosen.
const maxLabelBytes = 128

// A Row is a metric of things that come and go, such as tracks. Their names are label values that peers choose, so that
// there are only as many rows as [ExportRows] is told.
type Row[T any] struct {
	name, help string
	kind       string
	value      func(T) float64
	extra      Label // of delays: one series for each of its values
	delays     func(T, string) *Delay
}

// RowCounter is a counter of each thing.
func RowCounter[T any](name, help string, value func(T) float64) Row[T] {
	return Row[T]{name: name, help: help, kind: "counter", value: value}
}

// RowGauge is a gauge of each thing.
func RowGauge[T any](name, help string, value func(T) float64) Row[T] {
	return Row[T]{name: name, help: help, kind: "gauge", value: value}
}

// RowDelays are histograms of each thing, one for each value of the label by. Those without observations are left out.
func RowDelays[T any](name, help string, by Label, delay func(thing T, value string) *Delay) Row[T] {
	return Row[T]{name: name, help: help, kind: "histogram", extra: by, delays: delay}
}

// ExportRows adds metrics of the first most things that read returns, with the labels that they have by names. It is for
// what an operator has asked for: the number of series depends on what peers do. Label values are cut to 128 bytes
// of valid UTF-8; of things with the same values the first counts.
func ExportRows[T any](r *Registry, names []string, most int, read func() []T, values func(T) []string, rows ...Row[T]) {
	e := &rowExporter[T]{most: most, read: read, values: values}
	var metrics []Metric
	labels := make([]Label, len(names))
	for i, n := range names {
		labels[i] = Label{n, []string{"(as it is called)"}}
	}
	for _, row := range rows {
		all := labels
		if row.delays != nil {
			all = append(labels[:len(labels):len(labels)], row.extra)
		}
		e.rows = append(e.rows, row)
		e.descs = append(e.descs, prometheus.NewDesc(row.name, row.help, labelNames(all), nil))
		metrics = append(metrics, Metric{row.name, row.kind, row.help, all})
	}
	r.add(e, metrics...)
}

// rowExporter is a prometheus.Collector. Nothing changes after ExportRows.
type rowExporter[T any] struct {
	most   int
	read   func() []T
	values func(T) []string
	rows   []Row[T]
	descs  []*prometheus.Desc
}

func (e *rowExporter[T]) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range e.descs {
		ch <- d
	}
}

func (e *rowExporter[T]) Collect(ch chan<- prometheus.Metric) {
	seen := make(map[string]bool)
	for _, thing := range e.read() {
		if len(seen) == e.most {
			return
		}
		values := e.values(thing)
		for i := range values {
			values[i] = cleanLabel(values[i])
		}
		if key := joined(values); seen[key] {
			continue
		} else {
			seen[key] = true
		}
		for i, row := range e.rows {
			if row.delays == nil {
				kind := prometheus.GaugeValue
				if row.kind == "counter" {
					kind = prometheus.CounterValue
				}
				ch <- prometheus.MustNewConstMetric(e.descs[i], kind, row.value(thing), values...)
				continue
			}
			for _, by := range row.extra.Values {
				if d := row.delays(thing, by); d != nil && d.seen() {
					all := append(values[:len(values):len(values)], by)
					ch <- delayMetric{e.descs[i], prometheus.MakeLabelPairs(e.descs[i], all), d}
				}
			}
		}
	}
}

// cleanLabel makes a label value of what a peer has chosen.
func cleanLabel(s string) string {
	if len(s) > maxLabelBytes {
		s = s[:maxLabelBytes]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

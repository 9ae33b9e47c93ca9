package batch

import (
	"fmt"
	"time"

	"github.com/moq-c4/moq-c4/sim/scenario"
)

// metrics gets the value that a bound is about.
var metrics = map[scenario.Metric]func(*Row) float64{
	scenario.TimeAvg:       func(r *Row) float64 { return r.TimeAvg },
	scenario.TimeP90:       func(r *Row) float64 { return r.TimeP90 },
	scenario.AvLatency:     func(r *Row) float64 { return r.AvLatency },
	scenario.MaxLatencyP90: func(r *Row) float64 { return r.MaxLatencyP90 },
	scenario.RTTMean:       func(r *Row) float64 { return r.RTTMean },
	scenario.LoadShare:     func(r *Row) float64 { return r.LoadShare },
	scenario.Jain:          func(r *Row) float64 { return r.Jain },
	scenario.Drops:         func(r *Row) float64 { return r.Drops },
}

// Value returns the row's value of a metric, in us for durations, 0 if there is
// no such metric.
func (r *Row) Value(m scenario.Metric) float64 {
	if get := metrics[m]; get != nil {
		return get(r)
	}
	return 0
}

// Check returns what is wrong with the rows, a line each: runs that did not
// finish and bounds that do not hold.
func Check(rows []Row) []string {
	var failures []string
	for i := range rows {
		r := &rows[i]
		if r.Unfinished > 0 {
			failures = append(failures, fmt.Sprintf("%s %s: %d of %d runs did not finish",
				r.Scenario.Name, r.CC, r.Unfinished, len(r.Results)))
		}
		for j := range r.Scenario.Bounds {
			b := &r.Scenario.Bounds[j]
			v := r.Value(b.Metric)
			if !b.For(r.CC) || b.Holds(v) {
				continue
			}
			op := "<="
			if b.AtLeast {
				op = ">="
			}
			failures = append(failures, fmt.Sprintf("%s %s: %s is %s, bound in line %d is %s%s",
				r.Scenario.Name, r.CC, b.Metric, format(b.Metric, v), b.Line, op, format(b.Metric, b.Value)))
		}
	}
	return failures
}

func format(m scenario.Metric, v float64) string {
	switch m {
	case scenario.LoadShare, scenario.Jain:
		return fmt.Sprintf("%.3f", v)
	case scenario.Drops:
		return fmt.Sprintf("%.0f", v)
	}
	return (time.Duration(v) * time.Microsecond).Round(10 * time.Microsecond).String()
}

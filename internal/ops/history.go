package ops

import (
	"context"
	"slices"
	"sync"
	"time"
)

// What a [History] keeps: five minutes, by the second.
const (
	historyPeriod = time.Second
	historyPoints = 300
)

// A HistorySource is what a [History] looks at.
type HistorySource struct {
	Stages   []string                         // of delay, in order
	Delay    func(stage string) DelaySnapshot // all delays of a stage so far
	Counters map[string]func() float64        // of which the rate per second is kept
	Gauges   map[string]func() float64        // which are kept as they are
}

// A History remembers the last minutes of a process, for people who look at it without a database of metrics. Run fills it;
// its other methods may be called at any time.
type History struct {
	src HistorySource

	mu     sync.Mutex // guards what follows
	points []HistoryPoint
	at     time.Time
	delays map[string]DelaySnapshot
	counts map[string]float64
}

// A HistoryPoint is about one second.
type HistoryPoint struct {
	At     time.Time                 `json:"at"`
	Delays map[string]DelayQuantiles `json:"delays"` // by stage; a stage without frames is absent
	Rates  map[string]float64        `json:"rates"`  // per second
	Gauges map[string]float64        `json:"gauges"`
}

// DelayQuantiles sum up delays, in milliseconds.
type DelayQuantiles struct {
	Count uint64  `json:"count"`
	P50   float64 `json:"p50_ms"`
	P95   float64 `json:"p95_ms"`
	P99   float64 `json:"p99_ms"`
}

// Quantiles sums the delays up, nil if there are none.
func (s *DelaySnapshot) Quantiles() *DelayQuantiles {
	if s.Count == 0 {
		return nil
	}
	ms := func(q float64) float64 { return float64(s.Quantile(q).Microseconds()) / 1000 }
	return &DelayQuantiles{Count: s.Count, P50: ms(.5), P95: ms(.95), P99: ms(.99)}
}

// NewHistory returns an empty history.
func NewHistory(src HistorySource) *History { return &History{src: src} }

// Run takes a sample each second until ctx ends.
func (h *History) Run(ctx context.Context) error {
	tick := time.NewTicker(historyPeriod)
	defer tick.Stop()
	h.sample(time.Now())
	for {
		select {
		case now := <-tick.C:
			h.sample(now)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// sample adds the point of the time since the sample before.
func (h *History) sample(now time.Time) {
	delays, counts := make(map[string]DelaySnapshot), make(map[string]float64)
	p := HistoryPoint{At: now, Delays: make(map[string]DelayQuantiles), Rates: make(map[string]float64), Gauges: make(map[string]float64)}
	for _, stage := range h.src.Stages {
		delays[stage] = h.src.Delay(stage)
	}
	for name, read := range h.src.Counters {
		counts[name] = read()
	}
	for name, read := range h.src.Gauges {
		p.Gauges[name] = read()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	first := h.at.IsZero()
	seconds := now.Sub(h.at).Seconds()
	for stage, d := range delays {
		before := h.delays[stage]
		diff := d.Sub(&before)
		if q := diff.Quantiles(); q != nil {
			p.Delays[stage] = *q
		}
	}
	for name, n := range counts {
		if seconds > 0 {
			p.Rates[name] = (n - h.counts[name]) / seconds
		}
	}
	h.at, h.delays, h.counts = now, delays, counts
	if first {
		return // there is nothing to compare with
	}
	if len(h.points) == historyPoints {
		h.points = slices.Delete(h.points, 0, 1)
	}
	h.points = append(h.points, p)
}

// Points returns those after the given time, the oldest first.
func (h *History) Points(after time.Time) []HistoryPoint {
	h.mu.Lock()
	defer h.mu.Unlock()
	i, _ := slices.BinarySearchFunc(h.points, after, func(p HistoryPoint, t time.Time) int {
		if p.At.After(t) {
			return 1
		}
		return -1
	})
	return slices.Clone(h.points[i:])
}

// Last returns the newest point, false if there is none yet.
func (h *History) Last() (HistoryPoint, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.points) == 0 {
		return HistoryPoint{}, false
	}
	return h.points[len(h.points)-1], true
}

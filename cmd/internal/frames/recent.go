package frames

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/moq-c4/moq-c4/internal/ops"
)

// Period is how long recent figures are kept: quantiles are those of the last one to two periods.
const Period = 10 * time.Second

// window tells what of a histogram that only grows is of the last one to two periods. The zero value is ready.
type window struct {
	mu           sync.Mutex // guards what follows
	begun, older *ops.DelaySnapshot
}

// tick begins a new period.
func (w *window) tick(now ops.DelaySnapshot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.older, w.begun = w.begun, &now
}

// since returns what has come in the last one to two periods.
func (w *window) since(now ops.DelaySnapshot) ops.DelaySnapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.older == nil {
		return now
	}
	return now.Sub(w.older)
}

// Figures are those of one track alone.
type Figures struct {
	Objects, Bytes atomic.Uint64 // received
	delays         [EndToEnd]ops.Delay
	recent         [EndToEnd]window
}

// Histogram returns all delays of a stage so far.
func (f *Figures) Histogram(s Stage) *ops.Delay { return &f.delays[s] }

func (f *Figures) tick() {
	for s := range f.delays {
		f.recent[s].tick(f.delays[s].Snapshot())
	}
}

// Recent returns the delays of a stage in the last one to two periods.
func (f *Figures) Recent(s Stage) ops.DelaySnapshot { return f.recent[s].since(f.delays[s].Snapshot()) }

// Recent keeps the delays of all frames by stage over the last one to two periods. Tick is called every [Period].
type Recent struct {
	metrics *Metrics
	stages  [NumStages]window
}

// Recent returns the delays of all frames, from now on.
func (m *Metrics) Recent() *Recent { return &Recent{metrics: m} }

// Tick begins a new period.
func (r *Recent) Tick() {
	for s := range NumStages {
		r.stages[s].tick(r.metrics.Stage(s))
	}
}

// Recent returns the delays of a stage in the last one to two periods.
func (r *Recent) Recent(s Stage) ops.DelaySnapshot { return r.stages[s].since(r.metrics.Stage(s)) }

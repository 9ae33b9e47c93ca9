package plot

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/sim"
)

// Recorder collects one flow of a run. It is a sim.Tracer; the zero value
// records the main flow.
type Recorder struct {
	Flow int

	// From and To are the part of the run that is recorded. To 0 means to the end.
	From, To time.Duration

	rtt, smoothed, queue      trace
	window, inFlight          trace
	pacing, delivery, nominal trace
	delivered                 trace
	lost, dropped             []float64
	states                    []change
	frames                    map[string]*trace
	sources                   []string // in order of appearance
	vars                      []cc.Var
}

type change struct {
	at    float64
	state string
}

// trace is a series of limited length: when it is full, it forgets every second
// point and takes new ones half as often.
type trace struct {
	xs, ys []float64
	skip   int // points to leave out between two
	left   int
}

const traceLimit = 6000

func (t *trace) add(x, y float64) {
	if t.left > 0 {
		t.left--
		return
	}
	t.left = t.skip
	t.xs, t.ys = append(t.xs, x), append(t.ys, y)
	if len(t.xs) < traceLimit {
		return
	}
	n := 0
	for i := 0; i < len(t.xs); i += 2 {
		t.xs[n], t.ys[n] = t.xs[i], t.ys[i]
		n++
	}
	t.xs, t.ys = t.xs[:n], t.ys[:n]
	t.skip = 2*t.skip + 1
}

// wants reports whether something is to be recorded.
func (r *Recorder) wants(now time.Duration, flow int) bool {
	return flow == r.Flow && now >= r.From && (r.To == 0 || now <= r.To)
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// mbit turns bytes per second into Mbit/s.
func mbit(r cc.Rate) float64 { return float64(r) * 8 / 1e6 }

// PacketSent implements sim.Tracer.
func (r *Recorder) PacketSent(now time.Duration, flow int, _, _, inFlight int64) {
	if r.wants(now, flow) {
		r.inFlight.add(now.Seconds(), float64(inFlight)/1e3)
	}
}

// Dropped implements sim.Tracer.
func (r *Recorder) Dropped(now time.Duration, flow int, _, _ int64) {
	if r.wants(now, flow) {
		r.dropped = append(r.dropped, now.Seconds())
	}
}

// PacketLost implements sim.Tracer.
func (r *Recorder) PacketLost(now time.Duration, flow int, _, _ int64, _ cc.LossReason) {
	if r.wants(now, flow) {
		r.lost = append(r.lost, now.Seconds())
	}
}

// Acked implements sim.Tracer.
func (r *Recorder) Acked(time.Duration, int, *cc.Ack) {}

// Metrics implements sim.Tracer.
func (r *Recorder) Metrics(now time.Duration, flow int, m sim.Metrics) {
	if flow != r.Flow {
		return
	}
	if !r.wants(now, flow) {
		if now < r.From { // the state in which the part begins
			r.states = append(r.states[:0], change{r.From.Seconds(), m.State})
		}
		return
	}
	t := now.Seconds()
	r.rtt.add(t, millis(m.Latest))
	r.smoothed.add(t, millis(m.Smoothed))
	r.queue.add(t, millis(m.Queue))
	r.window.add(t, float64(m.Window)/1e3)
	r.inFlight.add(t, float64(m.InFlight)/1e3)
	r.pacing.add(t, mbit(m.PacingRate))
	r.delivery.add(t, mbit(m.Rate))
	r.delivered.add(t, float64(m.Delivered))
	if i, ok := m.Controller.(cc.Inspector); ok {
		r.vars = i.Vars(r.vars[:0])
		for _, v := range r.vars {
			if v.Name == "nominal_rate" {
				r.nominal.add(t, mbit(cc.Rate(v.Value)))
			}
		}
	}
	if n := len(r.states); n == 0 || r.states[n-1].state != m.State {
		r.states = append(r.states, change{t, m.State})
	}
}

// Event implements sim.Tracer.
func (r *Recorder) Event(int, cc.Event) {}

// Frame implements sim.Tracer.
func (r *Recorder) Frame(now time.Duration, flow int, source string, _ int64, due time.Duration) {
	if !r.wants(now, flow) {
		return
	}
	if r.frames == nil {
		r.frames = map[string]*trace{}
	}
	t := r.frames[source]
	if t == nil {
		t = &trace{}
		r.frames[source] = t
		r.sources = append(r.sources, source)
	}
	t.add(now.Seconds(), millis(max(0, now-due)))
}

package frames

import (
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/internal/ops"
	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/priority"
	"github.com/moq-c4/moq-c4/relay"
)

// Observer measures what a relay does. It is a relay.Observer.
type Observer struct {
	metrics        *Metrics
	objects, bytes ops.Vec[ops.Counter]
	max            int // tracks with figures of their own

	mu     sync.Mutex // guards what follows
	tracks map[*Track]struct{}
}

// DefaultTracks is how many tracks have figures of their own by default; each takes some 15 KB.
const DefaultTracks = 1024

// Observer returns an observer that keeps figures of maxTracks tracks by themselves, those that come first. All tracks
// count in the metrics. It is called once.
func (m *Metrics) Observer(maxTracks int) *Observer {
	kind := ops.Label{Name: "kind", Values: kinds}
	return &Observer{
		metrics: m, max: maxTracks, tracks: make(map[*Track]struct{}),
		objects: m.reg.Counter("moq_frame_objects_total", "Objects received, and handed to connections of subscribers.",
			ops.Label{Name: "direction", Values: []string{"in", "out"}}, kind),
		bytes: m.reg.Counter("moq_frame_received_bytes_total", "Payload bytes of objects received.", kind),
	}
}

// Track implements relay.Observer.
func (o *Observer) Track(name wire.FullTrackName) relay.TrackObserver {
	kind := Kind(name.Name)
	t := &Track{observer: o, Name: name, Kind: kind}
	for s := range t.delays {
		for p := range numSlots {
			t.delays[s][p] = o.metrics.delay.With(kind, priorityLabel(p), Stage(s).String())
		}
	}
	for p := range numSlots {
		t.late[p] = o.metrics.lateness.With(kind, priorityLabel(p))
	}
	t.in, t.out, t.bytes = o.objects.With("in", kind), o.objects.With("out", kind), o.bytes.With(kind)
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.tracks) < o.max {
		t.Figures = new(Figures)
		o.tracks[t] = struct{}{}
	}
	return t
}

// Tick begins a new period of the figures of single tracks. It is called every [Period].
func (o *Observer) Tick() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for t := range o.tracks {
		t.Figures.tick()
	}
}

// Track measures one track. It is a relay.TrackObserver.
type Track struct {
	observer *Observer
	Name     wire.FullTrackName
	Kind     string
	Figures  *Figures // nil if there are too many tracks

	delays [EndToEnd][numSlots]*ops.Delay // of the stages that a relay sees
	late   [numSlots]*ops.Delay
	in     ops.Counter
	out    ops.Counter
	bytes  ops.Counter

	mu       sync.Mutex // guards what follows
	lateness priority.Lateness
}

// Received implements relay.TrackObserver.
func (t *Track) Received(r relay.ReceivedObject) {
	t.in.Inc()
	t.bytes.Add(float64(r.Bytes))
	if f := t.Figures; f != nil {
		f.Objects.Add(1)
		f.Bytes.Add(uint64(r.Bytes))
	}
	if r.Bytes == 0 {
		return // a mark, not a frame
	}
	captured, ok := captureTime(r.Properties)
	if !ok {
		if t.Kind != KindData {
			t.observer.metrics.Unknown(Ingest, 1)
		}
		return
	}
	t.mu.Lock()
	late := t.lateness.OnFrame(captured, r.At)
	t.mu.Unlock()
	t.late[slot(r.Priority)].Observe(late)

	delay := r.At.Sub(captured)
	t.observer.metrics.Observe(Ingest, t.delays[Ingest][slot(r.Priority)], delay)
	if f := t.Figures; f != nil && delay <= maxDelay {
		f.delays[Ingest].Observe(delay)
	}
}

// Handed implements relay.TrackObserver.
func (t *Track) Handed(priority uint8, took time.Duration) {
	t.out.Inc()
	t.observe(Relay, priority, took)
}

// Delivered implements relay.TrackObserver.
func (t *Track) Delivered(priority uint8, took time.Duration) { t.observe(Delivery, priority, took) }

func (t *Track) observe(s Stage, priority uint8, took time.Duration) {
	t.delays[s][slot(priority)].Observe(took)
	if f := t.Figures; f != nil {
		f.delays[s].Observe(took)
	}
}

// Ended implements relay.TrackObserver.
func (t *Track) Ended() {
	t.observer.mu.Lock()
	defer t.observer.mu.Unlock()
	delete(t.observer.tracks, t)
}

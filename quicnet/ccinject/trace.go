package ccinject

import (
	"sync"
	"time"

	"github.com/quic-go/quic-go/qlogwriter"
	"github.com/quic-go/quic-go/qlogwriter/jsontext"

	"github.com/moq-c4/moq-c4/cc"
)

// trace writes a controller's events into the qlog of its connection, if there is one:
//
//   - recovery:congestion_state_updated with old, new and trigger, and in vars the controller's
//     variables under their names in its specification;
//   - moqc4:congestion and moqc4:rate_lowered with cause, rate and new_rate in bytes per second;
//   - moqc4:violation for calls out of order, which must not occur.
type trace struct {
	mu       sync.Mutex // a recorder must not be closed while it records
	recorder qlogwriter.Recorder
}

// open begins to record, until close. q may be nil.
func (t *trace) open(q qlogwriter.Trace) {
	if q != nil {
		t.recorder = q.AddProducer()
	}
}

// close is called after the end of the connection.
func (t *trace) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.recorder != nil {
		t.recorder.Close()
	}
	t.recorder = nil
}

// record writes events of c.
func (t *trace) record(c cc.Controller, events []cc.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.recorder == nil || len(events) == 0 {
		return
	}
	var vars []cc.Var
	if i, ok := c.(cc.Inspector); ok { // a copy, because it is written later
		vars = i.Vars(nil)
	}
	for _, e := range events {
		t.recorder.RecordEvent(traced{e, vars})
	}
}

// traced is an event in qlog.
type traced struct {
	cc.Event
	vars []cc.Var
}

// Name is the event's in qlog.
func (e traced) Name() string {
	switch e.Kind {
	case cc.EventState:
		return "recovery:congestion_state_updated"
	case cc.EventCongestion:
		return "moqc4:congestion"
	case cc.EventRate:
		return "moqc4:rate_lowered"
	}
	return "moqc4:violation"
}

// Encode writes the event's data.
func (e traced) Encode(enc *jsontext.Encoder, _ time.Time) error {
	w := tokens{enc: enc}
	w.put(jsontext.BeginObject)
	switch e.Kind {
	case cc.EventState:
		w.text("old", e.From)
		w.text("new", e.To)
		w.text("trigger", e.Cause.String())
		if len(e.vars) > 0 {
			w.put(jsontext.String("vars"))
			w.put(jsontext.BeginObject)
			for _, v := range e.vars {
				w.number(v.Name, v.Value)
			}
			w.put(jsontext.EndObject)
		}
	case cc.EventCongestion, cc.EventRate:
		w.text("cause", e.Cause.String())
		w.number("rate", float64(e.Rate))
		w.number("new_rate", float64(e.NewRate))
	}
	w.put(jsontext.EndObject)
	return w.err
}

// tokens writes JSON and keeps the first error.
type tokens struct {
	enc *jsontext.Encoder
	err error
}

func (w *tokens) put(t jsontext.Token) {
	if w.err == nil {
		w.err = w.enc.WriteToken(t)
	}
}

func (w *tokens) text(name, value string) {
	w.put(jsontext.String(name))
	w.put(jsontext.String(value))
}

func (w *tokens) number(name string, value float64) {
	w.put(jsontext.String(name))
	w.put(jsontext.Float(value))
}

package quicnet

import (
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlogwriter"
	"github.com/quic-go/quic-go/qlogwriter/jsontext"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/quicnet/ackwatch"
)

var (
	_ moqt.EventLogger = (*quicConn)(nil)
	_ moqt.EventLogger = (*wtConn)(nil)
)

// events writes a session's events into the qlog file of its connection.
type events struct {
	mu sync.Mutex // guards what follows
	to qlogwriter.Recorder
}

// newEvents returns nil if the connection has no file.
func newEvents(qc *quic.Conn) *events {
	trace := qc.QlogTrace()
	if w, ok := trace.(*ackwatch.Watch); ok {
		trace = w.Also()
	}
	if trace == nil {
		return nil
	}
	return &events{to: trace.AddProducer()}
}

// close lets the file end.
func (e *events) close() {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.to.Close()
	e.to = nil
}

// LogsEvents implements moqt.EventLogger.
func (b *base) LogsEvents() bool { return b.events != nil }

// LogEvent implements moqt.EventLogger.
func (b *base) LogEvent(name string, fields ...moqt.EventField) {
	e := b.events
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.to != nil {
		e.to.RecordEvent(event{name, fields})
	}
}

// event is a qlogwriter.Event.
type event struct {
	name   string
	fields []moqt.EventField
}

// Name implements qlogwriter.Event.
func (e event) Name() string { return e.name }

// Encode implements qlogwriter.Event.
func (e event) Encode(enc *jsontext.Encoder, _ time.Time) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, f := range e.fields {
		value := jsontext.Uint(f.Number)
		if f.Text != "" {
			value = jsontext.String(f.Text)
		}
		for _, token := range []jsontext.Token{jsontext.String(f.Name), value} {
			if err := enc.WriteToken(token); err != nil {
				return err
			}
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

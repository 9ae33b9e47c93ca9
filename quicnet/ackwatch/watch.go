package ackwatch

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
)

// Sampler chooses the connections that are watched: the first Least at a time, and one in Every of those there are. The zero
// value chooses none.
type Sampler struct {
	Least, Every int

	live, watched atomic.Int64
}

// Trace returns what quic-go reports a connection to, or nil for nothing. also, which may be nil, is told everything too.
// It must be called once for each connection.
func (s *Sampler) Trace(also qlogwriter.Trace) qlogwriter.Trace {
	if s == nil || (s.Least == 0 && s.Every == 0) {
		return also
	}
	chosen := int64(s.Least)
	if s.Every > 0 {
		chosen += s.live.Load() / int64(s.Every)
	}
	if s.watched.Load() >= chosen { // a few too many do no harm
		return also
	}
	s.watched.Add(1)
	return &Watch{book: newBook(), also: also, ended: sync.OnceFunc(func() { s.watched.Add(-1) })}
}

// Live tells how many connections there are.
func (s *Sampler) Live(n int) {
	if s != nil {
		s.live.Store(int64(n))
	}
}

// Watch follows one connection. It is a qlogwriter.Trace. Those methods that are not part of that may be called
// at any time, also those of a nil Watch.
type Watch struct {
	also  qlogwriter.Trace // or nil
	ended func()

	mu   sync.Mutex // guards book
	book *book
}

// Of returns the Watch of a connection, or nil.
func Of(qc *quic.Conn) *Watch {
	w, _ := qc.QlogTrace().(*Watch)
	return w
}

// Mark asks for a call of done when the stream was acknowledged up to the offset end, which must not be below that of the
// call before. It may come before Mark returns. It never comes if the stream is reset or the connection ends.
func (w *Watch) Mark(id quic.StreamID, end int64, done Acked) {
	w.mu.Lock()
	already := w.book.mark(id, end, done)
	w.mu.Unlock()
	if already {
		done(time.Now())
	}
}

// Datagram calls send, which hands one datagram of so many bytes to quic-go, and done when that was acknowledged, if it is.
// done may be nil; still each datagram of the connection has to pass here. Calls must not overlap.
func (w *Watch) Datagram(bytes int, done Acked, send func() error) error {
	w.mu.Lock()
	w.book.datagram(bytes, done)
	w.mu.Unlock()
	err := send()
	if err != nil {
		w.mu.Lock()
		w.book.undo()
		w.mu.Unlock()
	}
	return err
}

// SupportsSchemas implements qlogwriter.Trace. Only QUIC itself is followed.
func (w *Watch) SupportsSchemas(schema string) bool {
	return schema == qlog.EventSchema && (w.also == nil || w.also.SupportsSchemas(schema))
}

// AddProducer implements qlogwriter.Trace.
func (w *Watch) AddProducer() qlogwriter.Recorder {
	r := &recorder{w: w}
	if w.also != nil {
		r.also = w.also.AddProducer()
	}
	return r
}

// recorder is how quic-go talks to a Watch.
type recorder struct {
	w    *Watch
	also qlogwriter.Recorder // or nil
}

// RecordEvent implements qlogwriter.Recorder.
func (r *recorder) RecordEvent(e qlogwriter.Event) {
	if r.also != nil {
		r.also.RecordEvent(e)
	}
	switch e := e.(type) {
	case qlog.PacketSent:
		if e.Header.PacketType == qlog.PacketType1RTT {
			r.w.mu.Lock()
			r.w.book.onSent(e.Header.PacketNumber, e.Frames)
			r.w.mu.Unlock()
		}
	case qlog.PacketLost:
		if e.Header.PacketType == qlog.PacketType1RTT {
			r.w.mu.Lock()
			r.w.book.onLost(e.Header.PacketNumber)
			r.w.mu.Unlock()
		}
	case qlog.PacketReceived:
		if e.Header.PacketType == qlog.PacketType1RTT {
			r.w.onReceived(e.Frames, time.Now())
		}
	}
}

func (w *Watch) onReceived(frames []qlog.Frame, now time.Time) {
	for _, f := range frames {
		ack, ok := f.Frame.(*qlog.AckFrame)
		if !ok {
			continue
		}
		w.mu.Lock()
		done := w.book.onAck(ack)
		w.mu.Unlock()
		for _, d := range done {
			d(now)
		}
	}
}

// Close implements qlogwriter.Recorder.
func (r *recorder) Close() error {
	r.w.ended()
	if r.also != nil {
		return r.also.Close()
	}
	return nil
}

// Also returns what else the connection is reported to, or nil.
func (w *Watch) Also() qlogwriter.Trace { return w.also }

package moqt

import "time"

// An AckTeller is a [Conn] that may be able to tell when the peer has acknowledged what was sent. Its
// streams are AckTellerStreams then.
type AckTeller interface {
	// TellsAcks reports whether this connection can tell. It does not change.
	TellsAcks() bool

	// SendDatagramAcked is SendDatagram, and calls acked if the datagram is acknowledged. acked may be nil; it is
	// called on a goroutine of the transport and must return at once.
	SendDatagramAcked(b []byte, acked func(at time.Time)) error
}

// An AckTellerStream is a [SendStream] of an AckTeller.
type AckTellerStream interface {
	// OnAcked calls f when the peer has acknowledged everything written so far, on a goroutine of the transport; f must
	// return at once. It is called from the goroutine that writes. f is never called if the stream is reset, the
	// connection ends, or it cannot tell.
	OnAcked(f func(at time.Time))
}

// TellsAcks reports whether the subscriber's connection can tell what was acknowledged, see [SubgroupWriter.OnAcked] and
// [Datagram].OnAcked.
func (p *Publication) TellsAcks() bool {
	t, ok := p.s.conn.(AckTeller)
	return ok && t.TellsAcks()
}

// OnAcked calls f when the subscriber has acknowledged everything written so far; see [AckTellerStream].
func (w *SubgroupWriter) OnAcked(f func(at time.Time)) {
	if t, ok := w.stream.(AckTellerStream); ok {
		t.OnAcked(f)
	}
}

// send hands a datagram to the transport.
func (q *datagramQueue) send(out *outDatagram) error {
	if t, ok := q.s.conn.(AckTeller); ok && out.acked != nil {
		return t.SendDatagramAcked(out.b, out.acked)
	}
	return q.s.conn.SendDatagram(out.b)
}

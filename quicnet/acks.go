package quicnet

import (
	"context"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/qlogwriter"
	"github.com/quic-go/quic-go/quicvarint"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/quicnet/ackwatch"
)

var (
	_ moqt.AckTeller       = (*quicConn)(nil)
	_ moqt.AckTeller       = (*wtConn)(nil)
	_ moqt.AckTellerStream = (*sendStream)(nil)
)

// ackTracer gives some connections an [ackwatch.Watch] in addition to what else records them.
func ackTracer(s *ackwatch.Sampler, also tracerFunc) tracerFunc {
	if s == nil {
		return also
	}
	return func(ctx context.Context, isClient bool, id quic.ConnectionID) qlogwriter.Trace {
		var t qlogwriter.Trace
		if also != nil {
			t = also(ctx, isClient, id)
		}
		return s.Trace(t)
	}
}

// TellsAcks implements moqt.AckTeller.
func (b *base) TellsAcks() bool { return b.acks != nil }

// sendDatagram calls send, and sees to it that acked is called if the connection can tell.
func (b *base) sendDatagram(p []byte, acked func(time.Time), send func([]byte) error) error {
	if b.acks == nil {
		return send(p)
	}
	return b.acks.Datagram(len(p), acked, func() error { return send(p) })
}

// OnAcked implements moqt.AckTellerStream.
func (s *sendStream) OnAcked(f func(at time.Time)) {
	if q, ok := s.q.(interface{ StreamID() quic.StreamID }); ok && s.b.acks != nil {
		s.b.acks.Mark(q.StreamID(), s.header+s.written.Load(), f)
	}
}

// wtUniHeader is the length of what WebTransport puts in front of a unidirectional stream: its type and the ID of the
// session's CONNECT stream. A client's is the first of its connection.
// [WT] Section 4.2, Unidirectional streams
func wtUniHeader(connect *http3.Stream) int64 {
	const typ = 0x54
	var session uint64
	if connect != nil {
		session = uint64(connect.StreamID())
	}
	return int64(quicvarint.Len(typ) + quicvarint.Len(session))
}

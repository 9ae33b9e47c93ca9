package quicnet

import (
	"context"
	"errors"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/quicnet/ackwatch"
)

// base is what connections of both transports share.
type base struct {
	info  moqt.ConnInfo
	qc    *quic.Conn
	under context.Context // of the QUIC connection or WebTransport session

	resetAt bool            // the peer knows RESET_STREAM_AT
	acks    *ackwatch.Watch // nil if this connection cannot tell
	events  *events         // nil if it has no qlog file

	ctx context.Context // ends with a *moqt.ConnError as its cause
	end context.CancelCauseFunc

	release  func()        // frees what belongs to the connection, after its end; may be nil
	released chan struct{} // closed when that is done
}

func newBase(qc *quic.Conn, under context.Context, info moqt.ConnInfo, release func()) *base {
	info.RemoteAddr = qc.RemoteAddr()
	b := &base{info: info, qc: qc, under: under, release: release, released: make(chan struct{})}
	b.acks, b.events = ackwatch.Of(qc), newEvents(qc)
	b.resetAt = qc.ConnectionState().SupportsStreamResetPartialDelivery.Remote
	b.ctx, b.end = context.WithCancelCause(context.Background())
	return b
}

func (b *base) Context() context.Context { return b.ctx }

func (b *base) Info() moqt.ConnInfo { return b.info }

func (b *base) free() {
	b.events.close()
	if b.release != nil {
		b.release()
	}
	close(b.released)
}

// sendError translates the error of SendDatagram; overhead is what the transport puts before the payload.
func (b *base) sendError(err error, overhead int64) error {
	if big, ok := errors.AsType[*quic.DatagramTooLargeError](err); ok {
		return &moqt.DatagramTooLargeError{Max: int(max(0, big.MaxDatagramPayloadSize-overhead))}
	}
	return b.callError(context.Background(), err)
}

// linger is how long the last packets of a connection are worth waiting for: a
// few round trips, in which what was lost is sent again.
func linger(qc *quic.Conn, least time.Duration) time.Duration {
	return min(max(3*qc.ConnectionStats().SmoothedRTT, least), time.Second)
}

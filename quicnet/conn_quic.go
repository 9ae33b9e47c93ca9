package quicnet

import (
	"context"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/moq-c4/moq-c4/moqt"
)

// quicConn is a session on raw QUIC.
type quicConn struct{ *base }

var _ moqt.Conn = (*quicConn)(nil)

func newQUICConn(qc *quic.Conn, server bool, release func()) *quicConn {
	info := moqt.ConnInfo{
		Transport: moqt.TransportQUIC,
		Protocol:  qc.ConnectionState().TLS.NegotiatedProtocol,
		Server:    server,
	}
	c := &quicConn{newBase(qc, qc.Context(), info, release)}
	context.AfterFunc(qc.Context(), func() {
		c.end(connError(context.Cause(qc.Context())))
		c.free()
	})
	return c
}

func (c *quicConn) OpenStream(ctx context.Context) (moqt.Stream, error) {
	s, err := c.qc.OpenStreamSync(ctx)
	if err != nil {
		return nil, c.callError(ctx, err)
	}
	return c.newStream(s, s), nil
}

func (c *quicConn) OpenUniStream(ctx context.Context) (moqt.SendStream, error) {
	s, err := c.qc.OpenUniStreamSync(ctx)
	if err != nil {
		return nil, c.callError(ctx, err)
	}
	return c.newSendStream(s, s, defaultUrgency), nil
}

func (c *quicConn) AcceptStream(ctx context.Context) (moqt.Stream, error) {
	s, err := c.qc.AcceptStream(ctx)
	if err != nil {
		return nil, c.callError(ctx, err)
	}
	return c.newStream(s, s), nil
}

func (c *quicConn) AcceptUniStream(ctx context.Context) (moqt.ReceiveStream, error) {
	s, err := c.qc.AcceptUniStream(ctx)
	if err != nil {
		return nil, c.callError(ctx, err)
	}
	return &receiveStream{c.base, s}, nil
}

func (c *quicConn) SendDatagram(b []byte) error {
	return c.SendDatagramAcked(b, nil)
}

// SendDatagramAcked implements moqt.AckTeller.
func (c *quicConn) SendDatagramAcked(b []byte, acked func(time.Time)) error {
	if err := c.sendDatagram(b, acked, c.qc.SendDatagram); err != nil {
		return c.sendError(err, 0)
	}
	return nil
}

func (c *quicConn) ReceiveDatagram(ctx context.Context) ([]byte, error) {
	b, err := c.qc.ReceiveDatagram(ctx)
	return b, c.callError(ctx, err)
}

// Close returns after CONNECTION_CLOSE was written to the socket.
func (c *quicConn) Close(code uint64, reason string) error {
	c.qc.CloseWithError(quic.ApplicationErrorCode(code), truncate(reason, maxReason))
	<-c.released
	return nil
}

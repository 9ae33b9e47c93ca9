package quicnet

import (
	"context"
	"encoding/binary"
	"net/http"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/quicvarint"
	"github.com/quic-go/webtransport-go"

	"github.com/moq-c4/moq-c4/moqt"
)

const (
	// wtDatagramOverhead is the room for the quarter stream ID, which names the session, in bytes. Two suffice for any
	// CONNECT among the first 16384 requests of its connection, and we allow one session per connection.
	wtDatagramOverhead = 2

	// wtCloseLinger is the least time for WT_CLOSE_SESSION to arrive. It travels on a stream: closing the QUIC
	// connection right behind it would throw it away. Peers that close the connection end the wait.
	wtCloseLinger = 100 * time.Millisecond

	// wtCauseTimeout is how long to wait for the QUIC connection's own story when its session has failed.
	wtCauseTimeout = 200 * time.Millisecond
)

// wtConn is a WebTransport session, alone on its QUIC connection.
type wtConn struct {
	*base
	sess    *webtransport.Session
	reach   *reach
	connect *http3.Stream // of the CONNECT request; nil at the client
	closing sync.Once
}

var _ moqt.Conn = (*wtConn)(nil)

// newWTConn takes the session over. info tells what was asked for.
func newWTConn(sess *webtransport.Session, connect *http3.Stream, qc *quic.Conn, r *reach, info moqt.ConnInfo, release func()) *wtConn {
	info.Transport = moqt.TransportWebTransport
	info.Protocol = sess.SessionState().ApplicationProtocol
	c := &wtConn{base: newBase(qc, sess.Context(), info, release), sess: sess, connect: connect, reach: r}
	context.AfterFunc(sess.Context(), c.ended)
	return c
}

// ended runs once, after the session's end.
func (c *wtConn) ended() {
	if c.ctx.Err() == nil { // else the goodbye was said
		ce := c.whyEnded()
		c.end(ce)
		if ce.App && !ce.Remote {
			waitDone(c.qc.Context(), linger(c.qc, wtCloseLinger))
		}
	}
	c.qc.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
	c.free()
}

func (c *wtConn) whyEnded() *moqt.ConnError {
	// The session tells why it ended only through calls that fail with it.
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := c.sess.AcceptUniStream(ended)
	ce, certain := sessionError(err)
	if certain {
		return ce
	}
	if waitDone(c.qc.Context(), wtCauseTimeout) {
		err := context.Cause(c.qc.Context())
		ce = connError(err)
		if ce.App { // a code of HTTP/3, not one of MOQT
			ce = &moqt.ConnError{Remote: ce.Remote, Err: err}
		}
	}
	return ce
}

// waitDone waits for the end of ctx, but not longer than d.
func waitDone(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return true
	case <-t.C:
		return false
	}
}

func (c *wtConn) OpenStream(ctx context.Context) (moqt.Stream, error) {
	if c.ctx.Err() != nil {
		return nil, context.Cause(c.ctx)
	}
	s, err := c.sess.OpenStreamSync(ctx)
	if err != nil {
		return nil, c.callError(ctx, err)
	}
	return c.newStream(s, c.reach.stream(s)), nil
}

func (c *wtConn) OpenUniStream(ctx context.Context) (moqt.SendStream, error) {
	if c.ctx.Err() != nil {
		return nil, context.Cause(c.ctx)
	}
	s, err := c.sess.OpenUniStreamSync(ctx)
	if err != nil {
		return nil, c.callError(ctx, err)
	}
	out := c.newSendStream(s, c.reach.sendStream(s), defaultUrgency)
	out.header = wtUniHeader(c.connect)
	return out, nil
}

func (c *wtConn) AcceptStream(ctx context.Context) (moqt.Stream, error) {
	s, err := c.sess.AcceptStream(ctx)
	if err != nil {
		return nil, c.callError(ctx, err)
	}
	return c.newStream(s, c.reach.stream(s)), nil
}

func (c *wtConn) AcceptUniStream(ctx context.Context) (moqt.ReceiveStream, error) {
	s, err := c.sess.AcceptUniStream(ctx)
	if err != nil {
		return nil, c.callError(ctx, err)
	}
	return &receiveStream{c.base, s}, nil
}

func (c *wtConn) SendDatagram(b []byte) error { return c.SendDatagramAcked(b, nil) }

// SendDatagramAcked implements moqt.AckTeller.
func (c *wtConn) SendDatagramAcked(b []byte, acked func(time.Time)) error {
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	if err := c.sendDatagram(b, acked, c.sess.SendDatagram); err != nil {
		return c.sendError(err, wtDatagramOverhead)
	}
	return nil
}

func (c *wtConn) ReceiveDatagram(ctx context.Context) ([]byte, error) {
	b, err := c.sess.ReceiveDatagram(ctx)
	return b, c.callError(ctx, err)
}

// Close returns after the peer has closed the connection in answer, or a few round trips later.
func (c *wtConn) Close(code uint64, reason string) error {
	reason = truncate(reason, maxReason)
	c.closing.Do(func() {
		if c.connect != nil && c.sess.Context().Err() == nil {
			c.sayGoodbye(code, reason)
		}
		c.sess.CloseWithError(webtransport.SessionErrorCode(wtCode(code)), reason)
	})
	<-c.released
	return nil
}

// sayGoodbye sends WT_CLOSE_SESSION and FIN and waits for the peer to end the session. webtransport-go sends STOP_SENDING
// along with them, and quic-go puts that in front: Chromium then reports a lost connection and never sees the code.
func (c *wtConn) sayGoodbye(code uint64, reason string) {
	c.end(&moqt.ConnError{App: true, Code: uint64(wtCode(code)), Reason: reason})
	c.connect.SetPriority(requestUrgency, false)
	if c.connect.TryWriteAll(appendCloseSession(nil, wtCode(code), reason)) != nil {
		return // no room to say it
	}
	c.connect.Close()
	waitDone(c.sess.Context(), linger(c.qc, wtCloseLinger))
}

// appendCloseSession appends a WT_CLOSE_SESSION capsule.
// [WT] Section 6, Session Termination
func appendCloseSession(b []byte, code uint32, reason string) []byte {
	const typ = 0x2843
	b = quicvarint.Append(b, typ)
	b = quicvarint.Append(b, uint64(4+len(reason)))
	b = binary.BigEndian.AppendUint32(b, code)
	return append(b, reason...)
}

// streamCatcher is a response writer that keeps the stream which webtransport-go takes over.
type streamCatcher struct {
	http.ResponseWriter
	str *http3.Stream
}

var (
	_ http3.HTTPStreamer = (*streamCatcher)(nil)
	_ http3.Settingser   = (*streamCatcher)(nil)
	_ http.Flusher       = (*streamCatcher)(nil)
)

func (w *streamCatcher) HTTPStream() *http3.Stream {
	w.str = w.ResponseWriter.(http3.HTTPStreamer).HTTPStream()
	return w.str
}

func (w *streamCatcher) ReceivedSettings() <-chan struct{} {
	return w.ResponseWriter.(http3.Settingser).ReceivedSettings()
}

func (w *streamCatcher) Settings() *http3.Settings {
	return w.ResponseWriter.(http3.Settingser).Settings()
}

func (w *streamCatcher) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

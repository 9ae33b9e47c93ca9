package moqt

import (
	"context"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// adaptedVersion is the draft that a session speaks behind a conn16.
const adaptedVersion = wire.Draft18

// conn16 lets a session that speaks draft-18 talk to a peer that speaks draft-16. It stands between the session and the
// connection and rewrites what goes through:
//
//   - The session's control and request streams are streams of a [Pipe] that ends here. What is read from them goes out on the one
//     control stream of draft-16, and what arrives there is put on the stream of the request it belongs to (v16_control.go);
//     v16_request_open.go has the requests that the session makes, v16_request_peer.go those of the peer,
//     v16_request_say.go what the session says on either.
//   - Data streams and datagrams are those of the connection, with their headers rewritten as they pass (v16_send.go,
//     v16_receive.go). Payloads are not looked at.
//
// So nothing above knows of draft-16, and a relay's stored bytes are of one kind. What has no counterpart is in
// docs/protocol/versions.md.
type conn16 struct {
	Conn // to the peer
	s    *Session

	session *PipeConn // the session's end of the pipe
	inner   *PipeConn // our end

	control chan struct{} // closed when out is there
	out     Stream        // the control stream
	wmu     sync.Mutex    // held while writing to it, and while an id is taken for what is written
	big     chan struct{} // tokens for long messages of the peer; see Session.bigMessages

	unbounded chan struct{} // tokens for messages of the session

	accepted bool // the session has its control stream; owned by the goroutine that accepts

	mu      sync.Mutex            // guards what follows; no other lock is taken with it held
	byID    map[uint64]*request16 // by the id on the wire, of both sides
	bySess  map[uint64]*request16 // by the id that the session knows
	updates map[uint64]*request16 // REQUEST_UPDATEs of the session, by the id on the wire
	seen    idWindow              // the peer's ids on the wire
	next    uint64                // our next id on the wire
	max     uint64                // the peer allows ids below it
	blocked uint64                // the max that REQUESTS_BLOCKED was sent for, plus 1
	raised  signal                // max has grown
	nextIn  uint64                // id that the session is told for the next request of the peer
	granted uint64                // the peer may use ids below it
	ended   uint64                // requests of the peer that have ended
}

func newConn16(s *Session, conn Conn) *conn16 {
	c := &conn16{
		Conn: conn, s: s, control: make(chan struct{}), big: make(chan struct{}, maxBigMessages),
		unbounded: make(chan struct{}, 1<<30), // of size 0
		byID:      make(map[uint64]*request16), bySess: make(map[uint64]*request16), updates: make(map[uint64]*request16),
	}
	// MAX_REQUEST_ID bounds the requests of each side, so this need not.
	inner, outer := Pipe(PipeConfig{MaxStreams: 1 << 30, MaxUniStreams: 1 << 30, StreamWindow: 2 * wire.MaxMessageLen})
	c.inner, c.session = inner, outer
	if s.server {
		c.next = 1
	} else {
		c.nextIn, c.seen.parity = 1, 1
	}
	return c
}

// run starts what moves messages.
func (c *conn16) run() {
	c.s.spawn(c.controlFromSession)
	c.s.spawn(c.requestsFromSession)
	c.s.spawn(c.acceptPeer)
	if !c.s.server {
		c.s.spawn(c.openToPeer)
	}
}

// openControl opens the session's control stream.
func (c *conn16) openControl(ctx context.Context) (SendStream, error) {
	return c.session.OpenUniStream(ctx)
}

// OpenStream implements [Conn].
func (c *conn16) OpenStream(ctx context.Context) (Stream, error) { return c.session.OpenStream(ctx) }

// AcceptStream implements [Conn].
func (c *conn16) AcceptStream(ctx context.Context) (Stream, error) {
	return c.session.AcceptStream(ctx)
}

// OpenUniStream implements [Conn].
func (c *conn16) OpenUniStream(ctx context.Context) (SendStream, error) {
	stream, err := c.Conn.OpenUniStream(ctx)
	if err != nil {
		return nil, err
	}
	return &send16{SendStream: stream, c: c}, nil
}

// AcceptUniStream implements [Conn]. The control stream comes first; data streams would have to wait for SETUP anyway.
func (c *conn16) AcceptUniStream(ctx context.Context) (ReceiveStream, error) {
	if !c.accepted {
		stream, err := c.session.AcceptUniStream(ctx)
		c.accepted = err == nil
		return stream, err
	}
	stream, err := c.Conn.AcceptUniStream(ctx)
	if err != nil {
		return nil, err
	}
	return &receive16{ReceiveStream: stream, c: c}, nil
}

// SendDatagram implements [Conn].
func (c *conn16) SendDatagram(b []byte) error { return c.sendDatagram(b, c.Conn.SendDatagram) }

// TellsAcks implements [AckTeller].
func (c *conn16) TellsAcks() bool {
	t, ok := c.Conn.(AckTeller)
	return ok && t.TellsAcks()
}

// SendDatagramAcked implements [AckTeller].
func (c *conn16) SendDatagramAcked(b []byte, acked func(at time.Time)) error {
	return c.sendDatagram(b, func(b []byte) error {
		if t, ok := c.Conn.(AckTeller); ok {
			return t.SendDatagramAcked(b, acked)
		}
		return c.Conn.SendDatagram(b)
	})
}

// sendDatagram rewrites a datagram and sends it.
func (c *conn16) sendDatagram(b []byte, send func([]byte) error) error {
	d, err := wire.ParseDatagram(b, adaptedVersion)
	if err != nil {
		return err
	}
	if d.Properties, err = wire.TranscodeProperties(d.Properties, adaptedVersion, wire.Draft16); err != nil {
		return err
	}
	if err := fits16(d.GroupID, d.ObjectID); err != nil {
		return err
	}
	scratch := getBuffer()
	defer putBuffer(scratch)
	if *scratch, err = d.Append((*scratch)[:0], wire.Draft16); err != nil {
		return err
	}
	return send(*scratch)
}

// ReceiveDatagram implements [Conn].
func (c *conn16) ReceiveDatagram(ctx context.Context) ([]byte, error) {
	for {
		b, err := c.Conn.ReceiveDatagram(ctx)
		if err != nil {
			return nil, err
		}
		if _, _, err := wire.ConsumeDatagramType(b, wire.Draft16); err != nil {
			c.s.failWire(err)
			return nil, err
		}
		d, err := wire.ParseDatagram(b, wire.Draft16)
		if err == nil {
			d.Properties, err = wire.TranscodeProperties(d.Properties, wire.Draft16, adaptedVersion)
		}
		if err == nil {
			b, err = d.Append(nil, adaptedVersion)
		}
		if err == nil {
			return b, nil
		}
		if c.s.failWire(err); c.s.ctx.Err() != nil {
			return nil, err
		}
		c.s.stats.datagramsOversized.Add(1)
	}
}

// Close implements [Conn].
func (c *conn16) Close(code uint64, reason string) error {
	err := c.Conn.Close(code, reason)
	c.session.Close(code, reason)
	return err
}

// Context implements [Conn]: it is that of the connection.
func (c *conn16) Context() context.Context { return c.Conn.Context() }

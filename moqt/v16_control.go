package moqt

import (
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// openToPeer opens the control stream, as the client does.
//
// "The first stream opened is a client-initiated bidirectional control stream ..."
// [MOQT-16] Section 3.3, Session initialization
func (c *conn16) openToPeer() {
	stream, err := c.Conn.OpenStream(c.s.ctx)
	if err != nil {
		return // the connection's context tells
	}
	stream.SetPriority(urgencyControl)
	c.setControl(stream)
	c.readPeer(c.newReader(stream, nil))
}

// setControl notes the control stream. It returns false if there is one.
func (c *conn16) setControl(stream Stream) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out != nil {
		return false
	}
	c.out = stream
	close(c.control)
	return true
}

// newReader returns a reader of messages of the peer.
func (c *conn16) newReader(stream ReceiveStream, ahead []byte) *messageReader {
	return &messageReader{s: c.s, version: wire.Draft16, stream: stream, buf: ahead, tokens: c.big}
}

// newSessionReader returns a reader of messages of the session. Those need no bound: they were made here.
func (c *conn16) newSessionReader(stream ReceiveStream) *messageReader {
	r := newMessageReader(c.s, stream, nil)
	r.tokens = c.unbounded
	return r
}

// acceptPeer takes the peer's bidirectional streams: the control stream, if it is the client, and those of SUBSCRIBE_NAMESPACE.
func (c *conn16) acceptPeer() {
	for {
		stream, err := c.Conn.AcceptStream(c.s.ctx)
		if err != nil {
			return // the connection's context tells
		}
		stream.SetPriority(urgencyControl)
		c.s.spawn(func() { c.servePeer(stream) })
	}
}

// servePeer finds out what a stream of the peer is.
func (c *conn16) servePeer(stream Stream) {
	r := c.newReader(stream, nil)
	r.limitFirst(time.Now().Add(c.s.cfg.MessageTimeout))
	typ, body, err := r.next()
	if err != nil {
		r.close()
		stream.Reset(uint64(wire.StreamCancelled))
		stream.Stop(uint64(wire.StreamCancelled))
		return
	}
	r.limitFirst(time.Time{})
	switch {
	case typ == wire.MsgClientSetup && c.s.server:
		if !c.setControl(stream) {
			c.s.violation("second control stream")
			return
		}
		in, ok := c.setupFromPeer(typ, body)
		if ok {
			c.readMessages(r, in)
		}
		r.close()
	case typ == wire.MsgSubscribeNamespace16:
		c.serveNamespace(stream, r, typ, body)
	default:
		c.s.violation(typ.String() + " begins a bidirectional stream")
	}
}

// readPeer reads the control stream from its beginning, as the client does.
func (c *conn16) readPeer(r *messageReader) {
	defer r.close()
	typ, body, err := r.next()
	if err != nil {
		c.controlLost(err)
		return
	}
	if typ != wire.MsgServerSetup {
		c.s.violation(typ.String() + " begins the control stream")
		return
	}
	if in, ok := c.setupFromPeer(typ, body); ok {
		c.readMessages(r, in)
	}
}

// controlLost ends the session because the control stream has ended.
//
// "The control stream MUST NOT be closed at the underlying transport layer during the session's lifetime. Doing so results in the
// session being closed as a PROTOCOL_VIOLATION."
// [MOQT-16] Section 3.3, Session initialization
func (c *conn16) controlLost(err error) {
	how := "reset"
	if errors.Is(err, io.EOF) {
		how = "closed"
	}
	c.s.controlLost(err, how)
}

// setupFromPeer hands the peer's SETUP to the session. It returns the stream on which the session gets what follows.
func (c *conn16) setupFromPeer(typ wire.MessageType, body []byte) (SendStream, bool) {
	m, err := wire.ParseMessage16(typ, body)
	if err != nil {
		c.s.failWire(err)
		return nil, false
	}
	setup := m.Message.(*wire.Setup)
	rest, told := setup.Other[:0], false
	for _, p := range setup.Other {
		if p.Type == wire.SetupMaxRequestID {
			c.raiseMax(p.Uint)
			told = true
			continue
		}
		rest = append(rest, p)
	}
	setup.Other = rest
	if !told {
		c.raiseMax(c.s.cfg.AssumedMaxRequestID)
	}
	in, err := c.inner.OpenUniStream(c.s.ctx)
	if err != nil {
		return nil, false
	}
	return in, c.toSession(in, setup)
}

// raiseMax notes how many requests the peer allows. It returns false if that did not grow.
func (c *conn16) raiseMax(limit uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if limit <= c.max {
		return false
	}
	c.max = limit
	c.raised.fire()
	return true
}

// toSession writes messages to a stream of the session. It returns false if nothing more can be written there.
func (c *conn16) toSession(stream SendStream, msgs ...wire.Message) bool {
	bp := getBuffer()
	defer putBuffer(bp)
	b := (*bp)[:0]
	var err error
	for _, m := range msgs {
		if b, err = wire.AppendMessage(b, m, adaptedVersion); err != nil {
			// The peer may say what must not be said: then the session says what is wrong about it.
			c.s.violation(err.Error())
			return false
		}
	}
	*bp = b
	stream.SetWriteDeadline(time.Now().Add(c.s.cfg.MessageTimeout))
	_, err = stream.Write(b)
	return err == nil
}

// toPeer writes a message to the control stream.
func (c *conn16) toPeer(m *wire.Message16) {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	c.toPeerLocked(m)
}

// toPeerLocked is toPeer for who holds wmu.
func (c *conn16) toPeerLocked(m *wire.Message16) error {
	select {
	case <-c.control:
	case <-c.s.ctx.Done():
		return c.s.ctx.Err()
	}
	return c.writePeer(c.out, m)
}

// writePeer writes a message to a stream of the peer.
func (c *conn16) writePeer(stream SendStream, m *wire.Message16) error {
	bp := getBuffer()
	defer putBuffer(bp)
	b, err := wire.AppendMessage16((*bp)[:0], m)
	if err != nil {
		return err
	}
	*bp = b
	stream.SetWriteDeadline(time.Now().Add(c.s.cfg.MessageTimeout))
	if _, err := stream.Write(b); err != nil {
		if stream == SendStream(c.out) {
			c.s.controlLost(err, "stopped")
			if errors.Is(err, os.ErrDeadlineExceeded) {
				c.s.fail(wire.SessionControlMessageTimeout, "the peer does not read its control stream")
			}
		}
		return err
	}
	return nil
}

// controlFromSession passes on what the session says on its control stream.
func (c *conn16) controlFromSession() {
	stream, err := c.inner.AcceptUniStream(c.s.ctx)
	if err != nil {
		return
	}
	r := c.newSessionReader(stream)
	defer r.close()
	for {
		typ, body, err := r.next()
		if err != nil {
			return
		}
		m, err := wire.ParseMessage(typ, body, adaptedVersion)
		if err != nil {
			return
		}
		switch m := m.(type) {
		case *wire.Setup:
			c.grant(m)
		case *wire.GoAway:
			c.toPeer(&wire.Message16{Type: wire.MsgGoAway, Message: m})
		}
	}
}

// grant sends our SETUP. It allows the peer as many requests as the session does.
func (c *conn16) grant(m *wire.Setup) {
	c.mu.Lock()
	c.granted = 2 * uint64(c.s.cfg.MaxRequests)
	m.Other = append(m.Other, wire.Property{Type: wire.SetupMaxRequestID, Uint: c.granted})
	c.mu.Unlock()
	typ := wire.MsgClientSetup
	if c.s.server {
		typ = wire.MsgServerSetup
	}
	c.toPeer(&wire.Message16{Type: typ, Message: m})
}

// peerEnded notes that a request of the peer has ended, and lets it make more.
//
// "... implementations might choose to increase MAX_REQUEST_ID as subscriptions are closed to keep the number of available
// subscriptions roughly consistent."
// [MOQT-16] Section 9.5, MAX_REQUEST_ID
func (c *conn16) peerEnded() {
	limit := uint64(c.s.cfg.MaxRequests)
	c.mu.Lock()
	c.ended++
	raise := 2*(c.ended+limit)-c.granted >= limit
	if raise {
		c.granted = 2 * (c.ended + limit)
	}
	granted := c.granted
	c.mu.Unlock()
	if raise {
		c.toPeer(&wire.Message16{Type: wire.MsgMaxRequestID, Max: granted})
	}
}

// usePeerID checks a new id of the peer.
//
// The draft wants them in sequence. They are on several streams, which race, so only what is used twice or too early is refused.
// [MOQT-16] Section 9.1, Request ID
func (c *conn16) usePeerID(id uint64) bool {
	c.mu.Lock()
	used := c.seen.use(id)
	granted := c.granted
	c.mu.Unlock()
	switch {
	case !used:
		c.s.fail(wire.SessionInvalidRequestID, "request id is a duplicate or not the peer's")
		return false
	case id >= granted:
		// "... the endpoint MUST close the session with an error of TOO_MANY_REQUESTS."
		// [MOQT-16] Section 9.5, MAX_REQUEST_ID
		c.s.fail(wire.SessionTooManyRequests, "request id is above MAX_REQUEST_ID")
		return false
	}
	return true
}

// readMessages reads the control stream after SETUP. in is the session's control stream.
func (c *conn16) readMessages(r *messageReader, in SendStream) {
	for {
		typ, body, err := r.next()
		if err != nil {
			c.controlLost(err)
			return
		}
		m, err := wire.ParseMessage16(typ, body)
		if m == nil {
			c.s.failWire(err)
			return
		}
		if !c.fromPeer(m, in) {
			return
		}
	}
}

// fromPeer takes a message on the control stream. It returns false if the session has ended.
func (c *conn16) fromPeer(m *wire.Message16, in SendStream) bool {
	switch {
	case m.Type == wire.MsgGoAway:
		g := m.Message.(*wire.GoAway)
		// The id says nothing that draft-16 says: that of no request.
		g.RequestID = wire.Some(c.s.firstID())
		c.toSession(in, g)
	case m.Type == wire.MsgMaxRequestID:
		// "If an endpoint receives MAX_REQUEST_ID message with an equal or smaller Request ID it MUST close the session with a
		// PROTOCOL_VIOLATION."
		// [MOQT-16] Section 9.5, MAX_REQUEST_ID
		if !c.raiseMax(m.Max) && c.s.cfg.AssumedMaxRequestID == 0 {
			c.s.violation("MAX_REQUEST_ID does not grow")
		}
	case m.Type == wire.MsgRequestsBlocked:
	case wire.Opens16(m.Type):
		c.requestFromPeer(m)
	case m.Type == wire.MsgRequestUpdate:
		c.updateFromPeer(m)
	case slices.Contains(misplaced16, m.Type):
		c.s.violation(m.Type.String() + " has no place on the control stream")
	default:
		c.messageFromPeer(m)
	}
	return c.s.ctx.Err() == nil
}

// misplaced16 are the messages that come first on the control stream, or on the stream of a SUBSCRIBE_NAMESPACE.
var misplaced16 = []wire.MessageType{
	wire.MsgClientSetup, wire.MsgServerSetup, wire.MsgSubscribeNamespace16, wire.MsgNamespace, wire.MsgNamespaceDone,
}

// firstID returns the id of the first request of this side.
func (s *Session) firstID() uint64 {
	if s.server {
		return 1
	}
	return 0
}

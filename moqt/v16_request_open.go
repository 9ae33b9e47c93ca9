package moqt

import (
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// requestsFromSession takes the requests that the session makes.
func (c *conn16) requestsFromSession() {
	for {
		stream, err := c.inner.AcceptStream(c.s.ctx)
		if err != nil {
			return
		}
		c.s.spawn(func() { c.serveSession(stream) })
	}
}

// serveSession passes one request of the session on.
func (c *conn16) serveSession(stream Stream) {
	in := c.newSessionReader(stream)
	defer in.close()
	typ, body, err := in.next()
	if err != nil {
		stream.Close()
		return
	}
	m, _ := wire.ParseMessage(typ, body, adaptedVersion)
	if m == nil {
		return
	}
	r := &request16{stream: stream, local: true, opener: typ}
	if !c.open(r, m) {
		stream.Close()
		stream.Stop(uint64(wire.StreamCancelled))
		return
	}
	c.fromSession(r, in)
}

// open sends the first message of a request of the session, once the peer allows one more. It returns false if the request is not
// made; the session has been told why.
func (c *conn16) open(r *request16, m wire.Message) bool {
	msg := &wire.Message16{Type: m.Type(), Message: m}
	r.sess, _ = requestFields(m)
	switch m := m.(type) {
	case *wire.SubscribeNamespace:
		msg.Type, msg.Options = wire.MsgSubscribeNamespace16, wire.OptionNamespace
	case *wire.SubscribeTracks:
		msg.Type, msg.Options = wire.MsgSubscribeNamespace16, wire.OptionPublish
	case *wire.Fetch:
		r.descending = descending(&m.Params)
		if m.FetchType != wire.FetchStandalone {
			joined := c.bySession(m.JoiningRequestID)
			if joined == nil {
				c.toSession(r.stream, &wire.RequestError{Code: wire.RequestInvalidJoiningRequestID, Reason: "no such subscription"})
				return false
			}
			m.JoiningRequestID = joined.id
		}
	}
	if msg.Type == wire.MsgSubscribeNamespace16 {
		own, err := c.Conn.OpenStream(c.s.ctx)
		if err != nil {
			return false
		}
		own.SetPriority(urgencyControl)
		r.own = own
	}
	if err := c.sendNew(r, msg); err != nil {
		c.remove(r)
		if r.own != nil {
			r.own.Reset(uint64(wire.StreamCancelled))
			r.own.Stop(uint64(wire.StreamCancelled))
		}
		c.toSession(r.stream, &wire.RequestError{Code: wire.RequestInternalError, Reason: err.Error()})
		return false
	}
	if r.own != nil {
		c.s.spawn(func() { c.namespacesFromPeer(r) })
	}
	return true
}

// sendNew gives a message of the session, which opens a request, an id and sends it. Ids go out in order.
func (c *conn16) sendNew(r *request16, m *wire.Message16) error {
	if err := c.awaitID(); err != nil {
		return err
	}
	c.wmu.Lock()
	defer c.wmu.Unlock()
	c.mu.Lock()
	r.id = c.next
	m.RequestID = r.id
	c.mu.Unlock()
	if _, err := wire.AppendMessage16(nil, m); err != nil { // must not use up an id
		return err
	}
	c.mu.Lock()
	c.next += 2
	c.byID[r.id] = r
	c.bySess[r.sess] = r
	c.mu.Unlock()
	if r.own != nil {
		return c.writePeer(r.own, m)
	}
	return c.toPeerLocked(m)
}

// awaitID waits until the peer allows one more request. Several may be let through by one id; who comes late goes out all the
// same, which the peer may refuse: MAX_REQUEST_ID is raised long before it is reached.
//
// "The REQUESTS_BLOCKED message is sent when an endpoint would like to send a new request, but cannot because the Request
// ID would exceed the Maximum Request ID value sent by the peer."
// [MOQT-16] Section 9.6, REQUESTS_BLOCKED
func (c *conn16) awaitID() error {
	for {
		c.mu.Lock()
		if c.next < c.max {
			c.mu.Unlock()
			return nil
		}
		tell := c.blocked != c.max+1
		c.blocked = c.max + 1
		limit := c.max
		raised := c.raised.wait()
		c.mu.Unlock()
		if tell {
			c.toPeer(&wire.Message16{Type: wire.MsgRequestsBlocked, Max: limit})
		}
		select {
		case <-raised:
		case <-c.s.ctx.Done():
			return c.s.ctx.Err()
		}
	}
}

package moqt

import (
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// requestFromPeer hands a request of the peer to the session.
func (c *conn16) requestFromPeer(m *wire.Message16) {
	if !c.usePeerID(m.RequestID) {
		return
	}
	r := &request16{id: m.RequestID, opener: m.Type}
	if f, ok := m.Message.(*wire.Fetch); ok {
		r.descending = descending(&f.Params)
	}
	c.hand(r, m.Message)
}

// hand opens a request towards the session and serves it. It returns false if that was not possible.
func (c *conn16) hand(r *request16, m wire.Message) bool {
	stream, err := c.inner.OpenStream(c.s.ctx)
	if err != nil {
		return false
	}
	r.stream = stream
	c.add(r)
	c.renumber(r, m)
	ok := c.toSession(stream, m) && c.s.spawn(func() {
		in := c.newSessionReader(stream)
		defer in.close()
		c.fromSession(r, in)
	})
	if !ok {
		c.remove(r)
	}
	return ok
}

// renumber puts the ids that the session knows in place of those on the wire.
func (c *conn16) renumber(r *request16, m wire.Message) {
	switch m := m.(type) {
	case *wire.Subscribe:
		m.RequestID = r.sess
	case *wire.Publish:
		m.RequestID = r.sess
	case *wire.TrackStatus:
		m.RequestID = r.sess
	case *wire.PublishNamespace:
		m.RequestID = r.sess
	case *wire.SubscribeNamespace:
		m.RequestID = r.sess
	case *wire.SubscribeTracks:
		m.RequestID = r.sess
	case *wire.Fetch:
		m.RequestID = r.sess
		if m.FetchType == wire.FetchStandalone {
			return
		}
		c.mu.Lock()
		joined := c.byID[m.JoiningRequestID]
		c.mu.Unlock()
		m.JoiningRequestID = r.sess // which is not that of a subscription
		if joined != nil {
			m.JoiningRequestID = joined.sess
		}
	}
}

// updateFromPeer hands a REQUEST_UPDATE to the session.
//
// "The receiver MUST close the session with PROTOCOL_VIOLATION if the sender specifies an invalid Existing Request ID ..."
// [MOQT-16] Section 9.11, REQUEST_UPDATE
func (c *conn16) updateFromPeer(m *wire.Message16) {
	if !c.usePeerID(m.RequestID) {
		return
	}
	c.peerEnded() // its id comes back at once
	c.mu.Lock()
	r := c.byID[m.Existing]
	known := r != nil || c.wasUsed(m.Existing)
	u := m.Message.(*wire.RequestUpdate)
	u.RequestID = c.nextIn
	c.nextIn += 2
	if r != nil {
		r.updates = append(r.updates, m.RequestID)
	}
	c.mu.Unlock()
	switch {
	case !known:
		c.s.violation("REQUEST_UPDATE of a request that was not made")
	case r == nil: // it has ended meanwhile
		c.toPeer(&wire.Message16{Type: wire.MsgRequestError, RequestID: m.RequestID, Message: &wire.RequestError{Code: wire.RequestDoesNotExist}})
	default:
		c.toSession(r.stream, u)
	}
}

// messageFromPeer hands a message of a request that is there to the session.
func (c *conn16) messageFromPeer(m *wire.Message16) {
	c.mu.Lock()
	r := c.byID[m.RequestID]
	update := c.updates[m.RequestID]
	delete(c.updates, m.RequestID)
	known := c.wasUsed(m.RequestID)
	ends := false
	if r != nil {
		ends = r.take(m.Type)
	}
	c.mu.Unlock()
	switch {
	case update != nil && (m.Type == wire.MsgRequestOK || m.Type == wire.MsgRequestError):
		dropMisplaced(m.Message, wire.MsgRequestUpdate)
		c.toSession(update.stream, m.Message)
	case r != nil && m.Message != nil:
		dropMisplaced(m.Message, r.opener)
		c.toSession(r.stream, m.Message)
		if ends {
			r.stream.Close()
		}
	case r != nil:
		c.cancelledByPeer(r, m)
	case !known:
		c.s.violation(m.Type.String() + " for a request that was not made")
	}
}

// dropMisplaced takes parameters out of an answer to a message of type to that it should not have.
func dropMisplaced(m wire.Message, to wire.MessageType) {
	if ok, is := m.(*wire.RequestOK); is {
		ok.Check(to, wire.Draft16) // the session checks again
	}
}

// cancelledByPeer ends a request for a message that only draft-16 has.
func (c *conn16) cancelledByPeer(r *request16, m *wire.Message16) {
	ok := false
	switch m.Type {
	case wire.MsgUnsubscribe:
		ok = r.opener == wire.MsgSubscribe && !r.local || r.opener == wire.MsgPublish && r.local
	case wire.MsgFetchCancel:
		ok = r.opener == wire.MsgFetch && !r.local
	case wire.MsgPublishNamespaceDone:
		ok = r.opener == wire.MsgPublishNamespace && !r.local
	case wire.MsgPublishNamespaceCancel:
		ok = r.opener == wire.MsgPublishNamespace && r.local
	}
	if !ok {
		c.s.violation(m.Type.String() + " for a " + r.opener.String())
		return
	}
	r.stream.Reset(uint64(wire.StreamCancelled))
	r.stream.Stop(uint64(wire.StreamCancelled))
}

package moqt

import (
	"errors"
	"io"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// request16 is one request behind a [conn16].
type request16 struct {
	// Fixed from the beginning.
	stream     Stream // towards the session
	local      bool   // made by the session
	opener     wire.MessageType
	id         uint64 // on the wire
	sess       uint64 // as the session knows it
	own        Stream // of a SUBSCRIBE_NAMESPACE, on which its messages go; else nil
	descending bool   // of a FETCH
	shadow     bool   // the second half of a SUBSCRIBE_NAMESPACE for both; its answers are not passed on

	// Guarded by conn16.mu.
	answered bool     // the first answer has passed
	over     bool     // the peer needs no word of the end
	updates  []uint64 // REQUEST_UPDATEs of the peer that were not answered, by the id on the wire, in order
}

// errUnsupported16 answers what draft-16 cannot express.
var errUnsupported16 = &wire.RequestError{Code: wire.RequestNotSupported, Reason: "the peer speaks draft-16, which has nothing like it"}

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

func (c *conn16) bySession(id uint64) *request16 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bySess[id]
}

// add registers a request of the peer.
func (c *conn16) add(r *request16) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.sess = c.nextIn
	c.nextIn += 2
	if !r.shadow {
		c.byID[r.id] = r
	}
	c.bySess[r.sess] = r
}

// remove forgets a request.
func (c *conn16) remove(r *request16) {
	c.mu.Lock()
	if c.byID[r.id] == r {
		delete(c.byID, r.id)
	}
	delete(c.bySess, r.sess)
	for id, of := range c.updates {
		if of == r {
			delete(c.updates, id)
		}
	}
	c.mu.Unlock()
	if !r.local && !r.shadow {
		c.peerEnded()
	}
}

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

// wasUsed reports whether a request of either side had the id. c.mu is held.
func (c *conn16) wasUsed(id uint64) bool {
	if id&1 == c.next&1 {
		return id < c.next
	}
	return c.seen.wasUsed(id)
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

// take notes what a message of the peer means for the request. It reports whether nothing more can come. conn16.mu is held.
func (r *request16) take(typ wire.MessageType) (ends bool) {
	switch typ {
	case wire.MsgRequestError:
		r.over, ends = true, true
	case wire.MsgRequestOK:
		ends = r.opener == wire.MsgTrackStatus
		r.over = r.over || ends
	case wire.MsgPublishDone, wire.MsgUnsubscribe, wire.MsgFetchCancel, wire.MsgPublishNamespaceDone, wire.MsgPublishNamespaceCancel:
		r.over, ends = true, true
	}
	r.answered = r.answered || r.local
	return ends
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

// fromSession passes on what the session says on the stream of a request, and the end of it.
func (c *conn16) fromSession(r *request16, in *messageReader) {
	defer c.remove(r)
	for {
		typ, body, err := in.next()
		if err == nil {
			m, _ := wire.ParseMessage(typ, body, adaptedVersion)
			if m != nil {
				c.say(r, m)
			}
			continue
		}
		if c.s.ctx.Err() != nil {
			return
		}
		c.sessionEnded(r, err)
		r.stream.Close()
		r.stream.Stop(uint64(wire.StreamCancelled))
		return
	}
}

// say sends one message of the session to the peer.
func (c *conn16) say(r *request16, m wire.Message) {
	msg := &wire.Message16{Type: m.Type(), RequestID: r.id, Message: m}
	switch m := m.(type) {
	case *wire.GoAway, *wire.PublishBlocked:
		return // there is nothing like it
	case *wire.RequestUpdate:
		c.update(r, m)
		return
	case *wire.RequestOK, *wire.RequestError:
		c.mu.Lock()
		first := !r.local && !r.answered
		r.answered = true
		if !first && len(r.updates) > 0 {
			msg.RequestID = r.updates[0]
			r.updates = r.updates[1:]
		}
		if _, failed := m.(*wire.RequestError); failed && first {
			r.over = true
		}
		c.mu.Unlock()
		if first && r.opener == wire.MsgPublish && msg.Type == wire.MsgRequestOK {
			msg.Type = wire.MsgPublishOK
		}
	case *wire.PublishDone:
		c.mu.Lock()
		r.over = true
		c.mu.Unlock()
	default:
		c.mu.Lock()
		r.answered = true
		c.mu.Unlock()
	}
	if r.shadow {
		return
	}
	var err error
	switch {
	case r.own != nil:
		err = c.writePeer(r.own, msg)
	default:
		c.wmu.Lock()
		err = c.toPeerLocked(msg)
		c.wmu.Unlock()
	}
	if errors.Is(err, wire.ErrInvalidValue) && !r.local { // as a property with an integer that does not fit
		c.toPeer(&wire.Message16{Type: wire.MsgRequestError, RequestID: r.id, Message: errUnsupported16})
		c.mu.Lock()
		r.over = true
		c.mu.Unlock()
		r.stream.Reset(uint64(wire.StreamInternalError))
		r.stream.Stop(uint64(wire.StreamInternalError))
	}
}

// update sends a REQUEST_UPDATE of the session.
func (c *conn16) update(r *request16, m *wire.RequestUpdate) {
	if m.Params.TrackNamespacePrefix.IsSet() {
		c.toSession(r.stream, errUnsupported16)
		return
	}
	if c.awaitID() != nil {
		return
	}
	c.wmu.Lock()
	defer c.wmu.Unlock()
	c.mu.Lock()
	id := c.next
	c.next += 2
	c.updates[id] = r
	c.mu.Unlock()
	c.toPeerLocked(&wire.Message16{Type: wire.MsgRequestUpdate, RequestID: id, Existing: r.id, Message: m})
}

// sessionEnded tells the peer that the session has finished or abandoned a request.
func (c *conn16) sessionEnded(r *request16, err error) {
	c.mu.Lock()
	over, answered, updates := r.over, r.answered, r.updates
	r.over, r.updates = true, nil
	c.mu.Unlock()
	for _, id := range updates {
		// "The receiver of a REQUEST_UPDATE MUST respond with exactly one REQUEST_OK or REQUEST_ERROR ..."
		// [MOQT-16] Section 9.11, REQUEST_UPDATE
		c.toPeer(&wire.Message16{Type: wire.MsgRequestError, RequestID: id, Message: &wire.RequestError{Code: wire.RequestInternalError}})
	}
	code := wire.StreamCancelled
	var se *StreamError
	if errors.As(err, &se) {
		code = wire.StreamCode(se.Code)
	}
	if r.own != nil {
		if err == io.EOF {
			r.own.Close()
		} else if !r.shadow {
			r.own.Reset(wire.StreamCodeTo16(code))
			r.own.Stop(wire.StreamCodeTo16(code))
		}
		return
	}
	if over || err == io.EOF {
		return
	}
	if m := r.cancel(answered, code); m != nil {
		c.toPeer(m)
	}
}

// cancel returns the message with which draft-16 ends a request early; nil if there is none.
func (r *request16) cancel(answered bool, code wire.StreamCode) *wire.Message16 {
	refuse := func(code wire.RequestCode) *wire.Message16 {
		return &wire.Message16{Type: wire.MsgRequestError, RequestID: r.id, Message: &wire.RequestError{Code: code}}
	}
	done := &wire.PublishDone{Status: doneFor(code), StreamCount: unknownStreams16}
	switch {
	case r.opener == wire.MsgSubscribe && r.local, r.opener == wire.MsgPublish && !r.local && answered:
		return &wire.Message16{Type: wire.MsgUnsubscribe, RequestID: r.id}
	case r.opener == wire.MsgPublish && r.local, r.opener == wire.MsgSubscribe && answered:
		return &wire.Message16{Type: wire.MsgPublishDone, RequestID: r.id, Message: done}
	case r.opener == wire.MsgPublish:
		return refuse(wire.RequestUninterested)
	case r.opener == wire.MsgFetch && r.local:
		return &wire.Message16{Type: wire.MsgFetchCancel, RequestID: r.id}
	case r.opener == wire.MsgPublishNamespace && r.local:
		return &wire.Message16{Type: wire.MsgPublishNamespaceDone, RequestID: r.id}
	case r.local:
		return nil
	case !answered:
		return refuse(wire.RequestInternalError)
	case r.opener == wire.MsgPublishNamespace:
		return &wire.Message16{Type: wire.MsgPublishNamespaceCancel, RequestID: r.id, Code: wire.RequestInternalError}
	}
	return nil
}

// unknownStreams16 is the Stream Count that says nothing.
//
// "If the publisher is unable to set Stream Count to the exact number of streams opened for the subscription, it MUST set Stream
// Count to 2^62 - 1."
// [MOQT-16] Section 9.15, PUBLISH_DONE
const unknownStreams16 = 1<<62 - 1

// doneFor returns the code of PUBLISH_DONE for a subscription whose stream was reset.
func doneFor(code wire.StreamCode) wire.DoneCode {
	switch code {
	case wire.StreamGoingAway:
		return wire.DoneGoingAway
	case wire.StreamTooFarBehind:
		return wire.DoneTooFarBehind
	case wire.StreamMalformedTrack:
		return wire.DoneMalformedTrack
	case wire.StreamCancelled:
		return wire.DoneSubscriptionEnded
	}
	return wire.DoneInternalError
}

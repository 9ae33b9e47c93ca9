package moqt

import (
	"errors"
	"io"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

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

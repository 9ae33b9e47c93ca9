package moqt

import (
	"errors"
	"io"
	"slices"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// serveNamespace serves a SUBSCRIBE_NAMESPACE of the peer, on the stream of its own that draft-16 gives it.
//
// "Subscribe Options: Allows subscribers to request PUBLISH (0x00), NAMESPACE (0x01), or both (0x02) for a given
// SUBSCRIBE_NAMESPACE request."
// [MOQT-16] Section 9.25, SUBSCRIBE_NAMESPACE
//
// For the session these are two requests. If both are wanted, the peer gets the answer to the one for namespaces.
func (c *conn16) serveNamespace(own Stream, in *messageReader, typ wire.MessageType, body []byte) {
	defer in.close()
	m, err := wire.ParseMessage16(typ, body)
	if m == nil {
		c.s.failWire(err)
		return
	}
	if !c.s.waitReady(c.s.ctx) || !c.usePeerID(m.RequestID) {
		return
	}
	requests := []*request16{{id: m.RequestID, opener: m.Message.Type(), own: own}}
	messages := []wire.Message{m.Message}
	if m.Options == wire.OptionBoth {
		ns := m.Message.(*wire.SubscribeNamespace)
		requests = append(requests, &request16{id: m.RequestID, opener: wire.MsgSubscribeTracks, own: own, shadow: true})
		messages = append(messages, &wire.SubscribeTracks{Prefix: ns.Prefix, Params: wire.Params{
			AuthTokens: slices.Clone(ns.Params.AuthTokens), Forward: m.Forward,
		}})
	}
	for i, r := range requests {
		if !c.hand(r, messages[i]) {
			return
		}
	}
	for {
		typ, body, err := in.next()
		if err != nil {
			for _, r := range requests {
				passEnd(r.stream, err)
			}
			return
		}
		m, err := wire.ParseMessage16(typ, body)
		switch {
		case m == nil:
			c.s.failWire(err)
			return
		case typ != wire.MsgRequestUpdate:
			c.s.violation(typ.String() + " has no place here on the stream of a SUBSCRIBE_NAMESPACE")
			return
		}
		c.updateFromPeer(m)
	}
}

// namespacesFromPeer passes on what the peer says to a SUBSCRIBE_NAMESPACE of the session.
func (c *conn16) namespacesFromPeer(r *request16) {
	in := c.newReader(r.own, nil)
	defer in.close()
	for {
		typ, body, err := in.next()
		if err != nil {
			passEnd(r.stream, err)
			return
		}
		m, err := wire.ParseMessage16(typ, body)
		if m == nil {
			c.s.failWire(err)
			return
		}
		switch typ {
		case wire.MsgRequestOK, wire.MsgRequestError, wire.MsgNamespace, wire.MsgNamespaceDone:
		default:
			c.s.violation(typ.String() + " has no place here on the stream of a SUBSCRIBE_NAMESPACE")
			return
		}
		c.mu.Lock()
		r.answered = true
		c.mu.Unlock()
		if !c.toSession(r.stream, m.Message) {
			return
		}
	}
}

// passEnd ends a stream of the session the way that of the peer has ended.
func passEnd(stream Stream, err error) {
	var se *StreamError
	switch {
	case err == io.EOF:
		stream.Close()
	case errors.As(err, &se):
		stream.Reset(uint64(wire.StreamCodeFrom16(se.Code)))
		stream.Stop(uint64(wire.StreamCodeFrom16(se.Code)))
	default:
		stream.Reset(uint64(wire.StreamCancelled))
	}
}

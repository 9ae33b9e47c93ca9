package moqt

import (
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

// wasUsed reports whether a request of either side had the id. c.mu is held.
func (c *conn16) wasUsed(id uint64) bool {
	if id&1 == c.next&1 {
		return id < c.next
	}
	return c.seen.wasUsed(id)
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

// cancel returns the message with which draft-16 ends a request early; nil if there is none.
func (r *request16) cancel(answered bool, code wire.StreamCode) *wire.Message16 {
	refuse := func(code wire.RequestCode) *wire.Message16 {
		return &wire.Message16{Type: wire.MsgRequestError, RequestID: r.id, Message: &wire.RequestError{Code: code}}
	}
	// "If the publisher is unable to set Stream Count to the exact number of streams opened for the subscription, it MUST set Stream
	// Count to 2^62 - 1."
	// [MOQT-16] Section 9.15, PUBLISH_DONE
	done := &wire.PublishDone{Status: doneFor(code), StreamCount: wire.StreamCountUnknown}
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

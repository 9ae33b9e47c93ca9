package moqt

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/priority"
)

// Publication is the sending side of a subscription. All methods may be called from several goroutines.
type Publication struct {
	// Fixed from the beginning.
	s     *Session
	h     *handle
	track wire.FullTrackName

	// Fixed when the subscription is established.
	alias    uint64
	props    wire.TrackProperties
	largest  func() (wire.Location, bool)
	defaults wire.Params // what holds where PUBLISH_OK says nothing; see IncomingSubscribeTracks

	mu          sync.Mutex // guards what follows; Session.mu and that of priorities may be taken with it held
	state       PublicationState
	params      wire.Params // what the subscriber has asked for, all in all
	changed     signal
	joining     wire.Opt[wire.Location]
	established bool
	settled     signal // established was set, or the publication has ended
	writers     map[*SubgroupWriter]struct{}
	streams     uint64 // opened so far
	closing     bool   // nothing new is sent
}

// PublicationState is what the subscriber wants at the moment.
type PublicationState struct {
	Forward    bool
	Priority   uint8 // the subscriber's; lower is more urgent
	GroupOrder wire.GroupOrder

	// Filter is what the subscriber asked for; absent: everything. Start and EndGroup are what it means: objects from
	// Start on, up to the end of the group EndGroup (2^64-1: no end). Relative filters were resolved when the subscriber
	// asked.
	Filter   wire.Opt[wire.Filter]
	Start    wire.Location
	EndGroup uint64

	// The delivery timeouts, the smaller one of what publisher and subscriber want. 0: none.
	ObjectTimeout, SubgroupTimeout time.Duration

	// NewGroup is the last NEW_GROUP_REQUEST of the subscriber: the largest group it knows plus 1, or 0.
	// It is never present if the track does not have DYNAMIC_GROUPS. NewGroups is how many there were so far: it tells a
	// new one from another change.
	NewGroup  wire.Opt[uint64]
	NewGroups uint64
}

func (s *Session) newPublication(h *handle, track wire.FullTrackName) *Publication {
	return &Publication{s: s, h: h, track: track, writers: make(map[*SubgroupWriter]struct{})}
}

// Track returns the name of the track.
func (p *Publication) Track() wire.FullTrackName { return p.track }

// Alias returns the track alias.
func (p *Publication) Alias() uint64 { return p.alias }

// State returns what the subscriber wants now.
func (p *Publication) State() PublicationState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

// Changed returns a channel that is closed at the next change of State. Get it before State, so that no change is missed.
func (p *Publication) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed.wait()
}

// Context ends when the subscriber has left, after Done, and with the session.
func (p *Publication) Context() context.Context { return p.h.ctx }

// JoiningLocation returns the largest object when the subscriber last began to get objects.
//
// "A publisher MUST save the Largest Location communicated in SUBSCRIBE_OK, PUBLISH or REQUEST_UPDATE_OK that changes the
// Forward State from 0 to 1. This value is called the Joining Location and can be used in a Joining FETCH ..."
// [MOQT-18] Section 5.1, Subscriptions
func (p *Publication) JoiningLocation() (wire.Location, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.joining.Get()
}

// GoAway asks the peer to make the subscription anew elsewhere (empty: on this session). After timeout, if it is not 0, it ends here.
func (p *Publication) GoAway(uri string, timeout time.Duration) error {
	return p.h.sendGoAway(uri, timeout)
}

// GoingAway is closed when the subscriber wants this subscription to move elsewhere.
func (p *Publication) GoingAway() <-chan struct{} { return p.h.goingAwayChan() }

// PeerGoAway returns where this subscription should move, once GoingAway is closed.
func (p *Publication) PeerGoAway() (GoAway, bool) { return p.h.peerGoAway() }

// largestNow asks for the largest object.
func (p *Publication) largestNow() wire.Opt[wire.Location] {
	if p.largest != nil {
		if l, ok := p.largest(); ok {
			return wire.Some(l)
		}
	}
	return wire.Opt[wire.Location]{}
}

// errPast refuses a filter for a range that has passed.
//
// "If the publisher cannot satisfy the requested Subscription Filter ... or if the entire End Group has already been
// published it SHOULD send a REQUEST_ERROR with code INVALID_RANGE."
// [MOQT-18] Section 5.1.2, Subscription Filters
//
// Whether the group of the largest object is complete is not known here, so it counts as to come.
var errPast = &RequestError{Code: wire.RequestInvalidRange, Reason: "all of the range was published before", Local: true}

// settle makes the state from the parameters of the subscriber, of which params are new, and the largest object. It
// returns an error, and changes nothing, if the range has passed. p.mu is held.
func (p *Publication) settle(params *wire.Params, largest wire.Opt[wire.Location]) *RequestError {
	if f, ok := params.Filter.Get(); ok {
		start, end := f.Range(largest)
		if l, ok := largest.Get(); ok && end < l.Group {
			return errPast
		}
		p.state.Filter, p.state.Start, p.state.EndGroup = params.Filter, start, end
	}
	forward := p.state.Forward
	p.state.Forward = params.Forward.Or(forward)
	if p.state.Forward && !forward {
		p.joining = largest
	}
	p.state.Priority = params.SubscriberPriority.Or(p.state.Priority)
	p.state.GroupOrder = params.GroupOrder.Or(p.state.GroupOrder)
	merge(&p.params.ObjectDeliveryTimeout, params.ObjectDeliveryTimeout)
	merge(&p.params.SubgroupDeliveryTimeout, params.SubgroupDeliveryTimeout)
	p.state.ObjectTimeout = shorter(p.props.ObjectDeliveryTimeout, p.params.ObjectDeliveryTimeout)
	p.state.SubgroupTimeout = shorter(p.props.SubgroupDeliveryTimeout, p.params.SubgroupDeliveryTimeout)
	// "If the original publisher does not support dynamic Groups, it ignores the parameter in that case."
	// [MOQT-18] Section 10.2.13, NEW GROUP REQUEST Parameter
	// That is said of SUBSCRIBE. Elsewhere it must not be sent then, with no code for who does; it is ignored there, too.
	if p.props.DynamicGroups.Or(false) && params.NewGroupRequest.IsSet() {
		p.state.NewGroup = params.NewGroupRequest
		p.state.NewGroups++
	}
	return nil
}

// initialState is the state before the subscriber's parameters are looked at.
func (p *Publication) initialState(forward bool) {
	p.state = PublicationState{
		Forward:    forward,
		Priority:   wire.DefaultSubscriberPriority,
		GroupOrder: p.props.GroupOrder(),
		EndGroup:   noEndGroup,
	}
}

// noEndGroup is the end of a filter that has none.
const noEndGroup = 1<<64 - 1

func merge[T any](dst *wire.Opt[T], src wire.Opt[T]) {
	if src.IsSet() {
		*dst = src
	}
}

// shorter returns the smaller one of two timeouts that are not 0.
//
// "For each type of timeout, if both the publisher and the subscriber have a non-zero value, the smaller of the two is
// used."
// [MOQT-18] Section 8, Delivery Timeouts and Data Reliability
func shorter(a, b wire.Opt[wire.Millis]) time.Duration {
	x, y := a.Or(0), b.Or(0)
	if x == 0 || y != 0 && y < x {
		x = y
	}
	return x.Duration()
}

// setEstablished lets objects flow. p.mu is held.
func (p *Publication) setEstablished() {
	p.established = true
	p.settled.fire()
}

// update implements role.
func (p *Publication) update(m *wire.RequestUpdate) error {
	largest := p.largestNow()
	p.mu.Lock()
	var refused *RequestError
	if m.Params.RangeFilter {
		refused = errRangeFilter
	} else {
		refused = p.settle(&m.Params, largest)
	}
	if refused == nil {
		for w := range p.writers {
			w.rank(p.state)
		}
	}
	p.mu.Unlock()
	if refused != nil {
		// "When a REQUEST_UPDATE is unsuccessful, the publisher MUST also terminate the subscription by sending a
		// PUBLISH_DONE with error code UPDATE_FAILED."
		// [MOQT-18] Section 10.9.1, Updating Subscriptions
		p.h.send(refused.wire())
		return p.done(wire.DoneUpdateFailed, refused.Reason)
	}
	ok := &wire.RequestOK{}
	if !p.s.omitsLargest() {
		ok.Params.LargestObject = largest
	}
	if err := p.h.send(ok); err != nil {
		return nil // the request has ended, and its context tells
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed.fire()
	return nil
}

// message implements role.
func (p *Publication) message(m wire.Message) error { return unexpected(m) }

// readEnd implements role. A FIN only means that the subscriber will not change anything.
func (p *Publication) readEnd(err error) {
	var se *StreamError
	switch {
	case errors.As(err, &se):
		p.h.abort(wire.StreamCancelled, se)
	case p.h.local && p.h.awaitsAnswer(), err == ErrCancelled:
		p.h.abort(wire.StreamCancelled, ErrCancelled)
	}
}

// end implements role.
//
// "The Publisher can destroy subscription state as soon as it has received STOP_SENDING. It MUST reset any open streams
// associated with the SUBSCRIBE."
// [MOQT-18] Section 5.1.1, Subscription State Management
func (p *Publication) end() {
	p.s.removePublication(p)
	p.stopSending()
	p.s.datagrams.drop(p)
}

// stopSending resets what is open and lets nothing new begin.
func (p *Publication) stopSending() {
	p.mu.Lock()
	p.closing = true
	p.settled.fire()
	writers := make([]*SubgroupWriter, 0, len(p.writers))
	for w := range p.writers {
		writers = append(writers, w)
	}
	p.mu.Unlock()
	for _, w := range writers {
		w.Reset(wire.StreamCancelled)
	}
}

// Done ends the subscription. Streams that are still open are reset with [wire.StreamCancelled], so close them before. It
// waits until the datagrams of the publication have left the queue, which takes [Config].DatagramExpiry at most.
func (p *Publication) Done(code wire.DoneCode, reason string) error {
	if p.h.ctx.Err() != nil {
		return p.h.cause()
	}
	return p.done(code, reason)
}

// done sends PUBLISH_DONE.
//
// "A sender MUST NOT send PUBLISH_DONE until it has closed all streams it will ever open, and has no further datagrams to
// send, for a subscription. ... A sender SHOULD send FIN on the subscription's bidi stream immediately after sending
// PUBLISH_DONE."
// [MOQT-18] Section 10.11, PUBLISH_DONE
func (p *Publication) done(code wire.DoneCode, reason string) error {
	p.stopSending()
	p.s.datagrams.flush(p)
	p.mu.Lock()
	streams := p.streams
	p.mu.Unlock()
	err := p.h.sendLast(&wire.PublishDone{Status: code, StreamCount: streams, Reason: reason})
	p.h.end(ErrClosed)
	return err
}

// key returns the place of a stream or datagram among those of the session.
func (p *Publication) key(state *PublicationState, publisher uint8, group, subgroup uint64) priority.Key {
	return priority.Key{
		Subscriber: state.Priority,
		Publisher:  publisher,
		Request:    p.alias,
		Descending: state.GroupOrder == wire.GroupOrderDescending,
		Group:      group,
		Subgroup:   subgroup,
	}
}

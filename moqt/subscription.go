package moqt

import (
	"context"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// SubscribeRequest is what [Session.Subscribe] asks for.
type SubscribeRequest struct {
	Track  wire.FullTrackName
	Params wire.Params // what a SUBSCRIBE may hold; the zero value: all new objects
}

// SubscriptionInfo is what the publisher said about a subscription.
type SubscriptionInfo struct {
	Largest    wire.Opt[wire.Location] // the largest object when the subscription began
	Expires    time.Duration           // when the publisher will end it; 0: not said
	Properties wire.Properties         // of the track

	// What Properties say, with the draft's defaults.
	Priority                       uint8 // of objects that do not have their own
	GroupOrder                     wire.GroupOrder
	ObjectTimeout, SubgroupTimeout time.Duration // 0: none
	MaxCacheDuration               wire.Opt[time.Duration]
	DynamicGroups                  bool
}

// Subscription is the receiving side of a subscription. All methods may be called from several goroutines.
type Subscription struct {
	// Fixed from the beginning.
	s        *Session
	track    wire.FullTrackName
	ctx      context.Context
	cancel   context.CancelCauseFunc
	h        *handle
	answered chan struct{} // closed when our SUBSCRIBE is answered with yes

	mu        sync.Mutex // guards what follows; no other lock is taken with it held
	alias     uint64
	bound     bool // alias stands for it
	info      SubscriptionInfo
	timeout   time.Duration // the longest delivery timeout this side has asked for
	subgroups queue[queuedSubgroup]
	datagrams queue[queuedDatagram]
	seq       uint64
	changed   signal
	readers   map[*SubgroupReader]struct{} // handed out or queued, and not at their end
	received  uint64                       // streams
	done      *DoneError                   // PUBLISH_DONE was there
	announced uint64                       // streams, by PUBLISH_DONE
	doneTimer *time.Timer
	err       error // why nothing more is added
}

func (s *Session) newSubscription(track wire.FullTrackName) *Subscription {
	sub := &Subscription{s: s, track: track, answered: make(chan struct{}), readers: make(map[*SubgroupReader]struct{})}
	sub.ctx, sub.cancel = context.WithCancelCause(s.ctx)
	return sub
}

// Subscribe asks for a track. It waits for the answer: if it is no, the error is a [*RequestError].
func (s *Session) Subscribe(ctx context.Context, req SubscribeRequest) (*Subscription, error) {
	sub := s.newSubscription(req.Track)
	sub.timeout = longestTimeout(&req.Params)
	if err := s.addSubscription(sub); err != nil {
		return nil, err
	}
	h, err := s.openRequest(ctx, sub, func(id uint64) wire.Message {
		return &wire.Subscribe{RequestID: id, Track: req.Track, Params: req.Params}
	}, sub.setHandle)
	if err != nil {
		sub.over(err, true)
		return nil, err
	}
	select {
	case <-sub.answered:
		return sub, nil
	case <-sub.ctx.Done():
		err := context.Cause(sub.ctx)
		h.abort(wire.StreamCancelled, err)
		return nil, err
	case <-ctx.Done():
		sub.Close()
		return nil, ctx.Err()
	}
}

func (sub *Subscription) setHandle(h *handle) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.h = h
}

// longestTimeout returns the longest delivery timeout in params; 0 if there is none.
func longestTimeout(p *wire.Params) time.Duration {
	return max(p.ObjectDeliveryTimeout.Or(0), p.SubgroupDeliveryTimeout.Or(0)).Duration()
}

// Track returns the name of the track.
func (sub *Subscription) Track() wire.FullTrackName { return sub.track }

// Info returns what the publisher said.
func (sub *Subscription) Info() SubscriptionInfo {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return sub.info
}

// Update changes the subscription: params may hold what a REQUEST_UPDATE of a subscription may hold, and what is absent
// stays as it is. It waits for the answer, and returns LARGEST_OBJECT if the answer has it. A refusal ends the subscription.
func (sub *Subscription) Update(ctx context.Context, params wire.Params) (wire.Opt[wire.Location], error) {
	ok, err := sub.h.sendUpdate(ctx, params, func(*wire.RequestOK) {
		sub.mu.Lock()
		defer sub.mu.Unlock()
		sub.timeout = max(sub.timeout, longestTimeout(&params))
	})
	if err != nil {
		return wire.Opt[wire.Location]{}, err
	}
	return ok.Params.LargestObject, nil
}

// Close ends the subscription. Its streams are stopped.
func (sub *Subscription) Close() { sub.Cancel(wire.StreamCancelled) }

// Cancel is Close with a code for the peer, such as [wire.StreamMalformedTrack].
func (sub *Subscription) Cancel(code wire.StreamCode) {
	sub.over(ErrClosed, true)
	sub.h.abort(code, ErrClosed)
}

// Context ends with the subscription. Its cause is the error that Next returns.
func (sub *Subscription) Context() context.Context { return sub.ctx }

// GoAway asks the peer to make the subscription anew elsewhere (empty: on this session). After timeout, if it is not 0, it ends here.
func (sub *Subscription) GoAway(uri string, timeout time.Duration) error {
	return sub.h.sendGoAway(uri, timeout)
}

// GoingAway is closed when the publisher wants this subscription to move elsewhere.
func (sub *Subscription) GoingAway() <-chan struct{} { return sub.h.goingAwayChan() }

// PeerGoAway returns where this subscription should move, once GoingAway is closed.
func (sub *Subscription) PeerGoAway() (GoAway, bool) { return sub.h.peerGoAway() }

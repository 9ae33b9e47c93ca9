package moqt

import (
	"context"
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
	ObjectTimeout, SubgroupTimeout time.Duration
	MaxCacheDuration               wire.Opt[time.Duration]
	DynamicGroups                  bool
}

// Subscription is the receiving side of a subscription.
type Subscription struct{}

// Incoming is what a subscription yields: a subgroup or a datagram.
type Incoming struct {
	Subgroup *SubgroupReader
	Datagram *Datagram
}

// Track returns the name of the track.
func (s *Subscription) Track() wire.FullTrackName { panic("not written") }

// Info returns what the publisher said.
func (s *Subscription) Info() SubscriptionInfo { panic("not written") }

// Next waits for the next subgroup or datagram. What waits too long for it to be called is dropped, oldest first, and
// counted. After the publisher's PUBLISH_DONE, when all has arrived or [Config].DoneTimeout has passed, it returns a
// [*DoneError]; after a reset of the request a [*StreamError].
func (s *Subscription) Next(ctx context.Context) (Incoming, error) { panic("not written") }

// Update changes the subscription: params may hold what a REQUEST_UPDATE of a subscription may hold, and what is absent
// stays as it is. It waits for the answer, and returns LARGEST_OBJECT if the answer has it. A refusal ends the subscription.
func (s *Subscription) Update(ctx context.Context, params wire.Params) (wire.Opt[wire.Location], error) {
	panic("not written")
}

// Close ends the subscription. Its streams are stopped.
func (s *Subscription) Close() { panic("not written") }

// Context ends with the subscription. Its cause is the error that Next returns.
func (s *Subscription) Context() context.Context { panic("not written") }

// GoingAway is closed when the publisher wants this subscription to move elsewhere.
func (s *Subscription) GoingAway() <-chan struct{} { panic("not written") }

// PeerGoAway returns where this subscription should move, once GoingAway is closed.
func (s *Subscription) PeerGoAway() (GoAway, bool) { panic("not written") }

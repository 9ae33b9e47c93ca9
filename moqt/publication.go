package moqt

import (
	"context"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// PublishRequest is what [Session.Publish] offers.
type PublishRequest struct {
	Track      wire.FullTrackName
	Properties wire.Properties // of the track
	Paused     bool            // begin in Forward State 0
	Expires    time.Duration   // when this side will end it; 0: not said
	Tokens     []wire.Token

	// Largest returns the location of the largest object so far. It is called now and whenever the subscriber has to
	// know; it must not block. Nil: there are no objects.
	Largest func() (wire.Location, bool)
}

// IncomingPublish is an offer of the peer to send a track.
type IncomingPublish struct {
	Track      wire.FullTrackName
	Properties wire.Properties // of the track
	Params     wire.Params     // LargestObject, Forward, Expires, AuthTokens
}

// Context implements [Request].
func (r *IncomingPublish) Context() context.Context { panic("not written") }

// Accept takes the offer. Params may hold what a PUBLISH_OK may hold; without Forward it is 1.
// If this side's own SUBSCRIBE of the track waits for its answer, it ends with [ErrSuperseded].
func (r *IncomingPublish) Accept(params wire.Params) (*Subscription, error) { panic("not written") }

// Reject implements [Request].
func (r *IncomingPublish) Reject(err *RequestError) error { panic("not written") }

func (r *IncomingPublish) isRequest() {}

// IncomingSubscribe is the peer's wish to get a track.
type IncomingSubscribe struct {
	Track  wire.FullTrackName
	Params wire.Params // what a SUBSCRIBE may hold
}

// Context implements [Request].
func (r *IncomingSubscribe) Context() context.Context { panic("not written") }

// AcceptSubscribe is the answer to a SUBSCRIBE.
type AcceptSubscribe struct {
	// Largest returns the location of the largest object so far. It is called now and whenever the subscriber has to
	// know; it must not block. Nil: there are no objects.
	Largest func() (wire.Location, bool)

	Properties wire.Properties // of the track
	Expires    time.Duration   // when this side will end the subscription; 0: not said
}

// Accept answers with SUBSCRIBE_OK. If all that the filter asks for lies in the past, it answers with INVALID_RANGE instead
// and returns that error.
func (r *IncomingSubscribe) Accept(ok AcceptSubscribe) (*Publication, error) { panic("not written") }

// Reject implements [Request].
func (r *IncomingSubscribe) Reject(err *RequestError) error { panic("not written") }

func (r *IncomingSubscribe) isRequest() {}

// Publication is the sending side of a subscription. It is not safe to call Done while another goroutine opens subgroups;
// otherwise all methods may be called from several goroutines.
type Publication struct{}

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
	// It is never present if the track does not have DYNAMIC_GROUPS.
	NewGroup wire.Opt[uint64]
}

// Track returns the name of the track.
func (p *Publication) Track() wire.FullTrackName { panic("not written") }

// Alias returns the track alias.
func (p *Publication) Alias() uint64 { panic("not written") }

// State returns what the subscriber wants now.
func (p *Publication) State() PublicationState { panic("not written") }

// Changed returns a channel that is closed at the next change of State. Get it before State, so that no change is missed.
func (p *Publication) Changed() <-chan struct{} { panic("not written") }

// Context ends when the subscriber has left, after Done, and with the session.
func (p *Publication) Context() context.Context { panic("not written") }

// Largest returns the Joining Location, the largest object when the subscriber last began to get objects.
func (p *Publication) JoiningLocation() (wire.Location, bool) { panic("not written") }

// OpenSubgroup opens a stream for objects of a subgroup. It blocks while the peer allows no more streams. It fails with
// [ErrNotForwarding] in Forward State 0.
func (p *Publication) OpenSubgroup(ctx context.Context, h SubgroupHeader) (*SubgroupWriter, error) {
	panic("not written")
}

// SendDatagram sends an object as datagram. It never blocks: the datagram waits in the session's queue, from which it may be
// dropped. It fails with a [*DatagramTooLargeError] if the datagram cannot fit, as far as that is known, and with
// [ErrNotForwarding] in Forward State 0.
func (p *Publication) SendDatagram(d Datagram) error { panic("not written") }

// Done ends the subscription. Streams that are still open are reset with [wire.StreamCancelled], so close them before. It waits until
// the datagrams of the publication have left the queue, which takes [Config].DatagramExpiry at most.
func (p *Publication) Done(code wire.DoneCode, reason string) error { panic("not written") }

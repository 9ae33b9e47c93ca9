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

// Publish offers a track. It waits for the answer: if it is no, the error is a [*RequestError].
func (s *Session) Publish(ctx context.Context, req PublishRequest) (*Publication, error) {
	return s.publish(ctx, req, 0, &wire.Params{})
}

// publish is Publish with a limit to how long a stream may take to be free, as in openRequestWithin. What the subscriber does not
// say is as in defaults.
func (s *Session) publish(ctx context.Context, req PublishRequest, wait time.Duration, defaults *wire.Params) (*Publication, error) {
	props, err := req.Properties.Track(s.version)
	if err != nil {
		return nil, err
	}
	if s.publishes(req.Track) {
		return nil, errDuplicate(true)
	}
	p := s.newPublication(nil, req.Track)
	p.props, p.largest = props, req.Largest
	p.alias = s.takeAlias()
	largest := p.largestNow()
	p.initialState(!req.Paused)
	if !req.Paused {
		p.joining = largest
	}
	m := &wire.Publish{
		Track:      req.Track,
		TrackAlias: p.alias,
		Params:     wire.Params{AuthTokens: req.Tokens, Expires: someMillis(req.Expires), LargestObject: largest},
		Properties: req.Properties,
	}
	if req.Paused {
		m.Params.Forward = wire.Some(false)
	}
	if s.version >= wire.Draft19 {
		// "... PUBLISH messages resulting from this SUBSCRIBE_TRACKS will include the GROUP_ORDER parameter with the same value."
		// [MOQT-19] Section 10.19, SUBSCRIBE_TRACKS
		m.Params.GroupOrder = defaults.GroupOrder
		p.defaults = *defaults
	}
	duplicate := false // two that asked at the same time
	h, err := s.openRequestWithin(ctx, wait, p, func(id uint64) wire.Message {
		m.RequestID = id
		return m
	}, func(h *handle) {
		p.h = h
		duplicate = s.addPublication(p) != nil
	})
	if err != nil {
		return nil, err
	}
	if duplicate {
		err := errDuplicate(true)
		h.abort(wire.StreamCancelled, err)
		return nil, err
	}
	for {
		p.mu.Lock()
		established := p.established
		settled := p.settled.wait()
		p.mu.Unlock()
		if established {
			return p, nil
		}
		select {
		case <-settled:
		case <-h.ctx.Done():
			return nil, h.cause()
		case <-ctx.Done():
			h.abort(wire.StreamCancelled, ErrClosed)
			return nil, ctx.Err()
		}
	}
}

// published takes over what the subscriber's PUBLISH_OK says. If it starts a publication that was offered paused, the Joining
// Location is what is largest now: that is where the objects begin, so that is what a joining FETCH must end with.
//
// "If omitted from SUBSCRIBE or PUBLISH_OK, the subscription is unfiltered."
// [MOQT-18] Section 10.2.9, SUBSCRIPTION FILTER Parameter
//
// "If the parameter is omitted from any other message, the default value is 1."
// [MOQT-18] Section 10.2.12, FORWARD Parameter
func (p *Publication) published(params *wire.Params) {
	params.Forward = wire.Some(params.Forward.Or(wire.DefaultForward))
	fill(&params.ObjectDeliveryTimeout, p.defaults.ObjectDeliveryTimeout)
	fill(&params.SubgroupDeliveryTimeout, p.defaults.SubgroupDeliveryTimeout)
	fill(&params.SubscriberPriority, p.defaults.SubscriberPriority)
	fill(&params.Filter, p.defaults.Filter)
	fill(&params.GroupOrder, p.defaults.GroupOrder)
	fill(&params.NewGroupRequest, p.defaults.NewGroupRequest)
	largest := p.largestNow()
	p.mu.Lock()
	refused := p.settle(params, largest)
	p.setEstablished()
	p.mu.Unlock()
	p.h.setStopRule(stopAtOnce)
	if refused != nil {
		p.done(wire.DoneSubscriptionEnded, refused.Reason)
	}
}

// fill sets dst if it is absent.
func fill[T any](dst *wire.Opt[T], def wire.Opt[T]) {
	if !dst.IsSet() {
		*dst = def
	}
}

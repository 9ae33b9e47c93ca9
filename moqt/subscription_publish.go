package moqt

import (
	"context"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// IncomingPublish is an offer of the peer to send a track.
type IncomingPublish struct {
	Track      wire.FullTrackName
	Properties wire.Properties // of the track
	Params     wire.Params     // LargestObject, Forward, Expires, AuthTokens

	sub *Subscription
}

// beginPublish takes a PUBLISH. Objects may follow at once, so its alias is known from now on.
func (s *Session) beginPublish(h *handle, m *wire.Publish) error {
	sub := s.newSubscription(m.Track)
	sub.setHandle(h)
	refuse := func(err *RequestError) error {
		// "... and abandon reading any publisher initiated streams associated with that subscription using a STOP_SENDING
		// frame." [MOQT-18] Section 10.10, PUBLISH
		s.retireAlias(m.TrackAlias)
		sub.cancel(err)
		h.refuse(err)
		return nil
	}
	if refused := sub.setInfo(&m.Params, m.Properties); refused != nil {
		return refuse(refused)
	}
	if !h.retryFor(func() *handle { return s.addOffer(sub) }) {
		if s.severalPerTrack() { // and there is no code for a second one
			return refuse(&RequestError{Code: wire.RequestUninterested, Reason: errDuplicate(false).Reason})
		}
		return refuse(errDuplicate(false))
	}
	if err := sub.bind(m.TrackAlias); err != nil {
		return err
	}
	h.setRole(sub)
	s.offer(&IncomingPublish{Track: m.Track, Properties: m.Properties, Params: m.Params, sub: sub})
	return nil
}

// Context implements [Request].
func (r *IncomingPublish) Context() context.Context { return r.sub.h.ctx }

// Accept takes the offer. Params may hold what a PUBLISH_OK may hold; without Forward it is 1.
// If this side's own SUBSCRIBE of the track waits for its answer, it ends with [ErrSuperseded].
func (r *IncomingPublish) Accept(params wire.Params) (*Subscription, error) {
	sub := r.sub
	ok := &wire.RequestOK{Params: params}
	if err := ok.Check(wire.MsgPublish, r.sub.s.version); err != nil {
		return nil, err
	}
	if _, err := wire.AppendMessage(nil, ok, sub.s.version); err != nil {
		return nil, err
	}
	old, taken := sub.s.takeOffer(sub)
	if !taken {
		if sub.h.ctx.Err() != nil {
			return nil, sub.h.cause()
		}
		if !sub.h.awaitsAnswer() {
			return nil, ErrAnswered
		}
		err := errDuplicate(true)
		sub.h.reject(err)
		return nil, err
	}
	if old != nil {
		old.supersede()
	}
	sub.mu.Lock()
	sub.timeout = longestTimeout(&params)
	sub.mu.Unlock()
	if err := sub.h.accept(ok); err != nil {
		sub.over(err, true)
		sub.h.abort(wire.StreamInternalError, err)
		return nil, err
	}
	return sub, nil
}

// Reject implements [Request].
func (r *IncomingPublish) Reject(err *RequestError) error {
	e := r.sub.h.reject(err)
	if e != ErrAnswered {
		r.sub.over(ErrClosed, true)
	}
	return e
}

func (r *IncomingPublish) isRequest() {}

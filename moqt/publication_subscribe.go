package moqt

import (
	"context"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// IncomingSubscribe is the peer's wish to get a track.
type IncomingSubscribe struct {
	Track  wire.FullTrackName
	Params wire.Params // what a SUBSCRIBE may hold

	p *Publication
}

// AcceptSubscribe is the answer to a SUBSCRIBE.
type AcceptSubscribe struct {
	// Largest returns the location of the largest object so far. It is called now and whenever the subscriber has to
	// know; it must not block. Nil: there are no objects.
	Largest func() (wire.Location, bool)

	Properties wire.Properties // of the track
	Expires    time.Duration   // when this side will end the subscription; 0: not said
}

// beginSubscribe takes a SUBSCRIBE.
func (s *Session) beginSubscribe(h *handle, m *wire.Subscribe) {
	p := s.newPublication(h, m.Track)
	if !h.retryFor(func() *handle { return s.addPublication(p) }) {
		h.refuse(errDuplicate(false))
		return
	}
	h.setRole(p)
	h.setStopRule(stopAtOnce)
	s.offer(&IncomingSubscribe{Track: m.Track, Params: m.Params, p: p})
}

// Context implements [Request].
func (r *IncomingSubscribe) Context() context.Context { return r.p.h.ctx }

// Accept answers with SUBSCRIBE_OK. If all that the filter asks for lies in the past, it answers with INVALID_RANGE instead
// and returns that error.
func (r *IncomingSubscribe) Accept(ok AcceptSubscribe) (*Publication, error) {
	p := r.p
	props, err := ok.Properties.Track(p.s.version)
	if err != nil {
		return nil, err
	}
	if err := p.h.claimAnswer(); err != nil {
		return nil, err
	}
	defer p.h.answerSent()
	p.largest = ok.Largest
	p.props = props
	p.alias = p.s.takeAlias()
	largest := p.largestNow()
	m := &wire.SubscribeOK{
		TrackAlias: p.alias,
		Params:     wire.Params{Expires: someMillis(ok.Expires)},
		Properties: ok.Properties,
	}
	if !p.s.omitsLargest() {
		m.Params.LargestObject = largest
	}
	params := r.Params
	params.Forward = wire.Some(params.Forward.Or(wire.DefaultForward))
	p.mu.Lock()
	p.initialState(false)
	refused := p.settle(&params, largest)
	p.mu.Unlock()
	if refused != nil {
		p.h.sendLast(refused.wire())
		p.h.end(refused)
		return nil, refused
	}
	if err := p.h.send(m); err != nil {
		p.h.abort(wire.StreamInternalError, err)
		return nil, err
	}
	p.mu.Lock()
	p.setEstablished()
	p.mu.Unlock()
	return p, nil
}

// Reject implements [Request].
func (r *IncomingSubscribe) Reject(err *RequestError) error { return r.p.h.reject(err) }

func (r *IncomingSubscribe) isRequest() {}

// answer implements role, for a PUBLISH of this side; see publication_publish.go.
func (p *Publication) answer(m wire.Message, _ error) error {
	switch m := m.(type) {
	case *wire.RequestError:
		err := requestError(m)
		p.h.sendLast()
		p.h.end(err)
		return nil
	case *wire.RequestOK:
		p.published(&m.Params)
		return nil
	}
	return unexpected(m)
}

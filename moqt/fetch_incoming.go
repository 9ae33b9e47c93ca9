package moqt

import (
	"context"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// IncomingFetch is the peer's wish to get objects of the past.
type IncomingFetch struct {
	Track      wire.FullTrackName
	Start, End wire.Location // as in FetchRequest; of a joining FETCH computed
	Params     wire.Params   // what a FETCH may hold
	Joining    *Publication  // of a joining FETCH: what it joins

	w *FetchWriter
}

// beginFetch takes a FETCH. If it joins a subscription, it waits here until it is known what that means.
func (s *Session) beginFetch(h *handle, m *wire.Fetch) {
	w := s.newFetchWriter(h, m)
	h.setRole(w)
	h.setStopRule(stopAtOnce)
	r := &IncomingFetch{Track: m.Track, Start: m.Start, End: m.End, Params: m.Params, w: w}
	if m.FetchType == wire.FetchStandalone {
		if wire.FetchLast(m.End).Less(m.Start) {
			h.refuse(&RequestError{Code: wire.RequestInvalidRange, Reason: "end is before start"})
			return
		}
		s.offer(r)
		return
	}
	p, refused := s.findJoined(h, m.JoiningRequestID)
	if refused == nil {
		refused = r.join(p, m)
	}
	if refused != nil {
		h.refuse(refused)
		return
	}
	s.offer(r)
}

// Times a joining FETCH waits for what it joins.
const (
	// joinRaceTimeout is for a SUBSCRIBE that was sent before and has not come yet: streams race.
	joinRaceTimeout = 2 * time.Second
	// joinTimeout is for the answer to a SUBSCRIBE.
	joinTimeout = 10 * time.Second
)

// findJoined waits for the subscription that a FETCH joins.
//
// "If a publisher receives a Joining Fetch with a Request ID that does not correspond to a subscription in the same session
// in the Established or Pending (subscriber) states, it MUST return a REQUEST_ERROR with error code
// INVALID_JOINING_REQUEST_ID." "... if that subscription has not yet been established, the Publisher receiving the Joining
// Fetch buffers the pending Joining Fetch until either the Subscription is established or the request times out."
// [MOQT-18] Section 10.12.2, Joining Fetches
//
// A PUBLISH of this side that waits for its answer is treated as the others: the answer may be on its way.
func (s *Session) findJoined(h *handle, id uint64) (*Publication, *RequestError) {
	unknown := &RequestError{Code: wire.RequestInvalidJoiningRequestID, Reason: "no such subscription"}
	var deadline *time.Timer
	for {
		s.mu.Lock()
		p := s.registry.publicationIDs[id]
		_, coming := s.registry.beginning[id]
		coming = id != h.id && coming || id < h.id && id&1 == h.id&1 && !s.seen.wasUsed(id)
		changed := s.registry.joinable.wait()
		s.mu.Unlock()
		var settled <-chan struct{}
		wait := joinRaceTimeout
		switch {
		case p != nil:
			p.mu.Lock()
			established, closing := p.established, p.closing
			settled = p.settled.wait()
			p.mu.Unlock()
			if closing {
				return nil, unknown
			}
			if established {
				return p, nil
			}
			wait = joinTimeout
		case !coming:
			return nil, unknown
		}
		if deadline == nil {
			deadline = time.NewTimer(wait)
			defer deadline.Stop()
		}
		select {
		case <-changed:
		case <-settled:
		case <-h.ctx.Done():
			return nil, unknown
		case <-deadline.C:
			if p != nil {
				return nil, &RequestError{Code: wire.RequestTimeout, Reason: "the subscription to join was not answered in time"}
			}
			return nil, unknown
		}
	}
}

// join computes the range.
//
// "The publisher receiving a Joining Fetch sets the End Location to {Joining Location.Group, Joining Location.Object + 1}
// ... For a Relative Joining Fetch, the publisher sets the Start Location to {Joining Location.Group - Joining Start, 0}. For
// an Absolute Joining Fetch, the publisher sets the Start Location to {Joining Start, 0}."
// [MOQT-18] Section 10.12.2.1, Joining Fetch Range Calculation
//
// What a relative start before the first group means is not said; it is taken for the first group.
func (r *IncomingFetch) join(p *Publication, m *wire.Fetch) *RequestError {
	invalid := func(reason string) *RequestError {
		return &RequestError{Code: wire.RequestInvalidRange, Reason: reason}
	}
	forward := p.State().Forward
	joining, ok := p.JoiningLocation()
	switch {
	case !forward:
		// "A Joining Fetch is only permitted when the associated subscription has Forward State 1; otherwise the publisher
		// MUST respond with a REQUEST_ERROR with error code INVALID_RANGE."
		// [MOQT-18] Section 10.12.2, Joining Fetches
		return invalid("the subscription does not forward")
	case !ok:
		// "If no Objects have been published for the track the publisher MUST respond with a REQUEST_ERROR with error code
		// INVALID_RANGE."
		// [MOQT-18] Section 10.12.2, Joining Fetches
		return invalid("there were no objects when the subscription began")
	}
	r.Joining = p
	r.Track = p.track
	r.End = wire.FetchEnd(joining)
	if m.FetchType == wire.FetchAbsoluteJoining {
		if m.JoiningStart > joining.Group {
			return invalid("start is after the joining location")
		}
		r.Start = wire.Location{Group: m.JoiningStart}
	} else {
		r.Start = wire.Location{Group: joining.Group - min(joining.Group, m.JoiningStart)}
	}
	return nil
}

// Context implements [Request].
func (r *IncomingFetch) Context() context.Context { return r.w.h.ctx }

// Accept answers with FETCH_OK and opens the stream for the objects. It blocks while the peer allows no more streams.
func (r *IncomingFetch) Accept(ok FetchOK) (*FetchWriter, error) {
	m := &wire.FetchOK{End: ok.End, EndOfTrack: ok.EndOfTrack, Properties: ok.Properties}
	if err := m.Check(r.Start); err != nil {
		return nil, err
	}
	w := r.w
	if err := w.h.accept(m); err != nil {
		return nil, err
	}
	err := w.open()
	if err == nil {
		err = w.start()
	}
	if err != nil {
		w.h.abort(wire.StreamInternalError, err)
		return nil, err
	}
	return w, nil
}

// Reject implements [Request].
func (r *IncomingFetch) Reject(err *RequestError) error { return r.w.h.reject(err) }

func (r *IncomingFetch) isRequest() {}

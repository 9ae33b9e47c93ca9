package moqt

import (
	"context"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// TrackStatus is how far a track is.
type TrackStatus struct {
	Largest    wire.Opt[wire.Location] // absent: there are no objects
	Properties wire.Properties
}

// TrackStatus asks how far a track is. If the answer is no, the error is a [*RequestError].
func (s *Session) TrackStatus(ctx context.Context, track wire.FullTrackName, tokens ...wire.Token) (TrackStatus, error) {
	q := &trackQuestion{answered: make(chan struct{})}
	h, err := s.openRequest(ctx, q, func(id uint64) wire.Message {
		return &wire.TrackStatus{RequestID: id, Track: track, Params: wire.Params{AuthTokens: tokens}}
	}, func(h *handle) { q.h = h })
	if err != nil {
		return TrackStatus{}, err
	}
	select {
	case <-q.answered:
		return q.status, nil
	case <-h.ctx.Done():
		select {
		case <-q.answered: // which ended it
			return q.status, nil
		default:
			return TrackStatus{}, h.cause()
		}
	case <-ctx.Done():
		h.abort(wire.StreamCancelled, ErrClosed)
		return TrackStatus{}, ctx.Err()
	}
}

// trackQuestion is a TRACK_STATUS of this side.
type trackQuestion struct {
	noRole
	h        *handle
	status   TrackStatus
	answered chan struct{}
}

func (q *trackQuestion) answer(m wire.Message, malformed error) error {
	switch m := m.(type) {
	case *wire.RequestError:
		err := requestError(m)
		q.h.sendLast()
		q.h.end(err)
		return nil
	case *wire.RequestOK:
		q.h.sendLast()
		if malformed != nil {
			q.h.end(&RequestError{Code: wire.RequestMalformedTrack, Reason: malformed.Error(), Local: true})
			return nil
		}
		q.status = TrackStatus{Largest: m.Params.LargestObject, Properties: m.Properties}
		close(q.answered)
		q.h.end(ErrClosed)
		return nil
	}
	return unexpected(m)
}

func (q *trackQuestion) readEnd(err error) { q.h.abort(wire.StreamCancelled, cancelCause(err)) }

// IncomingTrackStatus is the peer's question how far a track is.
type IncomingTrackStatus struct {
	noRole
	Track  wire.FullTrackName
	Tokens []wire.Token

	h *handle
}

func (s *Session) beginTrackStatus(h *handle, m *wire.TrackStatus) {
	r := &IncomingTrackStatus{Track: m.Track, Tokens: m.Params.AuthTokens, h: h}
	h.setRole(r)
	h.setStopRule(stopAtOnce)
	s.offer(r)
}

// readEnd implements role. A FIN is what a question ends with.
func (r *IncomingTrackStatus) readEnd(err error) { r.h.resetEnds(err) }

// Context implements [Request].
func (r *IncomingTrackStatus) Context() context.Context { return r.h.ctx }

// Accept answers the question.
func (r *IncomingTrackStatus) Accept(status TrackStatus) error {
	ok := &wire.RequestOK{Properties: status.Properties}
	if !r.h.s.omitsLargest() {
		ok.Params.LargestObject = status.Largest
	}
	if err := r.h.claimAnswer(); err != nil {
		return err
	}
	err := r.h.sendLast(ok)
	r.h.end(ErrClosed)
	return err
}

// Reject implements [Request].
func (r *IncomingTrackStatus) Reject(err *RequestError) error { return r.h.reject(err) }

func (r *IncomingTrackStatus) isRequest() {}

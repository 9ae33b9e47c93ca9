package relay

import (
	"context"
	"io"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// Bounds of what a peer can say on a session-level track. What is larger is stopped, what comes sooner is thrown away.
const (
	maxSessionObject      = 16 << 10 // bytes
	minSessionObjectEvery = 250 * time.Millisecond
	sessionObjectTimeout  = 10 * time.Second
)

// A SessionTrackFunc is given the payload of each object that a peer publishes to this relay alone. It is called by many
// goroutines at once and keeps nothing of the payload.
type SessionTrackFunc func(payload []byte)

// sessionTrack takes a PUBLISH of a track that is between the two ends of this session.
//
// "Relays MUST NOT forward requests for session-level tracks and namespaces to other sessions."
// "An endpoint that receives a request for an unrecognized session-level track or namespace MUST reject it with
// REQUEST_ERROR using error code DOES_NOT_EXIST"
// [MOQT-18] Section 3.2.2, Session-Level Tracks and Namespaces
func (s *session) sessionTrack(req *moqt.IncomingPublish) *moqt.RequestError {
	take := s.relay.cfg.SessionTracks[req.Track]
	if take == nil {
		return refuse(wire.RequestDoesNotExist, "no such session-level track")
	}
	sub, err := req.Accept(wire.Params{Forward: wire.Some(true)})
	if err != nil {
		return nil
	}
	defer sub.Close()
	s.accepted(RequestPublish)
	var last time.Time
	for {
		in, err := sub.Next(s.ctx)
		if err != nil {
			return nil
		}
		now := s.relay.cfg.Now()
		if now.Sub(last) < minSessionObjectEvery {
			if in.Subgroup != nil {
				in.Subgroup.Stop(wire.StreamExcessiveLoad)
			}
			continue
		}
		last = now
		if payload, ok := readSessionObject(s.ctx, in); ok {
			take(payload)
		}
	}
}

// readSessionObject reads the first object of a stream, if it is small and comes soon.
func readSessionObject(ctx context.Context, in moqt.Incoming) ([]byte, bool) {
	r := in.Subgroup
	if r == nil {
		return in.Datagram.Payload, true
	}
	defer r.Stop(wire.StreamCancelled)
	defer context.AfterFunc(ctx, func() { r.Stop(wire.StreamCancelled) })()
	r.SetReadDeadline(time.Now().Add(sessionObjectTimeout))
	h, err := r.Next()
	if err != nil || h.PayloadLen > maxSessionObject {
		return nil, false
	}
	payload := make([]byte, h.PayloadLen)
	if _, err := io.ReadFull(r, payload); err != nil {
		return nil, false
	}
	return payload, true
}

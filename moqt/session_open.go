package moqt

import (
	"context"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// openRequest makes a request of this side: it waits until the session is ready and a stream is free, and sends the
// message that build makes. opened, if not nil, is called before anything can come back.
func (s *Session) openRequest(ctx context.Context, r role, build func(id uint64) wire.Message, opened func(*handle)) (*handle, error) {
	// A request that cannot be sent must not use up an id: the peer may wait for each.
	if _, err := wire.AppendMessage(nil, build(0), s.version); err != nil {
		return nil, err
	}
	if err := s.Ready(ctx); err != nil {
		return nil, err
	}
	if _, going := s.PeerGoAway(); going {
		return nil, ErrGoingAway
	}
	stream, err := s.conn.OpenStream(ctx)
	if err != nil {
		if s.ctx.Err() != nil {
			err = context.Cause(s.ctx)
		}
		return nil, err
	}
	stream.SetPriority(urgencyControl)
	h := s.newHandle(stream, true)
	h.setRole(r)
	h.id = s.takeRequestID()
	m := build(h.id)
	h.opener = m.Type()
	if opened != nil {
		opened(h)
	}
	s.mu.Lock()
	s.open++
	s.mu.Unlock()
	if err := h.send(m); err != nil {
		h.abort(wire.StreamCancelled, err)
		return nil, err
	}
	h.watchStop()
	if !s.spawn(h.read) {
		err := context.Cause(s.ctx)
		h.end(err)
		return nil, err
	}
	return h, nil
}

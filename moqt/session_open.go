package moqt

import (
	"context"
	"errors"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// openRequest makes a request of this side: it waits until the session is ready and a stream is free, and sends the
// message that build makes. opened, if not nil, is called before anything can come back.
func (s *Session) openRequest(ctx context.Context, r role, build func(id uint64) wire.Message, opened func(*handle)) (*handle, error) {
	return s.openRequestWithin(ctx, 0, r, build, opened)
}

// errNoStream says that the peer allowed no further stream in time.
var errNoStream = errors.New("moqt: no stream is free")

// openRequestWithin is openRequest with a limit to how long a stream may take to be free; then the error is errNoStream.
// 0 is no limit.
func (s *Session) openRequestWithin(ctx context.Context, wait time.Duration, r role, build func(id uint64) wire.Message, opened func(*handle)) (*handle, error) {
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
	stream, err := s.openStream(ctx, wait)
	if err != nil {
		return nil, err
	}
	stream.SetPriority(urgencyControl)
	h := s.newHandle(stream, true)
	h.setRole(r)
	h.id = s.takeRequestID()
	m := build(h.id)
	h.opener = m.Type()
	h.registers = s.aliasTokens(m)
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

// openStream opens a stream for a request. With a wait other than 0 the error is errNoStream if none is free in that time.
func (s *Session) openStream(ctx context.Context, wait time.Duration) (Stream, error) {
	limited := ctx
	if wait > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
	}
	stream, err := s.conn.OpenStream(limited)
	switch {
	case err == nil:
		return stream, nil
	case s.ctx.Err() != nil:
		return nil, context.Cause(s.ctx)
	case ctx.Err() == nil && limited.Err() != nil:
		return nil, errNoStream
	}
	return nil, err
}

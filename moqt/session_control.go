package moqt

import (
	"context"
	"errors"
	"io"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// urgencyControl is that of control and request streams.
//
// "... the control streams SHOULD be prioritized highest, followed by the bidi request streams and then all subscribed
// Objects."
// [MOQT-18] Section 7.2, Scheduling Algorithm
//
// Urgencies are few, and requests are short, so the two share one.
const urgencyControl = 0

// runControl opens and writes this side's control stream.
func (s *Session) runControl() {
	open := s.conn.OpenUniStream
	if s.adapter != nil {
		open = s.adapter.openControl
	}
	out, err := open(s.ctx)
	if err != nil {
		return // the connection's context tells
	}
	out.SetPriority(urgencyControl)
	setup := &wire.Setup{
		AuthTokens:     s.cfg.Tokens,
		Implementation: wire.Some(s.cfg.Implementation),
	}
	if s.cfg.AuthTokenCache > 0 {
		setup.MaxAuthTokenCacheSize = wire.Some(s.cfg.AuthTokenCache)
	}
	if s.cfg.Grease {
		setup.Other = []wire.Property{{Type: greaseOption, Uint: greaseOption}}
	}
	if !s.server && !s.webTransport {
		if s.cfg.Authority != "" {
			setup.Authority = wire.Some(s.cfg.Authority)
		}
		if s.cfg.Path != "" {
			setup.Path = wire.Some(s.cfg.Path)
		}
	}
	s.logMessage("created", wire.MsgSetup)
	b, err := wire.AppendMessage(nil, setup, s.version)
	if err != nil {
		s.fail(wire.SessionInternalError, err.Error())
		return
	}
	for {
		if _, err := out.Write(b); err != nil {
			s.controlLost(err, "stopped")
			return
		}
		select {
		case b = <-s.goAwayOut:
		case <-s.ctx.Done():
			return
		case <-out.Context().Done():
			_, err := out.Write(nil)
			s.controlLost(err, "stopped")
			return
		}
	}
}

// greaseOption is a Setup Option that means nothing: 0x7f * N + 0x9D with an odd N, so that it carries an integer.
// [MOQT-18] Section 14, Grease
const greaseOption = 0x7f*0x2b + 0x9d

// controlLost ends the session because a control stream has ended.
//
// "A control stream MUST NOT be closed at the underlying transport layer during the session's lifetime. Doing so
// results in the session being closed as a PROTOCOL_VIOLATION."
// [MOQT-18] Section 3.3, Session initialization
func (s *Session) controlLost(err error, how string) {
	var se *StreamError
	if errors.As(err, &se) || errors.Is(err, io.EOF) {
		s.violation("control stream was " + how)
	}
	// Else the connection has ended, and its context tells.
}

// readControl reads the peer's control stream.
func (s *Session) readControl(in ReceiveStream, ahead []byte) {
	s.mu.Lock()
	second := s.control
	s.control = true
	s.mu.Unlock()
	if second {
		s.violation("second control stream")
		return
	}
	r := newMessageReader(s, in, ahead)
	defer r.close()
	for first := true; ; first = false {
		typ, body, err := r.next()
		if err != nil {
			how := "reset"
			if errors.Is(err, io.EOF) {
				how = "closed"
			}
			s.controlLost(err, how)
			return
		}
		if first != (typ == wire.MsgSetup) || typ != wire.MsgSetup && typ != wire.MsgGoAway {
			s.violation(typ.String() + " has no place there on the control stream")
			return
		}
		m, err := wire.ParseMessage(typ, body, s.version)
		if err != nil {
			s.failWire(err)
			return
		}
		s.logMessage("parsed", typ)
		switch m := m.(type) {
		case *wire.Setup:
			err = s.receiveSetup(m)
		case *wire.GoAway:
			err = s.receiveGoAway(m)
		}
		if err != nil {
			return
		}
	}
}

// receiveSetup takes the peer's SETUP; from then on the session is ready.
func (s *Session) receiveSetup(m *wire.Setup) error {
	if err := m.Check(s.server, s.webTransport); err != nil {
		return s.failWire(err)
	}
	info := s.conn.Info()
	peer := Peer{
		Implementation: m.Implementation.Or(""),
		Authority:      m.Authority.Or(info.Authority),
		Path:           m.Path.Or(info.Path),
		AuthTokenCache: m.MaxAuthTokenCacheSize.Or(0),

		MaxRequestUpdates: m.MaxRequestUpdates.Or(0),
	}
	if !s.server {
		peer.Authority, peer.Path = "", ""
	}
	if s.server && s.cfg.CheckPath != nil {
		if err := s.cfg.CheckPath(peer.Authority, peer.Path); err != nil {
			return s.refusePath(err)
		}
	}
	s.mu.Lock()
	var err error
	peer.Tokens, err = s.tokens.setup(m.AuthTokens)
	s.peer = peer
	s.mu.Unlock()
	if err != nil {
		return s.failWire(err)
	}
	close(s.ready)
	s.setupDone()
	return nil
}

// refusePath closes the session because the server does not want it.
func (s *Session) refusePath(err error) error {
	var se *SessionError
	switch {
	case errors.As(err, &se):
		s.end(se)
		return se
	case errors.Is(err, ErrInvalidAuthority):
		return s.fail(wire.SessionInvalidAuthority, err.Error())
	default:
		return s.fail(wire.SessionInvalidPath, err.Error())
	}
}

// isReady reports whether the peer's SETUP is there.
func (s *Session) isReady() bool {
	select {
	case <-s.ready:
		return true
	default:
		return false
	}
}

// waitReady waits for the peer's SETUP or the end of ctx. It reports whether the session is ready.
func (s *Session) waitReady(ctx context.Context) bool {
	return s.Ready(ctx) == nil
}

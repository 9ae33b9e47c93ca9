package moqt

import (
	"errors"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// GoAway is the wish of the peer that a session or one request moves elsewhere.
type GoAway struct {
	URI     string        // where to; empty: to where it was. Untrusted
	Timeout time.Duration // when the peer will end it; 0: not said
}

// GoAway tells the peer to leave, and where to (empty: to where it was; a client cannot tell). From now on the peer's
// requests are refused. After timeout the session closes: with GOAWAY_TIMEOUT if there are still open requests, else with
// NO_ERROR. A timeout of 0 asks the peer to hurry and closes nothing. It can be called once.
func (s *Session) GoAway(uri string, timeout time.Duration) error {
	if !s.server && uri != "" {
		return errClientURI
	}
	if len(uri) > wire.MaxURILen {
		return errors.New("moqt: URI is too long")
	}
	s.mu.Lock()
	again := s.leaving
	s.leaving = true
	// "The smallest peer Request ID that was not or might not have been processed prior to sending the GOAWAY."
	// [MOQT-18] Section 10.4, GOAWAY
	//
	// Requests come in any order. Those with smaller ids that are still to come are refused, and their answers say so;
	// those with larger ids were not seen.
	id := s.seen.smallestUnused()
	s.mu.Unlock()
	if again {
		return errGoAwayTwice
	}
	b, err := wire.AppendMessage(nil, &wire.GoAway{
		NewSessionURI: uri,
		Timeout:       wire.MillisOf(timeout),
		RequestID:     wire.Some(id),
	}, s.version)
	if err != nil {
		return err
	}
	s.goAwayOut <- b // has room for one
	if timeout > 0 {
		s.spawn(func() { s.endAfter(timeout) })
	}
	return nil
}

var (
	errClientURI   = errors.New("moqt: a client cannot tell the server where to go")
	errGoAwayTwice = errors.New("moqt: GoAway was called twice")
)

// endAfter closes the session after d.
//
// "When sent on the control stream, the sender closes the session with GOAWAY_TIMEOUT after the indicated timeout if
// there are still open requests."
// [MOQT-18] Section 10.4, GOAWAY
func (s *Session) endAfter(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-s.ctx.Done():
		return
	case <-t.C:
	}
	s.mu.Lock()
	open := s.open
	s.mu.Unlock()
	if open > 0 {
		s.fail(wire.SessionGoawayTimeout, "requests are still open")
	} else {
		s.Close(wire.SessionNoError, "")
	}
}

// receiveGoAway takes a GOAWAY on the control stream.
func (s *Session) receiveGoAway(m *wire.GoAway) error {
	if err := m.Check(true, s.server, s.version); err != nil {
		return s.failWire(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.goingAway:
		// "The endpoint MUST close the session with a PROTOCOL_VIOLATION ... if it receives more than one GOAWAY on the
		// control stream or on a single request stream."
		// [MOQT-18] Section 10.4, GOAWAY
		return s.endLocked(&SessionError{Code: wire.SessionProtocolViolation, Reason: "second GOAWAY"})
	default:
	}
	s.peerGoAway = GoAway{URI: m.NewSessionURI, Timeout: m.Timeout.Duration()}
	close(s.goingAway)
	return nil
}

// GoingAway is closed when the peer's GOAWAY has arrived.
func (s *Session) GoingAway() <-chan struct{} { return s.goingAway }

// PeerGoAway returns the peer's GOAWAY, once it is there.
func (s *Session) PeerGoAway() (GoAway, bool) {
	select {
	case <-s.goingAway:
	default:
		return GoAway{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peerGoAway, true
}

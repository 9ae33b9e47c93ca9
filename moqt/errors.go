package moqt

import (
	"errors"
	"fmt"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

var (
	// ErrClosed is returned by methods of something this side has closed.
	ErrClosed = errors.New("moqt: closed")

	// ErrGoingAway is returned for new requests after the peer's GOAWAY.
	//
	// "Upon receiving a GOAWAY on the control stream, an endpoint SHOULD NOT
	// initiate new requests to the peer ..."
	// [MOQT-18] Section 10.4, GOAWAY
	ErrGoingAway = errors.New("moqt: peer is going away")

	// ErrNotForwarding is returned for objects of a publication in Forward State 0.
	ErrNotForwarding = errors.New("moqt: subscription does not forward")

	// ErrAnswered is returned by Accept and Reject of a request that was answered before.
	ErrAnswered = errors.New("moqt: request was answered already")

	// ErrCancelled says that the peer cancelled a request without a word.
	ErrCancelled = errors.New("moqt: request cancelled by peer")

	// ErrSuperseded ends a SUBSCRIBE without an answer when the peer's PUBLISH of the same track was accepted.
	ErrSuperseded = errors.New("moqt: superseded by the peer's PUBLISH")

	// ErrInvalidAuthority makes an error of [Config].CheckPath about the authority, not the path.
	ErrInvalidAuthority = errors.New("moqt: invalid authority")
)

// SessionError says that this side closed the session, and why.
type SessionError struct {
	Code   wire.SessionCode
	Reason string
}

func (e *SessionError) Error() string {
	return fmt.Sprintf("moqt: session closed: %v: %s", e.Code, e.Reason)
}

// PeerCloseError says that the peer closed the session.
type PeerCloseError struct {
	Code   wire.SessionCode
	Reason string // the peer's words: untrusted
}

func (e *PeerCloseError) Error() string {
	return fmt.Sprintf("moqt: session closed by peer: %v: %.200q", e.Code, e.Reason)
}

// RequestError refuses a request: received from the peer, or given to Reject.
type RequestError struct {
	Code   wire.RequestCode
	Reason string                  // at most [wire.MaxReasonLen] bytes are sent; from a peer: untrusted
	Retry  wire.Opt[time.Duration] // when to try again; absent: do not

	// Redirect is where to try instead. It goes with [wire.RequestRedirect] and with no other code.
	Redirect *wire.Redirect

	// Local is set if the request was refused by this side, as for a Mandatory Track Property that nobody here understands.
	Local bool
}

func (e *RequestError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("moqt: request refused: %v", e.Code)
	}
	return fmt.Sprintf("moqt: request refused: %v: %.200q", e.Code, e.Reason)
}

// DoneError says that the publisher ended the subscription.
type DoneError struct {
	Code   wire.DoneCode
	Reason string // untrusted
}

func (e *DoneError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("moqt: subscription ended by publisher: %v", e.Code)
	}
	return fmt.Sprintf("moqt: subscription ended by publisher: %v: %.200q", e.Code, e.Reason)
}

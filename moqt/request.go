package moqt

import (
	"context"
	"strconv"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// Request is a request of the peer: an [*IncomingSubscribe], [*IncomingPublish], [*IncomingPublishNamespace],
// [*IncomingSubscribeNamespace], [*IncomingSubscribeTracks], [*IncomingPrefixUpdate], [*IncomingTrackStatus] or
// [*IncomingFetch].
type Request interface {
	// Context ends when the peer cancels the request, when it has been refused or is complete, and with the session.
	Context() context.Context

	// Reject refuses the request. A nil error means NOT_SUPPORTED.
	Reject(err *RequestError) error

	isRequest()
}

// wire returns the message that says e.
func (e *RequestError) wire() *wire.RequestError {
	m := &wire.RequestError{Code: e.Code, Reason: e.Reason, Redirect: e.Redirect}
	if d, ok := e.Retry.Get(); ok {
		m.Retry = wire.Some(wire.MillisOf(d))
	}
	return m
}

// requestError returns what the message says.
func requestError(m *wire.RequestError) *RequestError {
	e := &RequestError{Code: m.Code, Reason: m.Reason, Redirect: m.Redirect}
	if d, ok := m.Retry.Get(); ok {
		e.Retry = wire.Some(d.Duration())
	}
	return e
}

func hexCode(x uint64) string { return "0x" + strconv.FormatUint(x, 16) }

// someMillis returns the value of a parameter that is left out if d is 0.
func someMillis(d time.Duration) wire.Opt[wire.Millis] {
	if d <= 0 {
		return wire.Opt[wire.Millis]{}
	}
	return wire.Some(wire.MillisOf(d))
}

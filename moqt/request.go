package moqt

import "context"

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

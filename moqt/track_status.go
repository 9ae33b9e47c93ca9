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

// IncomingTrackStatus is the peer's question how far a track is.
type IncomingTrackStatus struct {
	Track  wire.FullTrackName
	Tokens []wire.Token
}

// Context implements [Request].
func (r *IncomingTrackStatus) Context() context.Context { panic("not written") }

// Accept answers the question.
func (r *IncomingTrackStatus) Accept(status TrackStatus) error { panic("not written") }

// Reject implements [Request].
func (r *IncomingTrackStatus) Reject(err *RequestError) error { panic("not written") }

func (r *IncomingTrackStatus) isRequest() {}

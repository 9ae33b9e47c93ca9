package moqt

import (
	"context"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// FetchRequest is what [Session.Fetch] asks for: a range of a track, or what comes before a subscription.
type FetchRequest struct {
	// Track, Start and End ask for a range. Start is the first object; End is the last one plus 1, and an End.Object of
	// 0 means the whole group ([wire.FetchEnd]).
	Track      wire.FullTrackName
	Start, End wire.Location

	// Joining asks for what comes before a subscription instead, so that the two together have no gap: from object 0 of
	// the group JoiningStart if Absolute, else from that many groups before the one where the subscription began.
	Joining      *Subscription
	JoiningStart uint64
	Absolute     bool

	Params wire.Params // what a FETCH may hold
}

// FetchOK is the answer to a FETCH.
type FetchOK struct {
	End        wire.Location   // of what will be sent, as in FetchRequest
	EndOfTrack bool            // it ends with the last object of the track
	Properties wire.Properties // of the track
}

// FetchObject is what comes before the payload of an object on a fetch stream, or a range without objects.
type FetchObject struct {
	Group    uint64
	Object   uint64
	Subgroup uint64
	Datagram bool // the object was sent as datagram; it has no subgroup
	Priority uint8

	Properties wire.Properties // when received: valid until the next call of Next
	PayloadLen uint64

	// Gap, if not 0, makes it a range: everything after the object before, up to and including this location, does not
	// exist or is not known. Only Group and Object have a meaning then.
	Gap FetchGap
}

// FetchGap is what a range in a FETCH is that has no objects.
type FetchGap uint8

// The kinds of ranges.
const (
	GapNonExistent FetchGap = 1 // the objects do not exist
	GapUnknown     FetchGap = 2 // the publisher does not know
)

// FetchReader receives the answer to a FETCH. One goroutine reads; Stop and Update may be called from others.
// It must be read to its end or stopped.
type FetchReader struct{}

// OK returns the publisher's answer.
func (r *FetchReader) OK() FetchOK { panic("not written") }

// Next skips what is left of the current object and returns the next object or range. It returns io.EOF after a FIN: what was not sent
// does not exist. It returns a [*StreamError] after a reset.
func (r *FetchReader) Next() (FetchObject, error) { panic("not written") }

// ReadChunk is as that of [SubgroupReader].
func (r *FetchReader) ReadChunk() ([]byte, error) { panic("not written") }

// Read is as that of [SubgroupReader].
func (r *FetchReader) Read(b []byte) (int, error) { panic("not written") }

// Update changes the subscriber priority. It waits for the answer. A refusal ends the fetch.
func (r *FetchReader) Update(ctx context.Context, params wire.Params) error { panic("not written") }

// Stop ends the fetch.
func (r *FetchReader) Stop(code wire.StreamCode) { panic("not written") }

// Context ends with the fetch.
func (r *FetchReader) Context() context.Context { panic("not written") }

// IncomingFetch is the peer's wish to get objects of the past.
type IncomingFetch struct {
	Track      wire.FullTrackName
	Start, End wire.Location // as in FetchRequest; of a joining FETCH computed
	Params     wire.Params   // what a FETCH may hold
	Joining    *Publication  // of a joining FETCH: what it joins
}

// Context implements [Request].
func (r *IncomingFetch) Context() context.Context { panic("not written") }

// Accept answers with FETCH_OK and opens the stream for the objects. It blocks while the peer allows no more streams.
func (r *IncomingFetch) Accept(ok FetchOK) (*FetchWriter, error) { panic("not written") }

// Reject implements [Request].
func (r *IncomingFetch) Reject(err *RequestError) error { panic("not written") }

func (r *IncomingFetch) isRequest() {}

// FetchWriter sends the answer to a FETCH. One goroutine writes; Reset and Context may be called from others.
type FetchWriter struct{}

// WriteObject sends an object, or a range if Gap is set. Objects must be in the order asked for.
func (w *FetchWriter) WriteObject(o FetchObject, payload []byte) error { panic("not written") }

// WriteHeader begins an object of o.PayloadLen bytes, which Write then sends.
func (w *FetchWriter) WriteHeader(o FetchObject) error { panic("not written") }

// Write sends payload of the object begun by WriteHeader.
func (w *FetchWriter) Write(b []byte) (int, error) { panic("not written") }

// Close ends the answer: all objects in the range that exist were sent.
func (w *FetchWriter) Close() error { panic("not written") }

// Reset abandons the answer.
func (w *FetchWriter) Reset(code wire.StreamCode) { panic("not written") }

// Priority returns the subscriber's priority, which it may change.
func (w *FetchWriter) Priority() uint8 { panic("not written") }

// Context ends when the peer has cancelled the FETCH, after Close or Reset, and with the session.
func (w *FetchWriter) Context() context.Context { panic("not written") }

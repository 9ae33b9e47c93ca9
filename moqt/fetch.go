package moqt

import "github.com/moq-c4/moq-c4/moqt/wire"

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

	Properties wire.Properties // when received: valid until the next call of any method of the reader
	PayloadLen uint64          // when sent with WriteObject: taken from the payload

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

// descending reports whether a FETCH asks for the newest group first.
func descending(p *wire.Params) bool {
	return p.GroupOrder.Or(wire.GroupOrderAscending) == wire.GroupOrderDescending
}

package wire

import "fmt"

// FetchType says how a Fetch names its range.
//
// [MOQT-18] Section 10.12, FETCH
type FetchType uint64

// [MOQT-18] Section 10.12, FETCH
const (
	FetchStandalone      FetchType = 1
	FetchRelativeJoining FetchType = 2
	FetchAbsoluteJoining FetchType = 3
)

// String returns a name for logs.
func (t FetchType) String() string {
	switch t {
	case FetchStandalone:
		return "standalone"
	case FetchRelativeJoining:
		return "relative joining"
	case FetchAbsoluteJoining:
		return "absolute joining"
	default:
		return codeName("", uint64(t))
	}
}

// Fetch asks for a range of objects that were published before.
//
// [MOQT-18] Section 10.12, FETCH
type Fetch struct {
	RequestID uint64
	FetchType FetchType

	// Standalone only. End is as on the wire: see FetchEnd and FetchLast.
	Track      FullTrackName
	Start, End Location

	// Joining only.
	JoiningRequestID uint64 // subscription to join
	JoiningStart     uint64 // groups before the joining location's, or absolute group

	Params Params
}

// Type returns MsgFetch.
func (*Fetch) Type() MessageType { return MsgFetch }

func (m *Fetch) check(v Version) error {
	switch m.FetchType {
	case FetchStandalone:
		if FetchLast(m.End).Less(m.Start) {
			return fmt.Errorf("fetch from %v to %v: %w", m.Start, m.End, ErrInvalidValue)
		}
	case FetchRelativeJoining, FetchAbsoluteJoining:
	default:
		return fmt.Errorf("fetch type %v: %w", m.FetchType, ErrInvalidValue)
	}
	return checkTrackRequest(m.Track, &m.Params, paramsFetch)
}

func (m *Fetch) appendBody(b []byte, v Version) []byte {
	b = v.appendVarint(b, m.RequestID)
	b = v.appendVarint(b, uint64(m.FetchType))
	if m.FetchType == FetchStandalone {
		b = m.Track.append(b, v)
		b = m.Start.append(b, v)
		b = m.End.append(b, v)
	} else {
		b = v.appendVarint(b, m.JoiningRequestID)
		b = v.appendVarint(b, m.JoiningStart)
	}
	return m.Params.append(b, v)
}

// parse does not look at whether the range is empty: that is answered with
// INVALID_RANGE, and the session lives.
func (m *Fetch) parse(r *bodyReader) {
	m.RequestID = r.varint()
	m.FetchType = FetchType(r.varint())
	switch m.FetchType {
	case FetchStandalone:
		m.Track = r.fullTrackName()
		m.Start = r.location()
		m.End = r.location()
	case FetchRelativeJoining, FetchAbsoluteJoining:
		m.JoiningRequestID = r.varint()
		m.JoiningStart = r.varint()
	default:
		// "An endpoint that receives a Fetch Type other than 0x1, 0x2 or 0x3 MUST close
		// the session with a PROTOCOL_VIOLATION." [MOQT-18] Section 10.12, FETCH
		r.fail(violation("unknown fetch type " + m.FetchType.String()))
	}
	m.Params = r.params(paramsFetch)
}

// FetchOK accepts a Fetch.
//
// [MOQT-18] Section 10.13, FETCH_OK
type FetchOK struct {
	EndOfTrack bool     // End is the last object of the track, and all are published
	End        Location // as on the wire: see FetchEnd and FetchLast
	Params     Params
	Properties Properties // Track Properties
}

// Type returns MsgFetchOK.
func (*FetchOK) Type() MessageType { return MsgFetchOK }

// Check reports whether the end fits the start of the fetch that m answers.
//
// "If End Location is smaller than the Start Location in the corresponding FETCH
// the receiver MUST close the session with a PROTOCOL_VIOLATION."
// [MOQT-18] Section 10.13, FETCH_OK
func (m *FetchOK) Check(start Location) error {
	// An End with object 0 is a whole group, so what counts is the last object.
	if FetchLast(m.End).Less(start) {
		return violation("end of FETCH_OK is before the start of the fetch")
	}
	return nil
}

func (m *FetchOK) check(v Version) error { return m.Params.checkSent(paramsFetchOK) }

func (m *FetchOK) appendBody(b []byte, v Version) []byte {
	b = append(b, boolByte(m.EndOfTrack))
	b = m.End.append(b, v)
	b = m.Params.append(b, v)
	return append(b, m.Properties...)
}

func (m *FetchOK) parse(r *bodyReader) {
	end := r.uint8()
	// "End Of Track: 1 if all Objects have been published on this Track, ... 0 if
	// not." Nothing is said about other values.
	if end > 1 {
		r.fail(violation("end of track is neither 0 nor 1"))
	}
	m.EndOfTrack = end == 1
	m.End = r.location()
	m.Params = r.params(paramsFetchOK)
	m.Properties = r.trackProperties()
}

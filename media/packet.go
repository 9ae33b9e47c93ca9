package media

import (
	"math"
	"time"
)

// Packaging is the form of an object's payload, by its name in the catalogs.
type Packaging string

// The packagings. CMAF is one moof and mdat per object ([CMSF] Section "Object
// Packaging"). LOC is the codec's bytes with the metadata in object properties
// ([LOC] Section "Payload Format"). Legacy is the codec's bytes behind a
// timestamp in microseconds ([hang] Section "Container"); it is read only.
const (
	CMAF   Packaging = "cmaf"
	LOC    Packaging = "loc"
	Legacy Packaging = "legacy"
)

// Publisher priorities; lower is more urgent. Audio goes first, then the
// smallest video, then the better ones.
const (
	PriorityCatalog = 0
	PriorityAudio   = 2
	PriorityVideo   = 4
	PriorityBetter  = 6
)

// Rendition is a track under a name it is published by.
type Rendition struct {
	// Name is the MOQT track name, unique within a broadcast.
	Name string

	Track     *Track
	Packaging Packaging
	Priority  uint8

	// Datagram says that objects are meant to travel in datagrams.
	Datagram bool

	// AltGroup is the same for renditions that show the same content, of which a
	// subscriber takes one and whose group ids mean the same times. 0 is none.
	AltGroup int
}

// Packet is one object ready to be sent, or as it was received. Its subgroup is
// always 0. Packets of the same frame share Payload and Properties, which are
// not to be changed.
type Packet struct {
	// Track is the name of the Rendition.
	Track string

	Group, Object uint64

	// Key says that decoding can start here: it is true for every object 0.
	Key bool

	// EndOfGroup says that no object follows in this group. It is known only of
	// sound; a video group ends when the next one begins.
	EndOfGroup bool

	Datagram bool
	Priority uint8
	Capture  time.Time

	// Properties are in rising order of ID.
	Properties []Property
	Payload    []byte
}

// Property is an object property. By the rule of MOQT an even ID has an integer
// value and an odd one has bytes.
type Property struct {
	ID    uint64
	Value uint64
	Bytes []byte
}

// IDs of the object properties. Those of LOC are in [LOC] Section "LOC
// Properties"; the old ones of the timestamp, of drafts 02 and 00, are read only.
const (
	PropertyTimescale       = 0x08
	PropertyVideoConfig     = 0x0D
	PropertyAudioConfig     = 0x0F
	PropertyTimestamp       = 0x10
	PropertyTimestampOld    = 0x06
	PropertyTimestampOldest = 0x02

	// PropertyCaptureOffset is our own, in the range MOQT leaves to applications.
	// On a LOC object the timestamp is the media time. Where the frame was
	// captured at another moment, this says how far off, in microseconds as a
	// zigzag integer: capture = timestamp + offset.
	PropertyCaptureOffset = 0x38C4
)

// CaptureTime is the time of capture that the properties of an object tell, if they tell a time of the wall clock.
func CaptureTime(properties []Property) (t time.Time, ok bool) {
	var micros, age uint64 // age is the id by which it was found; the newest counts
	var offset int64
	for _, q := range properties {
		switch q.ID {
		case PropertyTimestamp, PropertyTimestampOld, PropertyTimestampOldest:
			if q.ID > age {
				micros, age = q.Value, q.ID
			}
		case PropertyTimescale:
			return time.Time{}, false // a media time
		case PropertyCaptureOffset:
			offset = int64(q.Value>>1) ^ -int64(q.Value&1)
		}
	}
	const limit = math.MaxUint32 * uint64(time.Second/time.Microsecond) // 136 years, so that nothing overflows
	if age == 0 || micros > limit || uint64(max(offset, -offset)) > limit {
		return time.Time{}, false
	}
	return time.UnixMicro(int64(micros) + offset), true
}

// Packager makes the payload and the properties of an object from a frame.
type Packager interface {
	// Pack needs to know whether the object is the first of its group, because
	// decoder configurations travel there.
	Pack(f Frame, first bool) (payload []byte, properties []Property, err error)
}

// Unpackager is the reverse, for one track. Objects of a group have to come in
// order; groups may be missing.
type Unpackager interface {
	// Unpack returns the frames of an object: one, or several where somebody
	// else's packager put more in. Errors wrap ErrMalformed and leave the
	// Unpackager usable for the next object.
	Unpack(p Packet) ([]Frame, error)
}

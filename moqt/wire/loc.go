package wire

import "math/bits"

// Properties of the Low Overhead Media Container, which share their numbers with
// those of the transport.
//
// [LOC-04] Section "LOC Properties"
const (
	LOCTimescale    = 0x08 // Track, Object
	LOCFrameMarking = 0x09 // Object
	LOCAudioLevel   = 0x0c // Object
	LOCVideoConfig  = 0x0d // Track, Object
	LOCAudioConfig  = 0x0f // Track, Object
	LOCTimestamp    = 0x10 // Object

	// Numbers the timestamp had in earlier drafts, read but not written unless asked
	// for. As a Track Property they are delivery timeouts.
	LOCTimestamp02 = 0x06 // [LOC-02] and what follows it up to draft 03
	LOCTimestamp00 = 0x02 // drafts 00 and 01
)

// microsPerSecond is the unit of a timestamp that has no timescale.
const microsPerSecond = 1_000_000

// LOC are the properties of a media object, or with the timestamp absent those of
// a media track.
//
// [LOC-04] Section "LOC Properties"
type LOC struct {
	Timestamp     Opt[uint64] // in units of the timescale, else wall clock in µs since 1970
	TimestampType uint64      // property the timestamp is in; 0 is LOCTimestamp
	Timescale     Opt[uint64] // units per second
	FrameMarking  []byte      // RFC 9626
	AudioLevel    Opt[uint8]  // RFC 6464
	VideoConfig   []byte
	AudioConfig   []byte
}

// LOC reads the media properties in p, those inside Immutable Properties too.
// Where several drafts' timestamps are present, the newest draft's counts.
// Bytes in the result point into p; nothing is allocated unless there is an error.
func (p Properties) LOC(v Version) (LOC, error) {
	var l LOC
	if err := l.scan(p, v, true); err != nil {
		return LOC{}, err
	}
	return l, nil
}

func (l *LOC) scan(p Properties, v Version, outer bool) error {
	var immutable Properties
	it := p.Iter(v)
	for it.Next() {
		if it.cur.Type == PropertyImmutable {
			immutable = it.cur.Bytes
			continue
		}
		l.set(it.cur)
	}
	if it.err != nil {
		if !outer {
			return malformedImmutable(it.err)
		}
		return it.err
	}
	if outer && immutable != nil {
		return l.scan(immutable, v, false)
	}
	return nil
}

func (l *LOC) set(p Property) {
	switch p.Type {
	case LOCTimestamp00, LOCTimestamp02, LOCTimestamp:
		// The numbers grew from draft to draft.
		if !l.Timestamp.ok || p.Type > l.TimestampType {
			l.Timestamp, l.TimestampType = Some(p.Uint), p.Type
		}
	case LOCTimescale:
		setOnce(&l.Timescale, p.Uint)
	case LOCFrameMarking:
		setBytesOnce(&l.FrameMarking, p.Bytes)
	case LOCAudioLevel:
		// "encoded in the least significant 8 bits of a vi64"
		setOnce(&l.AudioLevel, uint8(p.Uint))
	case LOCVideoConfig:
		setBytesOnce(&l.VideoConfig, p.Bytes)
	case LOCAudioConfig:
		setBytesOnce(&l.AudioConfig, p.Bytes)
	}
}

func setBytesOnce(dst *[]byte, b []byte) {
	if *dst == nil {
		*dst = b
	}
}

// Append appends the properties. It fails with [ErrInvalidValue] if one is too
// long or TimestampType is not one of the timestamp's numbers.
func (l *LOC) Append(b []byte, v Version) ([]byte, error) {
	var list [6]Property
	n := 0
	add := func(p Property) {
		list[n] = p
		n++
	}
	timestamp := Property{Type: l.TimestampType, Uint: l.Timestamp.value}
	switch timestamp.Type {
	case 0:
		timestamp.Type = LOCTimestamp
	case LOCTimestamp00, LOCTimestamp02, LOCTimestamp:
	default:
		return b, ErrInvalidValue
	}
	if l.Timestamp.ok && timestamp.Type < LOCTimescale {
		add(timestamp)
	}
	if l.Timescale.ok {
		add(Property{Type: LOCTimescale, Uint: l.Timescale.value})
	}
	if l.FrameMarking != nil {
		add(Property{Type: LOCFrameMarking, Bytes: l.FrameMarking})
	}
	if l.AudioLevel.ok {
		add(Property{Type: LOCAudioLevel, Uint: uint64(l.AudioLevel.value)})
	}
	if l.VideoConfig != nil {
		add(Property{Type: LOCVideoConfig, Bytes: l.VideoConfig})
	}
	if l.AudioConfig != nil {
		add(Property{Type: LOCAudioConfig, Bytes: l.AudioConfig})
	}
	if l.Timestamp.ok && timestamp.Type > LOCTimescale {
		add(timestamp)
	}
	return AppendProperties(b, list[:n], v)
}

// TimestampMicros returns the timestamp in µs. wallClock reports whether it counts
// from 1970; with a timescale it is media time with an origin of its own. The
// object's timescale comes before track, the timescale of the track's properties.
// ok is false without a timestamp, with a timescale of 0, and if the result does
// not fit.
func (l *LOC) TimestampMicros(track Opt[uint64]) (micros uint64, wallClock, ok bool) {
	t, ok := l.Timestamp.Get()
	if !ok {
		return 0, false, false
	}
	scale := l.Timescale
	if !scale.ok {
		scale = track
	}
	if !scale.ok {
		return t, true, true
	}
	hi, lo := bits.Mul64(t, microsPerSecond)
	if hi >= scale.value { // also a scale of 0
		return 0, false, false
	}
	micros, _ = bits.Div64(hi, lo, scale.value)
	return micros, false, true
}

package loc

import (
	"bytes"
	"fmt"
	"math"
	"time"

	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/media/codec"
)

// microseconds is the timescale of timestamps that state none.
const microseconds = 1_000_000

// maxSeconds bounds timestamps, so that nothing overflows: 136 years.
const maxSeconds = math.MaxUint32

// Unpackager implements media.Unpackager for one track. LOC has no decode times
// and no durations, so these are made up: what the frames need to be stored.
type Unpackager struct {
	track  *media.Track
	legacy bool
	info   codec.Info
	clock  decodeClock
}

// NewUnpackager returns an Unpackager for a track. Where Timescale is 0, times
// are in microseconds. Objects may bring a decoder configuration other than
// Config; the frames from there on are of a new Track with the same ID.
func NewUnpackager(track *media.Track) (*Unpackager, error) {
	return newUnpackager(track, false)
}

// NewLegacyUnpackager is NewUnpackager for the container "legacy" of hang.
func NewLegacyUnpackager(track *media.Track) (*Unpackager, error) {
	return newUnpackager(track, true)
}

func newUnpackager(track *media.Track, legacy bool) (*Unpackager, error) {
	if track.Timescale > media.MaxTimescale {
		return nil, fmt.Errorf("loc: timescale %d (%w)", track.Timescale, media.ErrMalformed)
	}
	u := &Unpackager{legacy: legacy}
	u.setTrack(track)
	return u, nil
}

// setTrack learns what it can from the configuration of the track. A wrong one
// only costs accuracy.
func (u *Unpackager) setTrack(track *media.Track) {
	if track.Timescale == 0 {
		t := *track
		t.Timescale, track = microseconds, &t
	}
	u.track = track
	u.info = codec.Info{Reorder: -1}
	if track.Kind == media.Audio {
		u.info.Codec = track.Codec
	}
	if info, err := codec.Describe(track.Codec, track.Config); err == nil {
		u.info = info
	}
	rate := track.Framerate
	if rate <= 0 {
		rate = u.info.Framerate
	}
	u.clock.configure(track, u.info.Reorder, rate)
}

// Unpack implements media.Unpackager. It returns one frame, or none for an
// object without payload.
func (u *Unpackager) Unpack(p media.Packet) ([]media.Frame, error) {
	m, err := u.metadata(p)
	if err != nil {
		return nil, fmt.Errorf("loc object %d of group %d: %w", p.Object, p.Group, err)
	}
	if m.config != nil && !bytes.Equal(m.config, u.track.Config) {
		t := *u.track
		t.Config, t.Init = bytes.Clone(m.config), nil
		if info, err := codec.Describe(t.Codec, t.Config); err == nil {
			t.Codec = info.Codec
		}
		u.setTrack(&t)
	}
	if len(m.payload) == 0 {
		return nil, nil
	}
	f := media.Frame{
		Track:   u.track,
		PTS:     media.Rescale(m.timestamp, m.timescale, u.track.Timescale),
		Key:     p.Object == 0 || codec.IsKey(u.track.Codec, m.payload, false),
		Payload: m.payload,
		Capture: m.capture,
	}
	u.clock.set(&f, u.packetLength(m.payload))
	return []media.Frame{f}, nil
}

// packetLength is the length of an audio packet in the track's timescale, or 0.
func (u *Unpackager) packetLength(payload []byte) int64 {
	rate := u.info.SampleRate
	if rate == 0 {
		rate = u.track.SampleRate
	}
	n := u.info.PacketLength(payload)
	if u.track.Kind != media.Audio || n == 0 || rate <= 0 {
		return 0
	}
	return media.Rescale(int64(n), uint32(rate), u.track.Timescale)
}

// metadata is what an object says of its frame.
type metadata struct {
	timestamp int64
	timescale uint32
	capture   time.Time
	config    []byte
	payload   []byte
}

func (u *Unpackager) metadata(p media.Packet) (metadata, error) {
	m := metadata{timescale: microseconds, payload: p.Payload}
	if u.legacy {
		v, n := quicVarint(p.Payload)
		if n == 0 {
			return m, fmt.Errorf("ends within its timestamp (%w)", media.ErrMalformed)
		}
		if v/microseconds > maxSeconds {
			return m, fmt.Errorf("timestamp %d (%w)", v, media.ErrMalformed)
		}
		m.timestamp, m.payload = int64(v), p.Payload[n:]
		return m, nil
	}
	return m, m.fromProperties(p.Properties)
}

// fromProperties reads the properties. Of the ids that the timestamp had over
// time the newest counts: 0x10 since draft-04, 0x06 in 02 and 03, 0x02 before.
func (m *metadata) fromProperties(properties []media.Property) error {
	var timestamp, age uint64 // age is the id by which it was found
	var offset int64
	for _, q := range properties {
		switch q.ID {
		case media.PropertyTimestamp, media.PropertyTimestampOld, media.PropertyTimestampOldest:
			if q.ID > age {
				timestamp, age = q.Value, q.ID
			}
		case media.PropertyTimescale:
			if q.Value == 0 || q.Value > media.MaxTimescale {
				return fmt.Errorf("property 0x%02x: timescale %d (%w)", q.ID, q.Value, media.ErrMalformed)
			}
			m.timescale = uint32(q.Value)
		case media.PropertyVideoConfig, media.PropertyAudioConfig:
			m.config = q.Bytes
		case media.PropertyCaptureOffset:
			offset = unzigzag(q.Value)
		}
	}
	if age == 0 {
		return fmt.Errorf("has no timestamp (%w)", media.ErrMalformed)
	}
	if timestamp/uint64(m.timescale) > maxSeconds {
		return fmt.Errorf("property 0x%02x: timestamp %d (%w)", age, timestamp, media.ErrMalformed)
	}
	m.timestamp = int64(timestamp)
	// Only a timestamp without a timescale is wall clock time.
	if m.timescale == microseconds && max(offset, -offset) < maxSeconds*microseconds {
		m.capture = time.UnixMicro(m.timestamp + offset)
	}
	return nil
}

// quicVarint reads a variable-length integer of QUIC, which hang uses; n is 0 if
// it is cut short. RFC 9000 Section 16
func quicVarint(b []byte) (v uint64, n int) {
	if len(b) == 0 {
		return 0, 0
	}
	n = 1 << (b[0] >> 6)
	if len(b) < n {
		return 0, 0
	}
	v = uint64(b[0] & 0x3f)
	for _, c := range b[1:n] {
		v = v<<8 | uint64(c)
	}
	return v, n
}

// Package cmaf packs frames as CMAF chunks, one moof and mdat each, and unpacks
// them. [CMSF] Section "Object Packaging"
package cmaf

import (
	"fmt"
	"time"

	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/media/codec"
	"github.com/moq-c4/moq-c4/media/fmp4"
)

// Packager implements media.Packager for the frames of one track. The zero value
// is ready.
//
// The moof and mdat in which a frame came is passed on with no other change than
// its decode time, if that says all that a player has to know; else a new one is
// written. The only property is the time of capture.
type Packager struct{ seq uint32 }

// Pack implements media.Packager.
func (p *Packager) Pack(f media.Frame, _ bool) ([]byte, []media.Property, error) {
	if f.DTS < 0 {
		return nil, nil, fmt.Errorf("cmaf: decode time %d is before the epoch (%w)", f.DTS, media.ErrMalformed)
	}
	p.seq++
	sample := fmp4.FrameSample(f, f.Track.ID)
	payload := make([]byte, 0, max(len(f.Raw), fmp4.FragmentOverhead+len(f.Payload)))
	ok := false
	if f.Raw != nil {
		payload, ok = fmp4.AppendRetimed(payload, f.Raw, sample)
	}
	if !ok {
		payload = fmp4.AppendFragment(payload, p.seq, sample)
	}
	if f.Capture.IsZero() {
		return payload, nil, nil
	}
	return payload, []media.Property{{ID: media.PropertyTimestamp, Value: uint64(f.Capture.UnixMicro())}}, nil
}

// Unpackager implements media.Unpackager for one track.
type Unpackager struct {
	track    *media.Track
	id       uint32
	defaults fmp4.Defaults
	shift    int64
}

// NewUnpackager returns an Unpackager for a track with an Init, which is the
// header of that track alone. The frames will be of this track.
func NewUnpackager(track *media.Track) (*Unpackager, error) {
	h, err := fmp4.ParseHeader(track.Init)
	if err != nil {
		return nil, fmt.Errorf("cmaf: %w", err)
	}
	if len(h.Tracks) != 1 {
		return nil, fmt.Errorf("cmaf: the header has %d tracks, not one (%w)", len(h.Tracks), media.ErrMalformed)
	}
	t := h.Tracks[0]
	if t.Timescale != track.Timescale {
		return nil, fmt.Errorf("cmaf: timescale %d, but the header has %d (%w)", track.Timescale, t.Timescale, media.ErrMalformed)
	}
	return &Unpackager{track: track, id: t.ID, defaults: h.Defaults, shift: h.Shift[t.ID]}, nil
}

// Unpack implements media.Unpackager. It takes objects of several chunks too,
// each with several samples. Capture is set if the object says it.
func (u *Unpackager) Unpack(p media.Packet) ([]media.Frame, error) {
	samples, err := fmp4.ParseFragments(p.Payload, u.defaults)
	if err != nil {
		return nil, fmt.Errorf("cmaf object %d of group %d: %w", p.Object, p.Group, err)
	}
	frames := make([]media.Frame, 0, len(samples))
	for _, s := range samples {
		if s.TrackID != u.id {
			return nil, fmt.Errorf("cmaf object %d of group %d: has a sample of track %d, the header is of track %d (%w)",
				p.Object, p.Group, s.TrackID, u.id, media.ErrMalformed)
		}
		dts := s.DTS + u.shift
		frames = append(frames, media.Frame{
			Track: u.track, DTS: dts, PTS: dts + int64(s.Offset), Duration: int64(s.Duration),
			Key: codec.IsKey(u.track.Codec, s.Data, s.Sync), Payload: s.Data,
		})
	}
	if at, ok := captureTime(p.Properties); ok && len(frames) > 0 {
		frames[0].Capture = at
	}
	return frames, nil
}

// captureTime is the wall clock time in the properties.
func captureTime(properties []media.Property) (time.Time, bool) {
	for _, q := range properties {
		if q.ID == media.PropertyTimestamp {
			return time.UnixMicro(int64(q.Value)), true
		}
	}
	return time.Time{}, false
}

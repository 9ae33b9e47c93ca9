// Package loc packs frames in the Low Overhead Media Container and unpacks them:
// the object is what the codec made, and its properties say the rest. It also
// reads the "legacy" container of hang, which has the timestamp in front.
package loc

import (
	"fmt"
	"time"

	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/media/codec"
)

// Packager implements media.Packager for the frames of one track. The zero value
// is ready.
//
// The timestamp is the presentation time in microseconds since the Unix epoch,
// without a timescale, so it is the time of capture as well ([LOC] Section
// "Timestamp"); where that is known to be another by minOffset or more, our own
// PropertyCaptureOffset tells. The first object of each group has the decoder
// configuration, if the codec needs one. H.264 and H.265 are in the form with length prefixes.
type Packager struct{}

// minOffset is the least difference between timestamp and capture that is worth
// four bytes.
const minOffset = 500 * time.Microsecond

// Pack implements media.Packager.
func (Packager) Pack(f media.Frame, first bool) ([]byte, []media.Property, error) {
	pts := f.PTSTime()
	if pts < 0 {
		return nil, nil, fmt.Errorf("loc: presentation time %d is before the epoch (%w)", f.PTS, media.ErrMalformed)
	}
	properties := make([]media.Property, 0, 3)
	if id := configProperty(f.Track); first && id != 0 {
		properties = append(properties, media.Property{ID: id, Bytes: f.Track.Config})
	}
	micros := int64((pts + time.Microsecond/2) / time.Microsecond)
	properties = append(properties, media.Property{ID: media.PropertyTimestamp, Value: uint64(micros)})
	if !f.Capture.IsZero() {
		offset := f.Capture.Sub(time.UnixMicro(micros))
		if offset >= minOffset || offset <= -minOffset {
			properties = append(properties, media.Property{ID: media.PropertyCaptureOffset, Value: zigzag(offset.Microseconds())})
		}
	}
	return f.Payload, properties, nil
}

// configProperty is the property for the configuration of a track, or 0. VP9
// needs none, and neither does Opus with one or two channels, where it would
// take a fifth of a small packet.
func configProperty(t *media.Track) uint64 {
	switch entry := codec.Entry(t.Codec); {
	case len(t.Config) == 0, entry == "vp09", entry == "Opus" && t.Channels <= 2:
		return 0
	case t.Kind == media.Audio:
		return media.PropertyAudioConfig
	}
	return media.PropertyVideoConfig
}

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

package catalog

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/media/fmp4"
)

// Bounds of a catalog that is read.
const (
	maxSize   = 4 << 20
	maxTracks = 256
	maxPixels = 1 << 16 // in one direction
)

// marshal is v as JSON. It cannot fail for our types, which hold no functions,
// channels, cycles or numbers that JSON lacks.
func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("catalog: " + err.Error())
	}
	return b
}

// unmarshal reads JSON and names the catalog in the error.
func unmarshal(format string, data []byte, v any) error {
	if len(data) > maxSize {
		return fmt.Errorf("%s catalog: %d bytes, more than %d (%w)", format, len(data), maxSize, media.ErrMalformed)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s catalog: %w (%w)", format, err, media.ErrMalformed)
	}
	return nil
}

// useInit takes from a CMAF header what the frames' times and a recording need,
// and leaves the rest to the catalog.
func useInit(t *media.Track, init []byte) error {
	if len(init) == 0 {
		return fmt.Errorf("packaging cmaf without initialization data (%w)", media.ErrMalformed)
	}
	h, err := fmp4.ParseHeader(init)
	if err != nil {
		return fmt.Errorf("initialization data: %w", err)
	}
	if len(h.Tracks) != 1 {
		return fmt.Errorf("initialization data of %d tracks, not one (%w)", len(h.Tracks), media.ErrMalformed)
	}
	in := h.Tracks[0]
	if in.Kind != t.Kind {
		return fmt.Errorf("initialization data is of a track of %v (%w)", in.Kind, media.ErrMalformed)
	}
	t.Init, t.Config, t.Timescale, t.Codec, t.Priming = init, in.Config, in.Timescale, in.Codec, in.Priming
	if t.Framerate == 0 {
		t.Framerate = in.Framerate
	}
	if t.Width == 0 || t.Height == 0 {
		t.Width, t.Height = in.Width, in.Height
	}
	if t.SampleRate == 0 {
		t.SampleRate = in.SampleRate
	}
	if t.Channels == 0 {
		t.Channels = in.Channels
	}
	return nil
}

// checkTrack refuses values that others would compute with.
func checkTrack(t *media.Track) error {
	for _, f := range []struct {
		name string
		v    float64
		most float64
	}{
		{"width", float64(t.Width), maxPixels},
		{"height", float64(t.Height), maxPixels},
		{"framerate", t.Framerate, 1000},
		{"sample rate", float64(t.SampleRate), 1 << 20},
		{"channels", float64(t.Channels), 255},
		{"bitrate", float64(t.Bitrate), math.MaxUint32},
		{"timescale", float64(t.Timescale), media.MaxTimescale},
	} {
		if f.v < 0 || f.v > f.most {
			return fmt.Errorf("%s %v is out of range (%w)", f.name, f.v, media.ErrMalformed)
		}
	}
	return nil
}

// setPriority gives a rendition that somebody else publishes the priority it
// would have here, as far as the catalog tells.
func setPriority(r *media.Rendition) {
	r.Priority = media.PriorityVideo
	if r.Track.Kind == media.Audio {
		r.Priority = media.PriorityAudio
	}
}

// bitrate is the rate to announce: MSF demands one, players choose by it.
func bitrate(t *media.Track) int {
	switch {
	case t.Bitrate > 0:
		return t.Bitrate
	case t.Kind == media.Audio:
		return 64000 * max(t.Channels, 1)
	case t.Width > 0 && t.Height > 0:
		// A tenth of a bit for each pixel, which is what encoders are often set to.
		rate := t.Framerate
		if rate == 0 {
			rate = 30
		}
		return int(float64(t.Width*t.Height) * rate / 10)
	}
	return 1_000_000
}

// shorten keeps peers' strings in messages to a line of sensible length.
func shorten(s string) string {
	const most = 64
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

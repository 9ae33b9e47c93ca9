// Package codec reads as much of the codecs' own formats as is needed to
// describe, group and store their frames: decoder configurations, key frames,
// lengths of audio packets. It decodes nothing.
//
// A codec is named by its WebCodecs string ("avc1.42c01e"), whose first part is
// also the type of its MP4 sample entry; only "opus" is spelled "Opus" there.
package codec

import (
	"fmt"
	"math"
	"strings"

	"github.com/moq-c4/moq-c4/media"
)

// Info is what a decoder configuration says.
type Info struct {
	Codec string // WebCodecs string
	Kind  media.Kind

	// Video. Framerate is 0 and Reorder is -1 if the configuration does not say.
	// Reorder is how many pictures may come before one that is shown earlier.
	Framerate float64
	Reorder   int

	// Audio. PacketSamples is the length of a packet, 0 if each packet has its
	// own. Priming is how much of the decoded sound to throw away at the very
	// start. Both count samples at SampleRate.
	SampleRate, Channels   int
	PacketSamples, Priming int
}

// Describe reads the configuration of a codec, of which entry is the sample
// entry type or the WebCodecs string. Errors wrap media.ErrUnsupported or
// media.ErrMalformed.
func Describe(entry string, config []byte) (Info, error) {
	switch entry = Entry(entry); entry {
	case "avc1", "avc3":
		return describeAVC(entry, config)
	case "hvc1", "hev1":
		return describeHEVC(entry, config)
	case "av01":
		return describeAV1(config)
	case "vp09":
		return describeVP9(config)
	case "mp4a":
		return describeAAC(config)
	case "Opus":
		return describeOpus(config)
	case "encv", "enca":
		return Info{}, fmt.Errorf("encrypted tracks are not handled (%w)", media.ErrUnsupported)
	}
	return Info{}, fmt.Errorf("codec %q is not handled (%w)", entry, media.ErrUnsupported)
}

// Entry is the MP4 sample entry type of a codec.
func Entry(codec string) string {
	entry, _, _ := strings.Cut(codec, ".")
	if strings.EqualFold(entry, "opus") {
		return "Opus"
	}
	return entry
}

// IsKey tells whether decoding can start at a frame. sync is what the container
// says of it. For H.264 and H.265 the frame itself decides, because containers
// are often wrong: some mark every frame, some none.
func IsKey(codec string, payload []byte, sync bool) bool {
	switch Entry(codec) {
	case "avc1", "avc3":
		return isKeyAVC(payload, sync)
	case "hvc1", "hev1":
		return isKeyHEVC(payload)
	case "mp4a", "Opus":
		return true
	}
	return sync
}

// Frame and packet rates outside these bounds are taken as not stated.
const (
	minFramerate = 0.1
	maxFramerate = 1000
)

// framerate keeps a rate computed from a configuration if it makes sense.
func framerate(fps float64) float64 {
	if math.IsNaN(fps) || fps < minFramerate || fps > maxFramerate {
		return 0
	}
	return math.Round(fps*1000) / 1000
}

func malformed(what, format string, args ...any) error {
	return fmt.Errorf("%s: %s (%w)", what, fmt.Sprintf(format, args...), media.ErrMalformed)
}

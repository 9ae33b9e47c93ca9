// Package synthetic is a source of made-up media with exact sizes and rates: the
// call of the C4 test plan. Each payload can be checked for having arrived whole.
package synthetic

import (
	"time"

	"github.com/moq-c4/moq-c4/media"
)

// Config configures a Source. The zero value is the call of the C4 test plan:
// 80-byte audio packets every 20 ms; video at 30 frames/s in groups of 30, once
// of 37,500 B and 29 x 3,750 B and once of 62,500 B and 29 x 6,250 B.
type Config struct {
	// Duration ends the source. Default 0: it never ends.
	Duration time.Duration
}

// Source is the media.Source. It does not wait: a media.Pacer gives frames their time.
type Source struct{ cfg Config }

// New returns a Source.
func New(cfg Config) *Source { return &Source{cfg: cfg} }

// Tracks implements media.Source: audio, the smaller and the better video.
func (s *Source) Tracks() []*media.Track { return nil }

// Next implements media.Source.
func (s *Source) Next() (media.Frame, error) { return media.Frame{}, nil }

// Verify tells whether a payload is whole and unchanged, and which frame it is of.
func Verify(payload []byte) (track uint32, seq uint64, err error) { return 0, 0, nil }

package fmp4

import (
	"errors"
	"io"

	"github.com/moq-c4/moq-c4/media"
)

// WriterConfig configures a Writer. The zero value is good.
type WriterConfig struct{}

// Writer records frames as one fragmented MP4 file, a fragment per frame, so that
// a player can follow while it grows. The header is written with the first
// fragment. It starts at time 0 whatever the frames' times are.
type Writer struct{}

// NewWriter returns a Writer for the tracks, which need Init, or Config and
// sizes to make an Init from.
func NewWriter(w io.Writer, tracks []*media.Track, cfg WriterConfig) (*Writer, error) {
	return nil, errors.New("not done yet")
}

// Write records a frame of one of the tracks.
func (w *Writer) Write(f media.Frame) error { return nil }

// Flush writes what is held back while the first frames of all tracks are
// awaited. To be called at the end.
func (w *Writer) Flush() error { return nil }

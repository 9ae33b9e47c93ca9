package fmp4

import (
	"errors"
	"io"
	"time"

	"github.com/moq-c4/moq-c4/media"
)

// ReaderConfig configures a Reader. The zero value is good.
type ReaderConfig struct {
	// Now stamps arrivals. Default time.Now.
	Now func() time.Time
}

// Reader is a media.Source over a stream of fragmented MP4.
type Reader struct{}

// NewReader reads the header and the first frame or so of each track.
func NewReader(r io.Reader, cfg ReaderConfig) (*Reader, error) {
	return nil, errors.New("not done yet")
}

// Tracks implements media.Source.
func (r *Reader) Tracks() []*media.Track { return nil }

// Skipped lists the tracks that are not offered, each as one line with the reason.
func (r *Reader) Skipped() []string { return nil }

// Next implements media.Source.
func (r *Reader) Next() (media.Frame, error) { return media.Frame{}, io.EOF }

// FileConfig configures a File.
type FileConfig struct {
	// Loop starts over at the end, for ever, with times that go on.
	Loop bool
}

// File is a media.Source over a fragmented MP4 file. Its frames come as fast as
// they are asked for; a media.Pacer gives them their time.
type File struct{ Reader }

// OpenFile opens a file.
func OpenFile(path string, cfg FileConfig) (*File, error) { return nil, errors.New("not done yet") }

// Close closes the file.
func (f *File) Close() error { return nil }

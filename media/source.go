package media

import "errors"

// Source yields frames.
type Source interface {
	// Tracks lists the tracks, at least one. It changes only when a Next returned
	// a frame marked Discontinuity.
	Tracks() []*Track

	// Next returns the next frame: in decode order within a track, and about in
	// order of decode time between tracks. It blocks until there is one. At the
	// end it returns io.EOF; any other error names what is wrong with the input
	// and is final.
	Next() (Frame, error)
}

// ErrUnsupported is wrapped by errors about input that is well-formed and that
// this package does not handle, such as an MP4 file that is not fragmented.
var ErrUnsupported = errors.New("unsupported")

// ErrMalformed is wrapped by errors about input that breaks its own format. The
// message is one line and names the box (or field) and its offset.
var ErrMalformed = errors.New("malformed")

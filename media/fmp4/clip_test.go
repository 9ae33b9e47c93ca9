package fmp4

import (
	"io"
	"os"
	"sync"
	"testing"

	"github.com/moq-c4/moq-c4/media"
)

// clip is the bundled clip: H.264 in two sizes with 300 frames and a key frame
// every 30, and Opus with 500 packets. See testdata/README.md of the module.
func clip(t testing.TB) []byte {
	t.Helper()
	b, err := readClip()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var readClip = sync.OnceValues(func() ([]byte, error) { return os.ReadFile("../../testdata/clip.mp4") })

// readAll reads a source to its end.
func readAll(t testing.TB, s media.Source) []media.Frame {
	t.Helper()
	var frames []media.Frame
	for {
		f, err := s.Next()
		if err == io.EOF {
			return frames
		}
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, f)
	}
}

// ofTrack picks the frames of a track.
func ofTrack(frames []media.Frame, id uint32) []media.Frame {
	var out []media.Frame
	for _, f := range frames {
		if f.Track.ID == id {
			out = append(out, f)
		}
	}
	return out
}

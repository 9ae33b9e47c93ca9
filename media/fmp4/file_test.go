package fmp4

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/media"
)

func TestFile(t *testing.T) {
	f, err := OpenFile("../../testdata/clip.mp4", FileConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	frames := readAll(t, f)
	if len(frames) != 1100 {
		t.Errorf("%d frames, want 1100", len(frames))
	}
	for _, fr := range frames {
		if !fr.Capture.IsZero() {
			t.Fatal("frames of a file have a time of capture")
		}
	}
}

func TestFileErrors(t *testing.T) {
	if _, err := OpenFile(filepath.Join(t.TempDir(), "none.mp4"), FileConfig{}); !os.IsNotExist(err) {
		t.Errorf("no file: %v", err)
	}
	path := filepath.Join(t.TempDir(), "text.mp4")
	if err := os.WriteFile(path, []byte("this is no MP4 file"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFile(path, FileConfig{}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a text file: %v", err)
	}
	// A header without fragments ends, also when it loops.
	f, err := NewFile(bytes.NewReader(clipHeader(t)), FileConfig{Loop: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Next(); err != io.EOF {
		t.Errorf("no fragments: %v", err)
	}
	if f.Close() != nil {
		t.Error("closing what was not opened")
	}
}

// Times go on over the end of the file as if it had none.
func TestFileLoops(t *testing.T) {
	f, err := NewFile(bytes.NewReader(clip(t)), FileConfig{Loop: true})
	if err != nil {
		t.Fatal(err)
	}
	tracks := f.Tracks()
	next := map[uint32]int64{}
	groups := map[uint32]int{}
	for n := range 3*1100 + 50 {
		fr, err := f.Next()
		if err != nil {
			t.Fatal(err)
		}
		if fr.DTS != next[fr.Track.ID] || fr.PTS != fr.DTS {
			t.Fatalf("frame %d, track %d: DTS %d, want %d", n, fr.Track.ID, fr.DTS, next[fr.Track.ID])
		}
		next[fr.Track.ID] = fr.DTS + fr.Duration
		if fr.Key {
			groups[fr.Track.ID]++
		}
		if fr.Discontinuity || fr.Run != 0 {
			t.Fatalf("frame %d is marked as a new start", n)
		}
		if fr.Track != tracks[fr.Track.ID-1] {
			t.Fatalf("frame %d is of another track than those listed", n)
		}
	}
	if groups[1] != 31 || groups[2] != 31 {
		t.Errorf("%d and %d groups, want 31", groups[1], groups[2])
	}
}

// Where the tracks are not of the same length, they begin together again, and
// sound that only primes the decoder is not played a second time.
func TestFileLoopsWithUnequalTracks(t *testing.T) {
	sample := func(id uint32, dts int64) []byte {
		return AppendFragment(nil, 1, Sample{TrackID: id, DTS: dts, Duration: 1024, Sync: true, Data: []byte("frame")})
	}
	edts := parent("edts", full("elst", 0, 0, 1, 0, 1024, 0x10000))
	data := bytes.Join([][]byte{
		header(trackBox(1, "soun", nil, opusEntry()), trackBox(2, "soun", edts, opusEntry())),
		sample(1, 0), sample(2, 0), sample(1, 1024), sample(2, 1024), sample(2, 2048), sample(2, 3072),
	}, nil)
	f, err := NewFile(bytes.NewReader(data), FileConfig{Loop: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for range 11 {
		fr, err := f.Next()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, int64(fr.Track.ID)*1_000_000+fr.PTS)
	}
	want := []int64{
		2_000_000 - 1024, 1_000_000, 2_000_000, 1_001_024, 2_001_024, 2_002_048,
		1_003_072, 2_003_072, 1_004_096, 2_004_096, 2_005_120,
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("got  %v\nwant %v", got, want)
		}
	}
}

// A second of one track, then a second of another: they come out together.
func TestFileInterleavesTracks(t *testing.T) {
	data := header(trackBox(1, "soun", nil, opusEntry()), trackBox(2, "soun", nil, opusEntry()))
	for second := range int64(3) {
		for id := range uint32(2) {
			for n := range int64(50) {
				data = AppendFragment(data, 1, Sample{
					TrackID: id + 1, DTS: second*48000 + n*960, Duration: 960, Sync: true, Data: []byte("frame"),
				})
			}
		}
	}
	f, err := NewFile(bytes.NewReader(data), FileConfig{})
	if err != nil {
		t.Fatal(err)
	}
	frames := readAll(t, f)
	if len(frames) != 300 {
		t.Fatalf("%d frames, want 300", len(frames))
	}
	for i, fr := range frames {
		if want := int64(i/2) * 960; fr.DTS != want || fr.Track.ID != uint32(i%2)+1 {
			t.Fatalf("frame %d: track %d at %d, want track %d at %d", i, fr.Track.ID, fr.DTS, i%2+1, want)
		}
	}
}

// A file in which another begins, as when recordings are put together with cat.
func TestFileWithTwoHeaders(t *testing.T) {
	data := clip(t)
	f, err := NewFile(bytes.NewReader(append(bytes.Clone(data), data...)), FileConfig{})
	if err != nil {
		t.Fatal(err)
	}
	frames := readAll(t, f)
	if len(frames) != 2200 {
		t.Fatalf("%d frames, want 2200", len(frames))
	}
	for i, fr := range frames {
		if want := i / 1100; fr.Run != want {
			t.Fatalf("frame %d is of run %d, want %d", i, fr.Run, want)
		}
	}
	if f.Tracks()[0] != frames[2199].Track && f.Tracks()[1] != frames[2199].Track && f.Tracks()[2] != frames[2199].Track {
		t.Error("the tracks are not those of the second run")
	}
}

func TestFileIsASource(t *testing.T) {
	var _ media.Source = &File{}
	var _ media.Source = &Reader{}
	if media.Duration(48000, 48000) != time.Second {
		t.Error("a second")
	}
}

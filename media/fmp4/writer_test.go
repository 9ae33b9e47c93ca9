package fmp4

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/media"
)

// record writes frames and reads them again.
func record(t *testing.T, tracks []*media.Track, frames []media.Frame) ([]media.Frame, *Writer) {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, tracks, WriterConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		if err := w.Write(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if out.Len() == 0 {
		return nil, w
	}
	return readAll(t, newTestReader(t, &out)), w
}

// A recording on the wall clock begins at 0 and is otherwise the same.
func TestWriterStartsAtZero(t *testing.T) {
	r := newTestReader(t, bytes.NewReader(clip(t)))
	frames := readAll(t, r)
	tl := media.NewTimeline(media.TimelineConfig{})
	mapped := make([]media.Frame, len(frames))
	for i, f := range frames {
		mapped[i], _ = tl.Map(f)
	}
	got, w := record(t, r.Tracks(), mapped)
	if len(got) != len(frames) || w.Dropped() != 0 {
		t.Fatalf("%d frames of %d, dropped %d", len(got), len(frames), w.Dropped())
	}
	for _, track := range r.Tracks() {
		want, got := ofTrack(frames, track.ID), ofTrack(got, track.ID)
		for i := range want {
			// Rounding of the start may move a track by one unit.
			if d := got[i].DTS - want[i].DTS; d < -1 || d > 1 || got[i].PTS != got[i].DTS || got[i].Duration != want[i].Duration ||
				got[i].Key != want[i].Key || !bytes.Equal(got[i].Payload, want[i].Payload) {
				t.Fatalf("track %d frame %d: DTS %d PTS %d, want %d", track.ID, i, got[i].DTS, got[i].PTS, want[i].DTS)
			}
		}
	}
}

// testTrack is a track of packets of 20 ms.
func testTrack(id uint32) *media.Track {
	return &media.Track{ID: id, Kind: media.Audio, Codec: "opus", Timescale: 48000, SampleRate: 48000, Channels: 2}
}

func testFrame(track *media.Track, at time.Duration) media.Frame {
	ticks := media.Ticks(at, track.Timescale)
	return media.Frame{Track: track, DTS: ticks, PTS: ticks, Duration: 960, Key: true, Payload: []byte(at.String())}
}

// The file begins with the earliest frame, whichever comes first, so that tracks
// keep their distance. After Hold it no longer waits for a track.
func TestWriterWaitsForAllTracks(t *testing.T) {
	const ms = time.Millisecond
	a, b := testTrack(7), testTrack(3)
	got, _ := record(t, []*media.Track{a, b}, []media.Frame{
		testFrame(a, 5000*ms), testFrame(a, 5020*ms), testFrame(b, 4900*ms), testFrame(b, 4920*ms), testFrame(a, 5040*ms),
	})
	var starts [3]time.Duration
	for _, f := range got {
		if f.PTSTime() < starts[f.Track.ID] || starts[f.Track.ID] == 0 {
			starts[f.Track.ID] = f.PTSTime()
		}
	}
	if len(got) != 5 || ofTrack(got, 1)[0].PTSTime() != 100*ms || ofTrack(got, 2)[0].PTSTime() != 0 {
		t.Errorf("%d frames, the tracks begin at %v", len(got), starts[1:])
	}

	var frames []media.Frame
	for n := range 100 {
		frames = append(frames, testFrame(a, time.Duration(n)*20*ms+10*time.Second))
	}
	frames = append(frames, testFrame(b, 9*time.Second), testFrame(b, 11*time.Second))
	got, w := record(t, []*media.Track{a, b}, frames)
	if len(got) != 101 || w.Dropped() != 1 || ofTrack(got, 2)[0].PTSTime() != time.Second {
		t.Errorf("%d frames, dropped %d", len(got), w.Dropped())
	}
}

func TestWriterDropsWhatCameBefore(t *testing.T) {
	const ms = time.Millisecond
	a := testTrack(1)
	got, w := record(t, []*media.Track{a}, []media.Frame{
		testFrame(a, 0), testFrame(a, 20*ms), testFrame(a, 40*ms), testFrame(a, 20*ms), testFrame(a, 40*ms), testFrame(a, 60*ms),
	})
	if len(got) != 4 || w.Dropped() != 2 {
		t.Errorf("%d frames, dropped %d", len(got), w.Dropped())
	}
}

// A track whose configuration is not known is left out if nothing comes of it;
// if it comes with the frames, it is taken from there.
func TestWriterLateConfiguration(t *testing.T) {
	bare := &media.Track{ID: 1, Kind: media.Video, Codec: "av01.0.04M.08", Timescale: 48000, Width: 64, Height: 64}
	sound := testTrack(2)
	got, _ := record(t, []*media.Track{bare, sound}, []media.Frame{testFrame(sound, 0)})
	if len(got) != 1 {
		t.Errorf("%d frames, want 1", len(got))
	}
	full := *bare
	full.Config = []byte{0x81, 4, 12, 0}
	got, _ = record(t, []*media.Track{bare, sound}, []media.Frame{testFrame(sound, 0), testFrame(&full, 0)})
	if len(got) != 2 {
		t.Errorf("%d frames, want 2", len(got))
	}
	w, err := NewWriter(&bytes.Buffer{}, []*media.Track{bare}, WriterConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(testFrame(bare, 0)); !errors.Is(err, media.ErrMalformed) {
		t.Errorf("without a configuration: %v", err)
	}
}

func TestWriterRefuses(t *testing.T) {
	if _, err := NewWriter(&bytes.Buffer{}, nil, WriterConfig{}); err == nil {
		t.Error("no tracks were accepted")
	}
	if _, err := NewWriter(&bytes.Buffer{}, []*media.Track{testTrack(1), testTrack(1)}, WriterConfig{}); err == nil {
		t.Error("one id for two tracks was accepted")
	}
	w, err := NewWriter(&bytes.Buffer{}, []*media.Track{testTrack(1)}, WriterConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(testFrame(testTrack(2), 0)); err == nil {
		t.Error("a frame of a track that is not recorded was accepted")
	}
	if err := w.Flush(); err != nil {
		t.Errorf("nothing to write: %v", err)
	}
}

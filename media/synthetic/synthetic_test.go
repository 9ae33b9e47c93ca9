package synthetic

import (
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/media"
)

// The figures of the C4 test plan: 4,000 B/s of sound, 146,250 and 243,750 B/s of
// video, about 3.15 Mbit/s in all.
func TestTheCallOfTheTestPlan(t *testing.T) {
	s := New(Config{Duration: 5 * time.Second})
	type count struct{ frames, bytes, keys int }
	got := map[uint32]*count{1: {}, 2: {}, 3: {}}
	next := map[uint32]time.Duration{}
	var last time.Duration
	for {
		f, err := s.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		c := got[f.Track.ID]
		n := c.frames
		c.frames++
		c.bytes += len(f.Payload)
		if f.Key {
			c.keys++
		}
		if f.PTSTime() < last || f.PTS != f.DTS {
			t.Fatalf("a frame at %v after one at %v", f.PTSTime(), last)
		}
		last = f.PTSTime()
		if want := next[f.Track.ID]; (f.PTSTime() - want).Abs() > time.Microsecond {
			t.Fatalf("track %d, frame %d at %v, want %v", f.Track.ID, n, f.PTSTime(), want)
		}
		next[f.Track.ID] = f.PTSTime() + f.Length()
		want := map[uint32][2]int{1: {80, 80}, 2: {37500, 3750}, 3: {62500, 6250}}[f.Track.ID]
		size := want[1]
		if f.Track.ID != 1 && n%30 == 0 {
			size = want[0]
		}
		if len(f.Payload) != size {
			t.Fatalf("track %d, frame %d has %d bytes, want %d", f.Track.ID, n, len(f.Payload), size)
		}
		track, seq, err := Verify(f.Payload)
		if err != nil || track != f.Track.ID || seq != uint64(n) {
			t.Fatalf("track %d, frame %d is taken for frame %d of %d: %v", f.Track.ID, n, seq, track, err)
		}
	}
	for id, want := range map[uint32]count{1: {250, 5 * 4000, 250}, 2: {150, 5 * 146250, 5}, 3: {150, 5 * 243750, 5}} {
		if *got[id] != want {
			t.Errorf("track %d: %+v, want %+v", id, *got[id], want)
		}
	}
}

func TestTracks(t *testing.T) {
	var s media.Source = New(Config{})
	tracks := s.Tracks()
	if len(tracks) != 3 || tracks[0].Kind != media.Audio || tracks[1].Bitrate != 146250*8 || tracks[2].Bitrate != 243750*8 || tracks[0].Bitrate != 32000 {
		t.Errorf("%+v %+v %+v", tracks[0], tracks[1], tracks[2])
	}
	// Of frames at the same time the sound comes first, then the smaller video.
	for i := range 3 {
		if f, _ := s.Next(); f.Track != tracks[i] || f.PTS != 0 {
			t.Errorf("frame %d is of track %d at %d", i, f.Track.ID, f.PTS)
		}
	}
}

func TestVerifyFindsDamage(t *testing.T) {
	s := New(Config{})
	for range 3 {
		f, _ := s.Next()
		for _, i := range []int{0, 4, 9, 12, headerSize, len(f.Payload) - 1} {
			bad := append([]byte(nil), f.Payload...)
			bad[i] ^= 1
			if _, _, err := Verify(bad); !errors.Is(err, media.ErrMalformed) {
				t.Errorf("track %d, byte %d changed: error %v", f.Track.ID, i, err)
			}
		}
		for _, bad := range [][]byte{nil, f.Payload[:10], f.Payload[:len(f.Payload)-1], append(append([]byte(nil), f.Payload...), 0)} {
			if _, _, err := Verify(bad); !errors.Is(err, media.ErrMalformed) {
				t.Errorf("track %d, %d bytes of %d: error %v", f.Track.ID, len(bad), len(f.Payload), err)
			}
		}
	}
}

func BenchmarkNext(b *testing.B) {
	s := New(Config{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

// A new group begins in both videos at the same time, and goes on for its full length.
func TestNewGroup(t *testing.T) {
	s := New(Config{Duration: 5 * time.Second})
	keys := map[uint32][]int{} // frames of key frames, by track
	frames := map[uint32]int{}
	for {
		f, err := s.Next()
		if err == io.EOF {
			break
		}
		if f.Track.Kind == media.Video {
			if f.Key {
				keys[f.Track.ID] = append(keys[f.Track.ID], frames[f.Track.ID])
			}
			frames[f.Track.ID]++
			// Between the frames of the two videos, too.
			if n := frames[f.Track.ID]; f.Track.ID == 2 && (n == 11 || n == 50) {
				s.NewGroup()
			}
		}
	}
	want := []int{0, 11, 41, 50, 80, 110, 140}
	for id := uint32(2); id <= 3; id++ {
		if !slices.Equal(keys[id], want) {
			t.Errorf("track %d has key frames at %v, want %v", id, keys[id], want)
		}
	}
}

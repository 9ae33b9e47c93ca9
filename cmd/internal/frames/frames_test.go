package frames

import (
	"fmt"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/internal/ops"
	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/relay"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)

func properties(t testing.TB, list ...wire.Property) wire.Properties {
	t.Helper()
	p, err := wire.AppendProperties(nil, list, wire.Draft18)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func stamp(t testing.TB, at time.Time) wire.Properties {
	return properties(t, wire.Property{Type: media.PropertyTimestamp, Uint: uint64(at.UnixMicro())})
}

func TestKind(t *testing.T) {
	for name, want := range map[string]string{
		"video-720p": KindVideo, "Video": KindVideo, "audio": KindAudio, "audio-stream": KindAudio, "catalog": KindData, "catalog.json": KindData,
		".catalog": KindData, "0.audio": KindAudio, "1_video": KindVideo, "": kindOther, "chat": kindOther, "\xff": kindOther,
	} {
		if got := Kind(name); got != want {
			t.Errorf("%q: got %s, want %s", name, got, want)
		}
	}
}

func TestCaptureTime(t *testing.T) {
	micros := uint64(epoch.UnixMicro())
	for _, tt := range []struct {
		name string
		p    wire.Properties
		want time.Time // zero: not known
	}{
		{"none", nil, time.Time{}},
		{"microseconds", stamp(t, epoch), epoch},
		{"its own timescale", properties(t, wire.Property{Type: media.PropertyTimescale, Uint: 1000}, wire.Property{Type: media.PropertyTimestamp, Uint: micros / 1000}), epoch},
		{"captured earlier than shown", properties(t, wire.Property{Type: media.PropertyTimestamp, Uint: micros}, wire.Property{Type: media.PropertyCaptureOffset, Uint: 2*5000 - 1}), epoch.Add(-5 * time.Millisecond)},
		{"no timescale at all", properties(t, wire.Property{Type: media.PropertyTimescale}, wire.Property{Type: media.PropertyTimestamp, Uint: 1}), time.Time{}},
		{"out of range", properties(t, wire.Property{Type: media.PropertyTimestamp, Uint: 1<<62 - 1}, wire.Property{Type: media.PropertyCaptureOffset, Uint: 1<<62 - 1}), time.Time{}},
		{"malformed", wire.Properties{media.PropertyTimestamp, 0xff}, time.Time{}},
	} {
		got, ok := captureTime(tt.p)
		if ok == tt.want.IsZero() || (ok && !got.Equal(tt.want)) {
			t.Errorf("%s: got %v, %v", tt.name, got, ok)
		}
	}
	p := stamp(t, epoch)
	if n := testing.AllocsPerRun(100, func() { captureTime(p) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzCaptureTime(f *testing.F) {
	f.Add([]byte(stamp(f, epoch)))
	f.Add([]byte{8, 1, 8, 1})
	f.Fuzz(func(t *testing.T, b []byte) { captureTime(b) })
}

func TestObserver(t *testing.T) {
	m := New(ops.NewRegistry(ops.Build{}))
	o := m.Observer(1)
	video := o.Track(wire.FullTrackName{Name: "video-360p"}).(*Track)
	audio := o.Track(wire.FullTrackName{Name: "audio"}).(*Track)
	if video.Figures == nil || audio.Figures != nil {
		t.Fatal("figures of single tracks are not bounded")
	}
	for i := range 100 {
		at := epoch.Add(time.Duration(i) * 33 * time.Millisecond)
		video.Received(relay.ReceivedObject{Priority: 4, Bytes: 10, Properties: stamp(t, at), At: at.Add(20 * time.Millisecond)})
	}
	late := epoch.Add(5 * time.Second)
	video.Received(relay.ReceivedObject{Priority: 4, Bytes: 10, Properties: stamp(t, late), At: late.Add(120 * time.Millisecond)})
	video.Handed(4, time.Millisecond)
	video.Delivered(200, 40*time.Millisecond)

	// What cannot be right is counted, not measured.
	audio.Received(relay.ReceivedObject{Priority: 2, Bytes: 1, At: epoch})
	audio.Received(relay.ReceivedObject{Priority: 2, Bytes: 1, Properties: stamp(t, time.Unix(5, 0)), At: epoch})
	audio.Received(relay.ReceivedObject{Priority: 2, Bytes: 1, Properties: stamp(t, epoch.Add(time.Second)), At: epoch})
	audio.Received(relay.ReceivedObject{Priority: 2, At: epoch})

	wantMiddle := func(what string, s ops.DelaySnapshot, count uint64, middle time.Duration) {
		t.Helper()
		if got := s.Quantile(.5); s.Count != count || got < middle*95/100 || got > middle*105/100 {
			t.Errorf("%s: %d around %v, want %d around %v", what, s.Count, got, count, middle)
		}
	}
	wantMiddle("ingest of video", m.Delay(Ingest, KindVideo, 4).Snapshot(), 101, 20*time.Millisecond)
	wantMiddle("relay", m.Stage(Relay), 1, time.Millisecond)
	wantMiddle("delivery at a priority of its own", m.Delay(Delivery, KindVideo, 77).Snapshot(), 1, 40*time.Millisecond)
	s := m.Lateness(KindVideo, 4).Snapshot()
	if s.Count != 101 || s.Zero != 100 || s.Sum != 100*time.Millisecond {
		t.Errorf("lateness: %d, of these %d none, sum %v", s.Count, s.Zero, s.Sum)
	}
	if s := m.Delay(Ingest, KindAudio, 2).Snapshot(); s.Count != 1 || s.Zero != 1 {
		t.Errorf("ingest of audio: %d", s.Count)
	}

	// Figures of a track are those of the last periods.
	wantMiddle("the track's", video.Figures.Recent(Ingest), 101, 20*time.Millisecond)
	o.Tick()
	o.Tick()
	video.Received(relay.ReceivedObject{Priority: 4, Bytes: 10, Properties: stamp(t, late), At: late.Add(300 * time.Millisecond)})
	wantMiddle("the track's newest", video.Figures.Recent(Ingest), 1, 300*time.Millisecond)

	video.Ended()
	if next := o.Track(wire.FullTrackName{Name: "chat"}).(*Track); next.Figures == nil || next.Kind != "other" {
		t.Errorf("the place of a track that has ended is not free: %+v", next)
	}
}

// What peers choose, names and priorities, makes no series beyond those declared.
func TestCardinality(t *testing.T) {
	reg := ops.NewRegistry(ops.Build{})
	o := New(reg).Observer(10)
	for i := range 1000 {
		track := o.Track(wire.FullTrackName{Name: fmt.Sprint("x", i)})
		track.Received(relay.ReceivedObject{Priority: uint8(i), Bytes: 1, Properties: stamp(t, epoch), At: epoch})
		track.Handed(uint8(i), 0)
		track.Delivered(uint8(i), 0)
	}
	if n := reg.Series("moq_frame_delay_seconds"); n != 3*numSlots {
		t.Errorf("%d histograms, want %d", n, 3*numSlots)
	}
	if len(o.tracks) != 10 {
		t.Errorf("figures of %d tracks", len(o.tracks))
	}
}

func TestObserverAllocatesNothing(t *testing.T) {
	track := New(ops.NewRegistry(ops.Build{})).Observer(1).Track(wire.FullTrackName{Name: "video"})
	r := relay.ReceivedObject{Priority: 4, Bytes: 1, Properties: stamp(t, epoch), At: epoch}
	if n := testing.AllocsPerRun(100, func() {
		track.Received(r)
		track.Handed(4, time.Millisecond)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkHanded(b *testing.B) {
	track := New(ops.NewRegistry(ops.Build{})).Observer(1).Track(wire.FullTrackName{Name: "video"})
	for b.Loop() {
		track.Handed(4, time.Millisecond)
	}
}

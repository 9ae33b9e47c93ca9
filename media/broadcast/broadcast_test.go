package broadcast

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/media/catalog"
	"github.com/moq-c4/moq-c4/media/fmp4"
	"github.com/moq-c4/moq-c4/media/synthetic"
)

var testTime = time.UnixMilli(1_796_040_890_000)

func readClip(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("../../testdata/clip.mp4")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newBroadcast(t testing.TB, cfg Config, tracks []*media.Track) *Broadcast {
	t.Helper()
	cfg.Start = testTime
	b, err := New(cfg, tracks)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// list is a rendition to a line.
func list(renditions []media.Rendition) []string {
	var out []string
	for _, r := range renditions {
		s := fmt.Sprintf("%s %s priority %d alternates %d", r.Name, r.Packaging, r.Priority, r.AltGroup)
		if r.Datagram {
			s += " datagrams"
		}
		out = append(out, s)
	}
	return out
}

func TestRenditions(t *testing.T) {
	video := func(id uint32, height, bitrate int) *media.Track {
		return &media.Track{ID: id, Kind: media.Video, Width: height * 16 / 9, Height: height, Bitrate: bitrate, Init: []byte{0}}
	}
	sound := func(id uint32, language string) *media.Track {
		return &media.Track{ID: id, Kind: media.Audio, Language: language, Init: []byte{0}}
	}
	for _, c := range []struct {
		name   string
		tracks []*media.Track
		form   media.Packaging
		want   []string
	}{
		{
			"two sizes and sound",
			[]*media.Track{video(1, 720, 0), video(2, 360, 0), sound(3, "eng")},
			media.CMAF,
			[]string{
				"video-360p cmaf priority 4 alternates 1",
				"video-720p cmaf priority 6 alternates 1",
				"audio cmaf priority 2 alternates 2 datagrams",
				"audio-stream cmaf priority 2 alternates 2",
			},
		},
		{
			"one size, no sound, loc",
			[]*media.Track{video(1, 720, 0)},
			media.LOC,
			[]string{"video-720p loc priority 4 alternates 0"},
		},
		{
			"the same size at two rates",
			[]*media.Track{video(1, 720, 5000), video(2, 720, 1000)},
			media.CMAF,
			[]string{"video-720p cmaf priority 4 alternates 1", "video-720p-2 cmaf priority 6 alternates 1"},
		},
		{
			"languages",
			[]*media.Track{sound(1, "eng"), sound(2, "deu"), sound(3, ""), sound(4, "")},
			media.CMAF,
			[]string{
				"audio-eng cmaf priority 2 alternates 2 datagrams",
				"audio-eng-stream cmaf priority 2 alternates 2",
				"audio-deu cmaf priority 2 alternates 3 datagrams",
				"audio-deu-stream cmaf priority 2 alternates 3",
				"audio cmaf priority 2 alternates 4 datagrams",
				"audio-stream cmaf priority 2 alternates 4",
				"audio-2 cmaf priority 2 alternates 5 datagrams",
				"audio-2-stream cmaf priority 2 alternates 5",
			},
		},
		{
			"the synthetic call", synthetic.New(synthetic.Config{}).Tracks(), media.CMAF,
			[]string{
				"video-low loc priority 4 alternates 1",
				"video-mid loc priority 6 alternates 1",
				"audio loc priority 2 alternates 2 datagrams",
				"audio-stream loc priority 2 alternates 2",
			},
		},
	} {
		if got := list(name(c.tracks, c.form)); !slices.Equal(got, c.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, c.want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := New(Config{Packaging: "ts", Start: testTime}, synthetic.New(synthetic.Config{}).Tracks()); !errors.Is(err, media.ErrUnsupported) {
		t.Errorf("packaging ts: %v", err)
	}
	if _, err := New(Config{Start: testTime}, nil); !errors.Is(err, media.ErrUnsupported) {
		t.Errorf("no tracks: %v", err)
	}
	if _, err := NewUnpackager(media.Rendition{Packaging: "ts"}); !errors.Is(err, media.ErrUnsupported) {
		t.Errorf("unpacking ts: %v", err)
	}
}

// The synthetic call keeps its sizes, and arrives whole.
func TestSyntheticCall(t *testing.T) {
	source := synthetic.New(synthetic.Config{Duration: 2 * time.Second})
	b := newBroadcast(t, Config{}, source.Tracks())
	m, err := catalog.ParseMSF(b.MSF(testTime))
	if err != nil {
		t.Fatal(err)
	}
	renditions, skipped := m.Renditions()
	if len(renditions) != 4 || len(skipped) != 0 {
		t.Fatalf("%d renditions, skipped %v", len(renditions), skipped)
	}
	unpack := map[string]media.Unpackager{}
	for _, r := range renditions {
		if unpack[r.Name], err = NewUnpackager(r); err != nil {
			t.Fatal(err)
		}
	}
	var pacer media.Pacer
	counts := map[string]int{}
	for {
		f, err := source.Next()
		if err == io.EOF {
			break
		}
		f.Capture = pacer.Due(f, testTime)
		packets, events, err := b.Package(f)
		if err != nil || len(events) > 0 {
			t.Fatalf("events %v, error %v", events, err)
		}
		for _, p := range packets {
			n := counts[p.Track]
			counts[p.Track]++
			if _, seq, err := synthetic.Verify(p.Payload); err != nil || seq != uint64(n) {
				t.Fatalf("%s: frame %d is frame %d, error %v", p.Track, n, seq, err)
			}
			frames, err := unpack[p.Track].Unpack(p)
			if err != nil || len(frames) != 1 || frames[0].PTS != frames[0].DTS {
				t.Fatalf("%s: %+v, error %v", p.Track, frames, err)
			}
			if d := frames[0].Capture.Sub(f.Capture); d.Abs() > 500*time.Microsecond {
				t.Fatalf("%s: captured at %v, want %v", p.Track, frames[0].Capture, f.Capture)
			}
			group, object := uint64(n), uint64(0)
			if strings.HasPrefix(p.Track, "video") {
				group, object = uint64(n/30), uint64(n%30)
			}
			if p.Group != media.FirstGroup(testTime)+group || p.Object != object || p.Key != (object == 0) {
				t.Fatalf("%s: frame %d is at %d/%d, key %v", p.Track, n, p.Group, p.Object, p.Key)
			}
		}
	}
	want := map[string]int{"audio": 100, "audio-stream": 100, "video-low": 60, "video-mid": 60}
	for track, n := range want {
		if counts[track] != n {
			t.Errorf("%s: %d packets, want %d", track, counts[track], n)
		}
	}
	if b.Hang() != nil {
		t.Error("hang lists the synthetic call")
	}
}

// play packs frames of the clip over and over, n of them.
func play(t *testing.T, b *Broadcast, f *fmp4.File, n int, take func(media.Packet)) {
	t.Helper()
	var pacer media.Pacer
	for range n {
		fr, err := f.Next()
		if err != nil {
			t.Fatal(err)
		}
		fr.Capture = pacer.Due(fr, testTime)
		packets, events, err := b.Package(fr)
		if err != nil || len(events) > 0 {
			t.Fatalf("events %v, error %v", events, err)
		}
		for _, p := range packets {
			take(p)
		}
	}
}

// What travels in datagrams travels on streams too, byte for byte, with the same
// numbers, and datagrams are small enough to be one.
func TestSoundTravelsTwice(t *testing.T) {
	for _, packaging := range []media.Packaging{media.CMAF, media.LOC} {
		f, err := fmp4.NewFile(bytes.NewReader(readClip(t)), fmp4.FileConfig{})
		if err != nil {
			t.Fatal(err)
		}
		b := newBroadcast(t, Config{Packaging: packaging}, f.Tracks())
		var datagram media.Packet
		seen := 0
		play(t, b, f, 500, func(p media.Packet) {
			switch p.Track {
			case "audio":
				datagram = p
				seen++
				if !p.Datagram || !p.EndOfGroup || p.Object != 0 || !p.Key || p.Priority != media.PriorityAudio || len(p.Payload) > 1000 {
					t.Fatalf("datagram %+v", p)
				}
			case "audio-stream":
				want := datagram
				want.Track, want.Datagram = p.Track, false
				if p.Group != want.Group || p.Object != want.Object || p.EndOfGroup != want.EndOfGroup || p.Datagram ||
					&p.Payload[0] != &want.Payload[0] || &p.Properties[0] != &want.Properties[0] {
					t.Fatalf("stream %+v\nwant %+v", p, want)
				}
			default:
				if p.EndOfGroup || p.Datagram {
					t.Fatalf("video %+v", p)
				}
			}
		})
		if seen < 200 {
			t.Errorf("%d datagrams", seen)
		}
	}
}

// ffmpeg's fragments go out as they came, but for the 8 bytes of the time.
func TestFragmentsArePassedOn(t *testing.T) {
	f, err := fmp4.NewFile(bytes.NewReader(readClip(t)), fmp4.FileConfig{})
	if err != nil {
		t.Fatal(err)
	}
	b := newBroadcast(t, Config{}, f.Tracks())
	for n := range 200 {
		fr, err := f.Next()
		if err != nil {
			t.Fatal(err)
		}
		fr.Capture = testTime
		packets, _, err := b.Package(fr)
		if err != nil {
			t.Fatal(err)
		}
		got := packets[0].Payload
		at := bytes.Index(got, []byte("tfdt")) + 8
		if len(got) != len(fr.Raw) || !bytes.Equal(got[:at], fr.Raw[:at]) || !bytes.Equal(got[at+8:], fr.Raw[at+8:]) {
			t.Fatalf("frame %d of track %d was written anew", n, fr.Track.ID)
		}
	}
}

// A clip that is played for ever has groups that rise by 1 in all renditions
// together, and times that go on.
func TestLoop(t *testing.T) {
	f, err := fmp4.NewFile(bytes.NewReader(readClip(t)), fmp4.FileConfig{Loop: true})
	if err != nil {
		t.Fatal(err)
	}
	b := newBroadcast(t, Config{}, f.Tracks())
	groups := map[string]uint64{}
	counts := map[string]int{}
	captured := map[string]time.Time{}
	play(t, b, f, 3*1100, func(p media.Packet) {
		n := counts[p.Track]
		counts[p.Track]++
		step := time.Second / 30
		perGroup := 30
		if strings.HasPrefix(p.Track, "audio") {
			step, perGroup = 20*time.Millisecond, 1
		}
		if p.Group != media.FirstGroup(testTime)+uint64(n/perGroup) || p.Object != uint64(n%perGroup) {
			t.Fatalf("%s: packet %d is at %d/%d", p.Track, n, p.Group, p.Object)
		}
		groups[p.Track] = p.Group
		if last, ok := captured[p.Track]; ok && (p.Capture.Sub(last)-step).Abs() > time.Microsecond {
			t.Fatalf("%s: packet %d was captured %v after the one before", p.Track, n, p.Capture.Sub(last))
		}
		captured[p.Track] = p.Capture
	})
	if groups["video-360p"] != groups["video-720p"] || counts["video-360p"] != 900 {
		t.Errorf("groups %v, packets %v", groups, counts)
	}
}

// The source starts over with another size: groups go on, the names and the
// catalogs change.
func TestSourceStartsOver(t *testing.T) {
	data := readClip(t)
	r, err := fmp4.NewReader(io.MultiReader(bytes.NewReader(data[:1_000_000]), bytes.NewReader(data)), fmp4.ReaderConfig{})
	if err != nil {
		t.Fatal(err)
	}
	b := newBroadcast(t, Config{}, r.Tracks())
	now := testTime
	groups := map[string]uint64{}
	var kinds []string
	run := 0
	for {
		f, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if f.Run != run {
			run = f.Run
			if changed, err := b.Update(r.Tracks()); changed || err != nil {
				t.Fatalf("the same tracks: changed %v, error %v", changed, err)
			}
			now = now.Add(3 * time.Second)
		}
		now = now.Add(time.Millisecond)
		f.Capture = now
		packets, events, err := b.Package(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			kinds = append(kinds, e.Kind.String())
		}
		for _, p := range packets {
			last, seen := groups[p.Track]
			if seen && p.Group != last && p.Group != last+1 {
				t.Fatalf("%s: group %d after %d", p.Track, p.Group, last)
			}
			groups[p.Track] = p.Group
		}
	}
	if !slices.Equal(kinds, []string{"restart"}) || run != 1 {
		t.Errorf("events %q, run %d", kinds, run)
	}
	if groups["video-360p"] != groups["video-720p"] {
		t.Errorf("the renditions are not aligned: %v", groups)
	}

	bigger := *r.Tracks()[0]
	bigger.Width, bigger.Height = 1920, 1080
	changed, err := b.Update([]*media.Track{&bigger, r.Tracks()[1]})
	if err != nil || !changed {
		t.Fatalf("another size: changed %v, error %v", changed, err)
	}
	if got := list(b.Renditions()); len(got) != 2 || !strings.HasPrefix(got[1], "video-1080p ") {
		t.Errorf("renditions %q", got)
	}
	if !strings.Contains(string(b.MSF(testTime)), "video-1080p") || !strings.Contains(string(b.Hang()), "video-1080p") {
		t.Error("the catalogs do not list the new size")
	}
	if _, _, err := b.Package(media.Frame{Track: &media.Track{ID: 99, Timescale: 1}}); !errors.Is(err, media.ErrMalformed) {
		t.Errorf("a frame of an unknown track: %v", err)
	}
}

// frame is a frame of a made-up track, one of 30 a second.
func frame(track *media.Track, n int, key bool) media.Frame {
	t := int64(n) * 3000
	return media.Frame{
		Track: track, DTS: t, PTS: t, Duration: 3000, Key: key, Payload: []byte("frame"),
		Capture: testTime.Add(time.Duration(n) * time.Second / 30),
	}
}

func TestEvents(t *testing.T) {
	high := &media.Track{ID: 1, Kind: media.Video, Codec: "x", Timescale: 90000, Label: "high", Bitrate: 2}
	low := &media.Track{ID: 2, Kind: media.Video, Codec: "x", Timescale: 90000, Label: "low", Bitrate: 1}
	b := newBroadcast(t, Config{Packaging: media.LOC}, []*media.Track{high, low})
	var got []string
	put := func(f media.Frame, packets int) {
		t.Helper()
		p, events, err := b.Package(f)
		if err != nil || len(p) != packets {
			t.Fatalf("%d packets, error %v", len(p), err)
		}
		for _, e := range events {
			got = append(got, fmt.Sprintf("%s %d", e.Kind, e.Track.ID))
		}
	}
	want := func(why string, events ...string) {
		t.Helper()
		if !slices.Equal(got, events) {
			t.Fatalf("%s: events %q, want %q", why, got, events)
		}
		got = nil
	}
	put(frame(high, 0, false), 0)
	put(frame(high, 1, false), 0)
	want("frames before the first key frame are told once", "no_key 1")
	for n := 2; n < 62; n++ {
		put(frame(high, n, n == 2 || n == 32), 1)
		put(frame(low, n, n == 2), 1)
	}
	want("key frames at the same times")
	if !strings.Contains(string(b.MSF(testTime)), `"altGroup":1`) {
		t.Error("the renditions are no alternates")
	}
	put(frame(high, 62, false), 1)
	put(frame(low, 62, true), 1)
	put(frame(low, 63, false), 1)
	want("a key frame where the other has none", "misaligned 2")
	for _, r := range b.Renditions() {
		if (r.AltGroup == 0) != (r.Name == "video-low") {
			t.Errorf("after that: %+v", r)
		}
	}
}

func BenchmarkPackage(b *testing.B) {
	for _, packaging := range []media.Packaging{media.CMAF, media.LOC} {
		b.Run(string(packaging), func(b *testing.B) {
			f, err := fmp4.NewFile(bytes.NewReader(readClip(b)), fmp4.FileConfig{Loop: true})
			if err != nil {
				b.Fatal(err)
			}
			bc := newBroadcast(b, Config{Packaging: packaging}, f.Tracks())
			frames := make([]media.Frame, 1100)
			for i := range frames {
				if frames[i], err = f.Next(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				fr := frames[n%len(frames)]
				pass := time.Duration(n/len(frames)) * 10 * time.Second
				fr.DTS += media.Ticks(pass, fr.Track.Timescale)
				fr.PTS += media.Ticks(pass, fr.Track.Timescale)
				fr.Capture = testTime.Add(fr.DTSTime())
				if _, _, err := bc.Package(fr); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

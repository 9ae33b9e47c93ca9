package cmaf

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/media/fmp4"
)

// start is a decode time on the wall clock, past what 32 bits hold.
const start = 1_796_040_890 * 15360

var captured = time.UnixMicro(1_796_040_890_123_456)

func testTrack(t testing.TB) *media.Track {
	t.Helper()
	track := &media.Track{
		ID: 2, Kind: media.Video, Codec: "vp09.00.10.08", Timescale: 15360, Width: 320, Height: 180,
		Config: []byte{1, 0, 0, 0, 0, 10, 0x82, 2, 2, 2, 0, 0},
	}
	init, err := fmp4.BuildInit(track)
	if err != nil {
		t.Fatal(err)
	}
	track.Init = init
	return track
}

func pack(t testing.TB, p *Packager, f media.Frame) media.Packet {
	t.Helper()
	payload, properties, err := p.Pack(f, f.Key)
	if err != nil {
		t.Fatal(err)
	}
	return media.Packet{Payload: payload, Properties: properties}
}

func unpack(t testing.TB, track *media.Track, p media.Packet) []media.Frame {
	t.Helper()
	u, err := NewUnpackager(track)
	if err != nil {
		t.Fatal(err)
	}
	frames, err := u.Unpack(p)
	if err != nil {
		t.Fatal(err)
	}
	return frames
}

func TestThereAndBack(t *testing.T) {
	track := testTrack(t)
	var p Packager
	for _, f := range []media.Frame{
		{Track: track, DTS: start, PTS: start, Duration: 512, Key: true, Payload: []byte("key"), Capture: captured},
		{Track: track, DTS: start + 512, PTS: start + 2048, Duration: 512, Payload: []byte("later"), Capture: captured},
		{Track: track, DTS: start + 1024, PTS: start + 512, Duration: 1, Payload: []byte("earlier")},
	} {
		packet := pack(t, &p, f)
		got := unpack(t, track, packet)
		if len(got) != 1 {
			t.Fatalf("%d frames", len(got))
		}
		if got[0].DTS != f.DTS || got[0].PTS != f.PTS || got[0].Duration != f.Duration || got[0].Key != f.Key ||
			!bytes.Equal(got[0].Payload, f.Payload) || !got[0].Capture.Equal(f.Capture) || got[0].Track != track {
			t.Errorf("got  %+v\nwant %+v", got[0], f)
		}
	}
}

// A fragment that says all is passed on as it came, but for its time.
func TestFragmentsArePassedOn(t *testing.T) {
	track := testTrack(t)
	raw := fmp4.AppendFragment(nil, 7, fmp4.Sample{TrackID: 2, DTS: 1024, Offset: 512, Duration: 512, Sync: true, Data: []byte("data")})
	f := media.Frame{Track: track, DTS: start, PTS: start + 512, Duration: 512, Key: true, Payload: []byte("data"), Raw: raw}
	want := fmp4.AppendFragment(nil, 7, fmp4.Sample{TrackID: 2, DTS: start, Offset: 512, Duration: 512, Sync: true, Data: []byte("data")})
	if got := pack(t, &Packager{}, f).Payload; !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
	// Not if it says otherwise than the frame.
	for name, change := range map[string]func(*media.Frame){
		"another duration": func(f *media.Frame) { f.Duration = 513 },
		"another offset":   func(f *media.Frame) { f.PTS++ },
		"no key frame":     func(f *media.Frame) { f.Key = false },
		"another track":    func(f *media.Frame) { t := *track; t.ID = 3; f.Track = &t },
		"garbage":          func(f *media.Frame) { f.Raw = []byte("garbage") },
	} {
		other := f
		change(&other)
		packet := pack(t, &Packager{seq: 40}, other)
		want := fmp4.AppendFragment(nil, 41, fmp4.FrameSample(other, other.Track.ID))
		if !bytes.Equal(packet.Payload, want) {
			t.Errorf("%s: got %x\nwant %x", name, packet.Payload, want)
		}
	}
}

func TestPackRefusesTimesBeforeTheEpoch(t *testing.T) {
	if _, _, err := (&Packager{}).Pack(media.Frame{Track: testTrack(t), DTS: -1}, true); !errors.Is(err, media.ErrMalformed) {
		t.Errorf("error %v", err)
	}
}

// Objects of others may hold several chunks, each with several samples, and
// leave things to the header.
func TestUnpackSeveral(t *testing.T) {
	track := testTrack(t)
	a := fmp4.AppendFragment(nil, 1, fmp4.Sample{TrackID: 2, DTS: start, Duration: 512, Sync: true, Data: []byte("a")})
	b := fmp4.AppendFragment(nil, 2, fmp4.Sample{TrackID: 2, DTS: start + 512, Duration: 512, Data: []byte("b")})
	frames := unpack(t, track, media.Packet{
		Payload:    append(a, b...),
		Properties: []media.Property{{ID: media.PropertyTimestamp, Value: uint64(captured.UnixMicro())}},
	})
	if len(frames) != 2 || frames[1].DTS != start+512 || !frames[0].Capture.Equal(captured) || !frames[1].Capture.IsZero() {
		t.Errorf("%+v", frames)
	}
}

func TestUnpackRefuses(t *testing.T) {
	track := testTrack(t)
	u, err := NewUnpackager(track)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		payload []byte
		want    string
	}{
		{nil, "not found"},
		{[]byte("garbage"), `box "?" at offset 0`},
		{fmp4.AppendFragment(nil, 1, fmp4.Sample{TrackID: 3, Data: []byte("a")}), "track 3"},
	} {
		_, err := u.Unpack(media.Packet{Group: 5, Object: 6, Payload: c.payload})
		if !errors.Is(err, media.ErrMalformed) || !strings.HasPrefix(err.Error(), "cmaf object 6 of group 5: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
	other := *track
	other.Timescale = 90000
	for name, bad := range map[string]*media.Track{"no header": {}, "another timescale": &other} {
		if _, err := NewUnpackager(bad); !errors.Is(err, media.ErrMalformed) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	track := testTrack(f)
	f.Add(fmp4.AppendFragment(nil, 1, fmp4.Sample{TrackID: 2, DTS: start, Duration: 512, Offset: 5, Data: []byte("a")}), uint64(5))
	u, err := NewUnpackager(track)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, payload []byte, timestamp uint64) {
		frames, err := u.Unpack(media.Packet{Payload: payload, Properties: []media.Property{{ID: media.PropertyTimestamp, Value: timestamp}}})
		if err != nil && !errors.Is(err, media.ErrMalformed) {
			t.Fatal(err)
		}
		for _, fr := range frames {
			fr.PTSTime()
			if fr.DTS < 0 {
				continue
			}
			if _, _, err := (&Packager{}).Pack(fr, true); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func BenchmarkPack(b *testing.B) {
	track := testTrack(b)
	f := media.Frame{Track: track, DTS: start, PTS: start, Duration: 512, Payload: make([]byte, 6250), Capture: captured}
	var p Packager
	b.ReportAllocs()
	b.SetBytes(int64(len(f.Payload)))
	for b.Loop() {
		if _, _, err := p.Pack(f, false); err != nil {
			b.Fatal(err)
		}
	}
}

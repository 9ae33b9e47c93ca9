package loc

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/media"
)

// start is 2026-11-30 in seconds.
const start = 1_796_040_890

var (
	avcC  = []byte{1, 0x42, 0xc0, 0x1e, 0xff, 0xe0, 0, 0}
	video = &media.Track{ID: 1, Kind: media.Video, Codec: "avc1.42c01e", Timescale: 15360, Framerate: 30, Config: avcC}
	opus  = &media.Track{ID: 2, Kind: media.Audio, Codec: "opus", Timescale: 48000, SampleRate: 48000, Channels: 2, Config: []byte("OpusHead\x01\x02\x38\x01\x80\xbb\x00\x00\x00\x00\x00")}
	aac   = &media.Track{ID: 3, Kind: media.Audio, Codec: "mp4a.40.2", Timescale: 44100, SampleRate: 44100, Channels: 2, Config: []byte{0x12, 0x10}}
)

func videoFrame(n int64, payload string) media.Frame {
	t := start*15360 + n*512
	return media.Frame{Track: video, DTS: t, PTS: t, Duration: 512, Key: n == 0, Payload: []byte(payload)}
}

// The properties, by the text of the draft.
func TestPack(t *testing.T) {
	const micros = start * 1_000_000
	for _, c := range []struct {
		name  string
		frame media.Frame
		first bool
		want  []media.Property
	}{
		{
			"a key frame brings the configuration", videoFrame(0, "key"), true,
			[]media.Property{{ID: 0x0d, Bytes: avcC}, {ID: 0x10, Value: micros}},
		},
		{
			"the others do not; times are rounded", videoFrame(1, "delta"), false,
			[]media.Property{{ID: 0x10, Value: micros + 33333}},
		},
		{
			"captured a little later", func() media.Frame {
				f := videoFrame(0, "key")
				f.Capture = time.UnixMicro(micros + 20_000)
				return f
			}(), false,
			[]media.Property{{ID: 0x10, Value: micros}, {ID: media.PropertyCaptureOffset, Value: 40_000}},
		},
		{
			"captured earlier", func() media.Frame {
				f := videoFrame(0, "key")
				f.Capture = time.UnixMicro(micros - 20_000)
				return f
			}(), false,
			[]media.Property{{ID: 0x10, Value: micros}, {ID: media.PropertyCaptureOffset, Value: 39_999}},
		},
		{
			"captured at about its time", func() media.Frame {
				f := videoFrame(0, "key")
				f.Capture = time.UnixMicro(micros + 499)
				return f
			}(), false,
			[]media.Property{{ID: 0x10, Value: micros}},
		},
		{
			"AAC needs its configuration",
			media.Frame{Track: aac, PTS: start * 44100, Payload: []byte("x")},
			true,
			[]media.Property{{ID: 0x0f, Bytes: aac.Config}, {ID: 0x10, Value: micros}},
		},
		{
			"Opus does not",
			media.Frame{Track: opus, PTS: start * 48000, Payload: []byte("x")},
			true,
			[]media.Property{{ID: 0x10, Value: micros}},
		},
	} {
		payload, properties, err := Packager{}.Pack(c.frame, c.first)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !bytes.Equal(payload, c.frame.Payload) {
			t.Errorf("%s: payload %q", c.name, payload)
		}
		if !reflect.DeepEqual(properties, c.want) {
			t.Errorf("%s:\ngot  %v\nwant %v", c.name, properties, c.want)
		}
		for i := 1; i < len(properties); i++ {
			if properties[i].ID <= properties[i-1].ID {
				t.Errorf("%s: the properties are out of order", c.name)
			}
		}
	}
	if _, _, err := (Packager{}).Pack(media.Frame{Track: video, PTS: -1}, true); !errors.Is(err, media.ErrMalformed) {
		t.Errorf("before the epoch: error %v", err)
	}
}

func TestZigzag(t *testing.T) {
	for _, v := range []int64{0, 1, -1, 20_000, -20_000, 1 << 62, -1 << 62} {
		if got := unzigzag(zigzag(v)); got != v {
			t.Errorf("%d came back as %d", v, got)
		}
	}
	if zigzag(-1) != 1 || zigzag(1) != 2 {
		t.Error("small values of either sign are not small")
	}
}

// unpackAll packs frames and unpacks the packets again.
func unpackAll(t *testing.T, track *media.Track, frames []media.Frame) []media.Frame {
	t.Helper()
	u, err := NewUnpackager(track)
	if err != nil {
		t.Fatal(err)
	}
	var out []media.Frame
	object := uint64(0)
	for _, f := range frames {
		if object++; f.Key {
			object = 0
		}
		payload, properties, err := Packager{}.Pack(f, f.Key)
		if err != nil {
			t.Fatal(err)
		}
		got, err := u.Unpack(media.Packet{Object: object, Payload: payload, Properties: properties})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, got...)
	}
	return out
}

// Times come back exactly, though they travel in microseconds.
func TestThereAndBack(t *testing.T) {
	for _, track := range []*media.Track{video, opus, aac} {
		step := int64(512)
		payload := []byte{0, 0, 0, 2, 0x41, 0x9a}
		switch track {
		case opus:
			step, payload = 960, []byte{0xfc}
		case aac:
			step = 1024
		}
		var frames []media.Frame
		for n := range int64(200) {
			at := start*int64(track.Timescale) + 7 + n*step
			frames = append(frames, media.Frame{
				Track: track, DTS: at, PTS: at, Duration: step, Payload: payload,
				Key: track.Kind == media.Audio || n%30 == 0, Capture: time.UnixMicro(start*1_000_000 + n),
			})
		}
		for i, got := range unpackAll(t, track, frames) {
			want := frames[i]
			if got.DTS != want.DTS || got.PTS != want.PTS || got.Duration != want.Duration || got.Key != want.Key || !bytes.Equal(got.Payload, want.Payload) {
				t.Fatalf("%s, frame %d:\ngot  %+v\nwant %+v", track.Codec, i, got, want)
			}
			if d := got.Capture.Sub(want.Capture); d.Abs() > minOffset {
				t.Fatalf("%s, frame %d: captured at %v, want %v", track.Codec, i, got.Capture, want.Capture)
			}
			if got.Track != track {
				t.Fatalf("%s, frame %d is of another track", track.Codec, i)
			}
		}
	}
}

// Of the ids that the timestamp had in the drafts, the newest counts.
func TestTimestampOfOlderDrafts(t *testing.T) {
	for _, c := range []struct {
		name       string
		properties []media.Property
		pts        int64
		captured   bool
	}{
		{"draft-04", []media.Property{{ID: 0x10, Value: 2_000_000}}, 30720, true},
		{"draft-02", []media.Property{{ID: 0x06, Value: 2_000_000}}, 30720, true},
		{"draft-00", []media.Property{{ID: 0x02, Value: 2_000_000}}, 30720, true},
		{"all of them", []media.Property{{ID: 0x02, Value: 5}, {ID: 0x06, Value: 6}, {ID: 0x10, Value: 2_000_000}}, 30720, true},
		{"with a timescale it is no wall clock time", []media.Property{{ID: 0x08, Value: 90000}, {ID: 0x10, Value: 45000}}, 7680, false},
	} {
		u, err := NewUnpackager(video)
		if err != nil {
			t.Fatal(err)
		}
		frames, err := u.Unpack(media.Packet{Properties: c.properties, Payload: []byte("x")})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if frames[0].PTS != c.pts || frames[0].Capture.IsZero() == c.captured {
			t.Errorf("%s: PTS %d, captured at %v", c.name, frames[0].PTS, frames[0].Capture)
		}
	}
}

func TestUnpackRefuses(t *testing.T) {
	for _, c := range []struct {
		name       string
		properties []media.Property
		want       string
	}{
		{"no timestamp", nil, "has no timestamp"},
		{"timescale 0", []media.Property{{ID: 0x08}, {ID: 0x10, Value: 1}}, "property 0x08: timescale 0"},
		{"timescale too large", []media.Property{{ID: 0x08, Value: 1 << 40}, {ID: 0x10, Value: 1}}, "property 0x08"},
		{"a time past the end of time", []media.Property{{ID: 0x10, Value: 1 << 63}}, "property 0x10: timestamp 9223372036854775808"},
	} {
		u, err := NewUnpackager(video)
		if err != nil {
			t.Fatal(err)
		}
		_, err = u.Unpack(media.Packet{Group: 5, Object: 6, Properties: c.properties, Payload: []byte("x")})
		if !errors.Is(err, media.ErrMalformed) || !strings.HasPrefix(err.Error(), "loc object 6 of group 5: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := NewUnpackager(&media.Track{Timescale: 1 << 31}); !errors.Is(err, media.ErrMalformed) {
		t.Errorf("a timescale past bounds: %v", err)
	}
}

func TestUnpackEmptyObject(t *testing.T) {
	u, err := NewUnpackager(video)
	if err != nil {
		t.Fatal(err)
	}
	frames, err := u.Unpack(media.Packet{Properties: []media.Property{{ID: 0x10, Value: 1}}})
	if err != nil || len(frames) != 0 {
		t.Errorf("%d frames, error %v", len(frames), err)
	}
}

// Where the catalog does not have the configuration, the frames bring it.
func TestConfigurationInTheObjects(t *testing.T) {
	bare := *video
	bare.Config, bare.Codec = nil, "avc1"
	u, err := NewUnpackager(&bare)
	if err != nil {
		t.Fatal(err)
	}
	payload, properties, err := Packager{}.Pack(videoFrame(0, "key"), true)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		frames, err := u.Unpack(media.Packet{Payload: payload, Properties: properties})
		if err != nil {
			t.Fatal(err)
		}
		got := frames[0].Track
		if !bytes.Equal(got.Config, avcC) || got.ID != bare.ID || got.Codec != "avc1.42c01e" || got == &bare {
			t.Errorf("the track is %+v", got)
		}
	}
	if bare.Config != nil {
		t.Error("the track that was given was changed")
	}
}

func TestLegacy(t *testing.T) {
	u, err := NewLegacyUnpackager(&media.Track{Kind: media.Audio, Codec: "opus", SampleRate: 48000, Channels: 2})
	if err != nil {
		t.Fatal(err)
	}
	// 151,288,809,941,952,652 is the example of RFC 9000 Section A.1; it is past our bounds.
	for _, c := range []struct {
		payload string
		pts     int64
		bad     bool
	}{
		{"\x25\xfc", 37, false},
		{"\x7b\xbd\xfc", 15293, false},
		{"\x9d\x7f\x3e\x7d\xfc", 494878333, false},
		{"\xc2\x19\x7c\x5e\xff\x14\xe8\x8c\xfc", 0, true},
		{"\x7b", 0, true},
		{"", 0, true},
	} {
		frames, err := u.Unpack(media.Packet{Payload: []byte(c.payload)})
		if c.bad {
			if !errors.Is(err, media.ErrMalformed) {
				t.Errorf("%x: error %v", c.payload, err)
			}
			continue
		}
		if err != nil || len(frames) != 1 || frames[0].PTS != c.pts || string(frames[0].Payload) != "\xfc" || frames[0].Duration != 20_000 {
			t.Errorf("%x: %+v, error %v", c.payload, frames, err)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(uint64(media.PropertyTimestamp), uint64(start*1_000_000), uint64(90000), []byte{0x12, 0x10}, []byte("payload"), false)
	f.Add(uint64(media.PropertyTimescale), uint64(0), uint64(0), avcC, []byte{}, true)
	f.Fuzz(func(t *testing.T, id, value, timescale uint64, config, payload []byte, legacy bool) {
		for _, track := range []*media.Track{video, opus} {
			u, err := newUnpackager(track, legacy)
			if err != nil {
				t.Fatal(err)
			}
			var last int64
			for object := range uint64(3) {
				frames, err := u.Unpack(media.Packet{Object: object, Payload: payload, Properties: []media.Property{
					{ID: media.PropertyTimescale, Value: timescale},
					{ID: media.PropertyVideoConfig, Bytes: config},
					{ID: media.PropertyTimestamp, Value: value},
					{ID: id, Value: value, Bytes: config},
				}})
				if err != nil && !errors.Is(err, media.ErrMalformed) {
					t.Fatal(err)
				}
				for _, fr := range frames {
					if object > 0 && fr.DTS <= last {
						t.Fatalf("decode time %d after %d", fr.DTS, last)
					}
					last = fr.DTS
				}
			}
		}
	})
}

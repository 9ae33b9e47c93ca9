package fmp4

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	mcfmp4 "github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/mp4/codecs"

	"github.com/moq-c4/moq-c4/media"
)

// clipHeader is the ftyp and moov of the clip.
func clipHeader(t testing.TB) []byte {
	t.Helper()
	b := clip(t)
	boxes, err := children(b, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := len(boxes[0].raw) + len(boxes[1].raw)
	return b[:n:n]
}

func TestParseHeader(t *testing.T) {
	h, err := ParseHeader(clipHeader(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Tracks) != 3 || len(h.Skipped) != 0 {
		t.Fatalf("%d tracks, skipped %q", len(h.Tracks), h.Skipped)
	}
	for i, want := range []media.Track{
		{ID: 1, Kind: media.Video, Codec: "avc1.4d401f", Timescale: 15360, Width: 1280, Height: 720, Framerate: 30},
		{ID: 2, Kind: media.Video, Codec: "avc1.4d401e", Timescale: 15360, Width: 640, Height: 360, Framerate: 30},
		{ID: 3, Kind: media.Audio, Codec: "opus", Timescale: 48000, SampleRate: 48000, Channels: 2},
	} {
		got := *h.Tracks[i]
		if got.Bitrate == 0 && want.Kind == media.Video {
			t.Errorf("track %d: no bitrate", got.ID)
		}
		if len(got.Config) == 0 {
			t.Errorf("track %d: no configuration", got.ID)
		}
		got.Bitrate, got.Config, got.Init, got.Priming = 0, nil, nil, 0
		if !equalTracks(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
}

func equalTracks(a, b media.Track) bool {
	return a.ID == b.ID && a.Kind == b.Kind && a.Codec == b.Codec && a.Timescale == b.Timescale &&
		a.Width == b.Width && a.Height == b.Height && a.Framerate == b.Framerate &&
		a.SampleRate == b.SampleRate && a.Channels == b.Channels && a.Bitrate == b.Bitrate &&
		a.Language == b.Language && a.Label == b.Label && bytes.Equal(a.Config, b.Config)
}

// Each track's header is one of its own, and readable for others.
func TestTrackInit(t *testing.T) {
	h, err := ParseHeader(clipHeader(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, track := range h.Tracks {
		var init mcfmp4.Init
		if err := init.Unmarshal(bytes.NewReader(track.Init)); err != nil {
			t.Fatalf("track %d: %v", track.ID, err)
		}
		if len(init.Tracks) != 1 || init.Tracks[0].ID != int(track.ID) || init.Tracks[0].TimeScale != track.Timescale {
			t.Errorf("track %d: %+v", track.ID, init.Tracks)
		}
		again, err := ParseHeader(track.Init)
		if err != nil {
			t.Fatal(err)
		}
		if len(again.Tracks) != 1 || !equalTracks(*again.Tracks[0], *track) {
			t.Errorf("track %d came back as %+v", track.ID, again.Tracks[0])
		}
		if _, ok := again.Defaults[track.ID]; !ok {
			t.Errorf("track %d: no trex", track.ID)
		}
	}
}

func TestBuildInit(t *testing.T) {
	h, err := ParseHeader(clipHeader(t))
	if err != nil {
		t.Fatal(err)
	}
	aac := &media.Track{
		ID: 9, Kind: media.Audio, Codec: "mp4a.40.2", Timescale: 44100, SampleRate: 44100, Channels: 2,
		Bitrate: 128000, Config: []byte{0x12, 0x10}, Language: "deu",
	}
	vp9 := &media.Track{
		ID: 2, Kind: media.Video, Codec: "vp09.00.10.08", Timescale: 1000, Width: 320, Height: 180,
		Config: []byte{1, 0, 0, 0, 0, 10, 0x82, 2, 2, 2, 0, 0},
	}
	av1 := &media.Track{
		ID: 2, Kind: media.Video, Codec: "av01.0.04M.08", Timescale: 90000, Width: 320, Height: 180,
		Config: []byte{0x81, 4, 12, 0},
	}
	for _, track := range append(h.Tracks, aac, vp9, av1) {
		init, err := BuildInit(track)
		if err != nil {
			t.Fatalf("%s: %v", track.Codec, err)
		}
		again, err := ParseHeader(init)
		if err != nil {
			t.Fatalf("%s: %v", track.Codec, err)
		}
		want := *track
		if want.Codec != aac.Codec {
			want.Bitrate = 0
		}
		if got := *again.Tracks[0]; !equalTracks(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		if track == av1 {
			continue // the other reader wants an OBU in the configuration
		}
		var other mcfmp4.Init
		if err := other.Unmarshal(bytes.NewReader(init)); err != nil {
			t.Errorf("%s: %v", track.Codec, err)
			continue
		}
		switch c := other.Tracks[0].Codec.(type) {
		case *codecs.H264:
			if len(c.SPS) == 0 || len(c.PPS) == 0 {
				t.Errorf("%s: no parameter sets", track.Codec)
			}
		case *codecs.Opus:
			if c.ChannelCount != track.Channels {
				t.Errorf("%s: %d channels", track.Codec, c.ChannelCount)
			}
		case *codecs.MPEG4Audio:
			if c.Config.SampleRate != track.SampleRate || int(c.Config.ChannelConfig) != track.Channels {
				t.Errorf("%s: %+v", track.Codec, c.Config)
			}
		case *codecs.VP9:
		default:
			t.Errorf("%s was taken for %T", track.Codec, c)
		}
	}
	for _, bad := range []*media.Track{
		{Codec: "synthetic", Timescale: 1},
		{Codec: "avc1.42c01e", Timescale: 1},
		{Codec: "opus"},
	} {
		if _, err := BuildInit(bad); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

// trackBox makes a trak with the sample entry given.
func trackBox(id uint32, handler string, edts []byte, entry []byte) []byte {
	return parent("trak",
		full("tkhd", 0, 3, 0, 0, id, 0, 0),
		edts,
		parent("mdia",
			full("mdhd", 0, 0, 0, 0, 48000, 0, uint32(packLanguage("eng"))<<16),
			full("hdlr", 0, 0, 0, 0),
			parent("minf", parent("stbl", appendFull(nil, "stsd", 0, 0, func(b []byte) []byte {
				return append(be32(b, 1), entry...)
			})))))
}

// opusEntry is the sample entry of a sound track that is handled.
func opusEntry() []byte {
	t := &media.Track{Kind: media.Audio, Codec: "opus", Channels: 2, SampleRate: 48000}
	return appendEntry(nil, t, "Opus")
}

func header(traks ...[]byte) []byte {
	mvhd := full("mvhd", 0, 0, 0, 0, 1000)
	return parent("moov", mvhd, bytes.Join(traks, nil), parent("mvex"))
}

func TestEditList(t *testing.T) {
	for _, c := range []struct {
		name           string
		edts           []byte
		shift, priming int64
	}{
		{"none", nil, 0, 312},
		{"from the start", parent("edts", full("elst", 0, 0, 1, 0, 0, 0x10000)), 0, 312},
		{"priming", parent("edts", full("elst", 0, 0, 1, 0, 1024, 0x10000)), -1024, 1024},
		{"a delay of 250 ms", parent("edts", full("elst", 0, 0, 2, 250, 0xffffffff, 0x10000, 0, 0, 0x10000)), 12000, 312},
		{"both, 64 bits", parent("edts", full("elst", 1, 0, 2, 0, 250, 0xffffffff, 0xffffffff, 0x10000, 0, 0, 0, 1024, 0x10000)), 12000 - 1024, 1024},
		{"a delay only", parent("edts", full("elst", 0, 0, 1, 250, 0xffffffff, 0x10000)), 12000, 312},
	} {
		h, err := ParseHeader(header(trackBox(1, "soun", c.edts, opusEntry())))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := h.Shift[1]; got != c.shift {
			t.Errorf("%s: shift %d, want %d", c.name, got, c.shift)
		}
		if got := h.Tracks[0].Priming; got != c.priming {
			t.Errorf("%s: priming %d, want %d", c.name, got, c.priming)
		}
		if bytes.Contains(h.Tracks[0].Init, []byte("elst")) {
			t.Errorf("%s: the track's header has the edit list", c.name)
		}
	}
}

func TestHeaderSkipsWhatIsNotHandled(t *testing.T) {
	mp3 := appendBox(nil, "mp4a", func(b []byte) []byte {
		b = append(b, make([]byte, audioEntrySize)...)
		return appendFull(b, "esds", 0, 0, func(b []byte) []byte {
			b = append(b, tagES, 20, 0, 0, 0, tagDecoderConfig, 15, 0x6b)
			return append(b, make([]byte, 14)...)
		})
	})
	h, err := ParseHeader(header(
		trackBox(1, "text", nil, parent("wvtt", make([]byte, 16))),
		trackBox(2, "soun", nil, opusEntry()),
		trackBox(3, "soun", nil, parent("enca", make([]byte, 28))),
		trackBox(4, "soun", nil, mp3),
	))
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Tracks) != 1 || h.Tracks[0].ID != 2 || h.Tracks[0].Language != "eng" {
		t.Errorf("tracks %+v", h.Tracks)
	}
	want := []string{
		`track 1: codec "wvtt" is not handled`,
		"track 3: encrypted tracks are not handled",
		"track 4: audio of object type 0x6b is not AAC",
	}
	if strings.Join(h.Skipped, "\n") != strings.Join(want, "\n") {
		t.Errorf("skipped %q\nwant    %q", h.Skipped, want)
	}
}

func TestParseHeaderRefuses(t *testing.T) {
	video := func(id uint32) []byte { return trackBox(id, "soun", nil, opusEntry()) }
	many := make([][]byte, maxTracks+1)
	for i := range many {
		many[i] = video(uint32(i + 1))
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
		is   error
	}{
		{"nothing", nil, `box "moov" at offset 0: not found`, media.ErrMalformed},
		{"not fragmented", parent("moov", video(1)), `box "moov" at offset 0: the MP4 file is not fragmented`, media.ErrUnsupported},
		{"no tracks", header(), `box "moov" at offset 0: no usable track`, media.ErrUnsupported},
		{"only tracks that are not handled", header(trackBox(1, "text", nil, parent("wvtt"))), `box "moov" at offset 0: no usable track`, media.ErrUnsupported},
		{"the same id twice", header(video(1), video(1)), `box "trak" at offset`, media.ErrMalformed},
		{"too many tracks", header(many...), `box "trak" at offset`, media.ErrMalformed},
		{"track without header", header(parent("trak")), `box "trak" at offset 32: has no [tkhd]`, media.ErrMalformed},
		{"track id 0", header(video(0)), `box "tkhd" at offset 40: no track id`, media.ErrMalformed},
		{"no sample entry", header(trackBox(1, "soun", nil, nil)), `box "stsd" at offset`, media.ErrMalformed},
		{"edit past the end of time", header(trackBox(1, "soun", parent("edts", full("elst", 1, 0, 1, 0x7fffffff, 0, 0, 0, 0)), opusEntry())), `box "elst" at offset`, media.ErrMalformed},
	} {
		_, err := ParseHeader(c.data)
		if !errors.Is(err, c.is) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: error %v\nwant %s", c.name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: more than one line: %v", c.name, err)
		}
	}
}

func TestLanguage(t *testing.T) {
	for _, s := range []string{"eng", "deu", "zxx"} {
		if got := language(packLanguage(s)); got != s {
			t.Errorf("%q came back as %q", s, got)
		}
	}
	for _, packed := range []uint16{0, packLanguage("und"), packLanguage(""), 0x7fff} {
		if got := language(packed); got != "" {
			t.Errorf("%04x is %q", packed, got)
		}
	}
}

func FuzzParseHeader(f *testing.F) {
	f.Add(clipHeader(f))
	f.Add(header(trackBox(1, "soun", parent("edts", full("elst", 0, 0, 1, 0, 1024, 0x10000)), opusEntry())))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ParseHeader(data)
		if err != nil {
			if !errors.Is(err, media.ErrMalformed) && !errors.Is(err, media.ErrUnsupported) {
				t.Fatal(err)
			}
			return
		}
		for _, track := range h.Tracks {
			// What is handed out can be used.
			if _, err := ParseHeader(track.Init); err != nil {
				t.Fatalf("the header of track %d: %v", track.ID, err)
			}
			if _, err := trakFor(track, 5); err != nil {
				t.Fatalf("track %d: %v", track.ID, err)
			}
		}
	})
}

package codec

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/moq-c4/moq-c4/media"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Configurations as ffmpeg 5.1 writes them with the encoder named, unless said
// otherwise.
const (
	// libx264 -profile baseline, 640x360 at 30
	avcBaseline = "0142c01effe1001967" + "42c01eda0280bfe5c044000003000400000300f23c58ba80" + "01000468ce3c80"
	// libx264 -bf 2, 160x90 at 25
	avcHigh = "0164000bffe100196764000bacd9428df93011000003000100000300320f14299601000668ebe3cb22c0fdf8f800"
	// libx265, 160x90 at 25; the SEI messages are left out
	hevcMain = "0101600000009000000000001ef000fcfdf8f800000f03" + "2000010018" + "40010c01ffff01600000030090000003000003001e959809" +
		"210001002a" + "42010101600000030090000003000003001ea0142061f265959a4932bc05a020000003002000000303" + "21" + "2200010007" + "4401c172b46240"
)

func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		name, entry, config string
		want                Info
	}{
		{
			"H.264 baseline", "avc1", avcBaseline,
			Info{Codec: "avc1.42c01e", Kind: media.Video, Framerate: 30, Reorder: 0},
		},
		{
			"H.264 with B pictures", "avc1", avcHigh,
			Info{Codec: "avc1.64000b", Kind: media.Video, Framerate: 25, Reorder: 2},
		},
		{
			"H.265 with B pictures", "hev1", hevcMain,
			Info{Codec: "hev1.1.6.L30.90", Kind: media.Video, Framerate: 25, Reorder: 2},
		},
		{
			"H.264 without parameter sets", "avc3", "0164001fffe00000",
			Info{Codec: "avc3.64001f", Kind: media.Video, Reorder: -1},
		},
		{
			"H.264 with an SPS that is none", "avc1", "0164001fffe1000211220100",
			Info{Codec: "avc1.64001f", Kind: media.Video, Reorder: -1},
		},
		{
			// The example of ISO/IEC 14496-15 Annex E.
			"H.265 main", "hev1", "0101600000009000000000005df000fcfdf8f800000f00",
			Info{Codec: "hev1.1.6.L93.90", Kind: media.Video, Reorder: -1},
		},
		{
			"H.265 main 10, high tier, profile space 1", "hvc1", "01622000000090000000000099f000fcfdfafa00000f00",
			Info{Codec: "hvc1.A2.4.H153.90", Kind: media.Video, Reorder: -1},
		},
		{
			"AV1 main, level 3.0", "av01", "81040c00",
			Info{Codec: "av01.0.04M.08", Kind: media.Video},
		},
		{
			"AV1 professional, high tier, 12 bits", "av01", "814de800",
			Info{Codec: "av01.2.13H.12", Kind: media.Video},
		},
		{
			"AV1 10 bits", "av01", "81044c00",
			Info{Codec: "av01.0.04M.10", Kind: media.Video},
		},
		{
			"VP9", "vp09", "01000000" + "000a8202" + "02020000",
			Info{Codec: "vp09.00.10.08", Kind: media.Video},
		},
		{
			"AAC-LC 48 kHz mono", "mp4a", "118856e500",
			Info{Codec: "mp4a.40.2", Kind: media.Audio, SampleRate: 48000, Channels: 1, PacketSamples: 1024},
		},
		{
			"AAC-LC 44.1 kHz stereo", "mp4a.40.2", "1210",
			Info{Codec: "mp4a.40.2", Kind: media.Audio, SampleRate: 44100, Channels: 2, PacketSamples: 1024},
		},
		{
			"HE-AAC 24 to 48 kHz stereo", "mp4a", "2b118800",
			Info{Codec: "mp4a.40.5", Kind: media.Audio, SampleRate: 48000, Channels: 2, PacketSamples: 2048},
		},
		{
			"Opus stereo", "opus", "4f70757348656164" + "0102" + "3801" + "80bb0000" + "000000",
			Info{Codec: "opus", Kind: media.Audio, SampleRate: 48000, Channels: 2, Priming: 312},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Describe(c.entry, unhex(t, c.config))
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestDescribeRefuses(t *testing.T) {
	for _, c := range []struct {
		name, entry, config string
		want                error
	}{
		{"H.264 cut short", "avc1", "0142c0", media.ErrMalformed},
		{"H.264 SPS longer than the record", "avc1", "0142c01effe1ffff67", media.ErrMalformed},
		{"H.264 with 2-byte lengths", "avc1", "0142c01efde1000167", media.ErrUnsupported},
		{"H.265 cut short", "hvc1", "0101600000", media.ErrMalformed},
		{"AV1 of another version", "av01", "82040c00", media.ErrMalformed},
		{"VP9 cut short", "vp09", "01000000", media.ErrMalformed},
		{"AAC of a type nobody has", "mp4a", "f800", media.ErrUnsupported},
		{"no AAC configuration", "mp4a", "", media.ErrUnsupported},
		{"Opus without magic", "opus", "00000000000000000102380180bb0000000000", media.ErrMalformed},
		{"Opus without channels", "opus", "4f7075734865616401003801" + "80bb0000000000", media.ErrMalformed},
		{"encrypted", "encv", "", media.ErrUnsupported},
		{"captions", "wvtt", "", media.ErrUnsupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Describe(c.entry, unhex(t, c.config)); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

func TestIsKey(t *testing.T) {
	const (
		aud      = "00000002" + "0910"
		sps      = "00000003" + "674d40"
		recovery = "00000003" + "060601"
		otherSEI = "00000003" + "060501"
		idr      = "00000002" + "6588"
		slice    = "00000002" + "419a"
	)
	for _, c := range []struct {
		name, codec, payload string
		sync, want           bool
	}{
		{"IDR", "avc1.42c01e", aud + sps + idr, true, true},
		{"IDR that the container does not mark", "avc1.42c01e", idr, false, true},
		{"P picture that the container marks", "avc1.42c01e", otherSEI + slice, true, false},
		{"recovery point that the container marks", "avc1.42c01e", recovery + slice, true, true},
		{"recovery point that it does not mark", "avc1.42c01e", recovery + slice, false, false},
		{"parameter sets only", "avc1.42c01e", sps, true, false},
		{"IDR_N_LP", "hvc1.1.6.L93.90", "000000032801af", false, true},
		{"CRA", "hvc1.1.6.L93.90", "000000032a01af", false, true},
		{"TRAIL_R that the container marks", "hev1.1.6.L93.90", "000000030201d0", true, false},
		{"prefix SEI, then IDR_W_RADL", "hev1.1.6.L93.90", "000000034e0105" + "000000032601af", false, true},
		{"AV1 goes by the container", "av01.0.04M.08", "1200", true, true},
		{"AV1 goes by the container", "av01.0.04M.08", "1200", false, false},
		{"sound", "opus", "fc", false, true},
		{"sound", "mp4a.40.2", "21", false, true},
		{"a length past the end", "avc1.42c01e", "000000ff65", true, false},
		{"nothing", "avc1.42c01e", "", true, false},
	} {
		if got := IsKey(c.codec, unhex(t, c.payload), c.sync); got != c.want {
			t.Errorf("%s (%s): %v", c.name, c.codec, got)
		}
	}
}

func TestOpusHeader(t *testing.T) {
	for _, dOps := range []string{
		"00" + "02" + "0138" + "0000bb80" + "0000" + "00",
		"00" + "06" + "0f00" + "0000ac44" + "fff0" + "01" + "0402000401020305", // RFC 7845, six channels
	} {
		head, err := OpusHead(unhex(t, dOps))
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendDOps(nil, head, 0); !bytes.Equal(got, unhex(t, dOps)) {
			t.Errorf("dOps %s came back as %x", dOps, got)
		}
	}
	if got, want := AppendDOps(nil, nil, 2), unhex(t, "0002"+"0138"+"0000bb80"+"000000"); !bytes.Equal(got, want) {
		t.Errorf("without a header: %x, want %x", got, want)
	}
	for _, bad := range []string{"", "0102013800", "0102013800000bb8000000"} {
		if _, err := OpusHead(unhex(t, bad)); !errors.Is(err, media.ErrMalformed) {
			t.Errorf("dOps %q: error %v", bad, err)
		}
	}
}

func TestPacketLength(t *testing.T) {
	opus := Info{Codec: "opus"}
	for _, c := range []struct {
		info    Info
		payload string
		want    int
	}{
		{opus, "fc", 960},        // CELT fullband, 20 ms
		{opus, "e0", 120},        // 2.5 ms
		{opus, "fd", 1920},       // two frames of 20 ms
		{opus, "1f83", 2880 * 3}, // SILK, three frames of 60 ms
		{opus, "", 0},            //
		{Info{Codec: "mp4a.40.2", PacketSamples: 1024}, "21", 1024},
		{Info{Codec: "avc1.42c01e"}, "65", 0},
	} {
		if got := c.info.PacketLength(unhex(t, c.payload)); got != c.want {
			t.Errorf("%s %s: %d samples, want %d", c.info.Codec, c.payload, got, c.want)
		}
	}
}

func TestEntry(t *testing.T) {
	for codec, want := range map[string]string{"avc1.42c01e": "avc1", "opus": "Opus", "Opus": "Opus", "av01.0.04M.08": "av01", "": ""} {
		if got := Entry(codec); got != want {
			t.Errorf("%q: %q, want %q", codec, got, want)
		}
	}
}

// Configurations come from peers.
func FuzzDescribe(f *testing.F) {
	for _, entry := range []string{"avc1", "hvc1", "av01", "vp09", "mp4a", "Opus"} {
		f.Add(entry, unhex(f, avcBaseline))
		f.Add(entry, unhex(f, hevcMain))
		f.Add(entry, unhex(f, "118856e500"))
	}
	f.Fuzz(func(t *testing.T, entry string, config []byte) {
		info, err := Describe(entry, config)
		if err == nil && (info.Codec == "" || info.Kind == 0 || info.PacketSamples < 0 || info.Reorder < -1) {
			t.Fatalf("%+v", info)
		}
		if err != nil && !errors.Is(err, media.ErrMalformed) && !errors.Is(err, media.ErrUnsupported) {
			t.Fatal(err)
		}
	})
}

func FuzzIsKey(f *testing.F) {
	f.Add("avc1", unhex(f, "000000026588"), true)
	f.Fuzz(func(t *testing.T, codec string, payload []byte, sync bool) {
		IsKey(codec, payload, sync)
	})
}

package catalog

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/media"
)

var testTime = time.UnixMilli(1_796_040_890_625)

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// parse reads a catalog of either form and wants all of it to be usable.
func parse(t testing.TB, name string, data []byte) []media.Rendition {
	t.Helper()
	var renditions []media.Rendition
	var skipped []error
	if strings.Contains(name, "hang") {
		h, err := ParseHang(data)
		if err != nil {
			t.Fatal(err)
		}
		renditions, skipped = h.Renditions()
	} else {
		m, err := ParseMSF(data)
		if err != nil {
			t.Fatal(err)
		}
		renditions, skipped = m.Renditions()
	}
	if len(skipped) > 0 {
		t.Fatalf("%s: skipped %v", name, skipped)
	}
	return renditions
}

func TestCatalogsThatPlay(t *testing.T) {
	for _, name := range []string{"catalog-hang.json", "catalog-msf.json", "catalog-msf-aac.json"} {
		renditions := parse(t, name, read(t, name))
		if len(renditions) != 2 {
			t.Fatalf("%s: %d renditions", name, len(renditions))
		}
		for i, r := range renditions {
			track := r.Track
			if track.ID != uint32(i+1) || len(track.Init) == 0 || len(track.Config) == 0 || r.Packaging != media.CMAF || r.Datagram {
				t.Errorf("%s: %+v", name, r)
			}
		}
		v, a := renditions[0], renditions[1]
		if v.Name != "video" || v.Track.Kind != media.Video || v.Track.Codec != "avc1.42c01e" || v.Track.Width != 640 ||
			v.Track.Height != 360 || v.Track.Framerate != 30 || v.Track.Bitrate != 1_000_000 || v.Track.Timescale != 15360 {
			t.Errorf("%s: video %+v", name, v.Track)
		}
		codec := "opus"
		if strings.Contains(name, "aac") {
			codec = "mp4a.40.2"
		}
		if a.Name != "audio" || a.Track.Kind != media.Audio || a.Track.Codec != codec || a.Track.SampleRate != 48000 ||
			a.Track.Channels != 2 || a.Track.Timescale != 48000 {
			t.Errorf("%s: audio %+v", name, a.Track)
		}
	}
}

// A catalog of what was read from one that plays says the same, and maybe more.
func TestCatalogsSayWhatPlays(t *testing.T) {
	for _, name := range []string{"catalog-hang.json", "catalog-msf.json", "catalog-msf-aac.json"} {
		data := read(t, name)
		renditions := parse(t, name, data)
		var built []byte
		if strings.Contains(name, "hang") {
			built = NewHang(renditions).Marshal()
		} else {
			built = NewMSF(renditions, testTime).Marshal()
		}
		var want, got any
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(built, &got); err != nil {
			t.Fatal(err)
		}
		contains(t, name, got, want)
	}
}

// contains checks that got has all that want has.
func contains(t *testing.T, path string, got, want any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			t.Fatalf("%s is no object", path)
		}
		for k, v := range want {
			if k != "generatedAt" {
				contains(t, path+"."+k, got[k], v)
			}
		}
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			t.Fatalf("%s: got %d entries, want %d", path, len(got), len(want))
		}
		for i := range want {
			contains(t, path+"[]", got[i], want[i])
		}
	default:
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
}

// testRenditions is a broadcast as we publish it.
func testRenditions(t testing.TB) []media.Rendition {
	t.Helper()
	r := parse(t, "msf", read(t, "catalog-msf.json"))
	high, low, sound := r[0], r[0], r[1]
	high.Name, high.Priority, high.AltGroup = "video-720p", media.PriorityBetter, 1
	track := *r[0].Track
	track.Width, track.Height = 1280, 720
	high.Track = &track
	low.Name, low.Priority, low.AltGroup = "video-360p", media.PriorityVideo, 1
	sound.Datagram, sound.Priority, sound.AltGroup = true, media.PriorityAudio, 2
	stream := sound
	stream.Name, stream.Datagram = "audio-stream", false
	return []media.Rendition{low, high, sound, stream}
}

func names(renditions []media.Rendition) string {
	var s []string
	for _, r := range renditions {
		s = append(s, r.Name)
	}
	return strings.Join(s, " ")
}

func TestMSFThereAndBack(t *testing.T) {
	renditions := testRenditions(t)
	data := NewMSF(renditions, testTime).Marshal()
	got := parse(t, "msf", data)
	// Players take the first sound they can decode, and not all take datagrams.
	if names(got) != "video-360p video-720p audio-stream audio" {
		t.Errorf("the tracks are %s", names(got))
	}
	for _, r := range got {
		for _, want := range renditions {
			if want.Name != r.Name {
				continue
			}
			if r.Datagram != want.Datagram || r.AltGroup != want.AltGroup || r.Track.Codec != want.Track.Codec ||
				r.Track.Height != want.Track.Height || string(r.Track.Init) != string(want.Track.Init) {
				t.Errorf("%s came back as %+v", r.Name, r)
			}
		}
	}
	m, err := ParseMSF(data)
	if err != nil {
		t.Fatal(err)
	}
	if int64(m.GeneratedAt) != testTime.UnixMilli() || m.Version != "draft-01" || len(m.InitDataList) != 2 {
		t.Errorf("version %q of %d, %d entries of initialization data", m.Version, m.GeneratedAt, len(m.InitDataList))
	}
	// "MUST be located after the tracks array in the root of the JSON catalog"
	// [MSF] Section "Initialization Data List"
	if i := strings.Index(string(data), `"initDataList"`); i < strings.LastIndex(string(data), `"renderGroup"`) {
		t.Error("the initialization data list comes before the tracks")
	}
	if strings.Contains(string(data), "isComplete") {
		t.Error("isComplete is there, and false")
	}
}

func TestMSFWithLOC(t *testing.T) {
	renditions := testRenditions(t)
	for i := range renditions {
		renditions[i].Packaging = media.LOC
	}
	for i, r := range parse(t, "msf", NewMSF(renditions[2:], testTime).Marshal()) {
		want := renditions[3-i]
		if r.Name != want.Name || r.Packaging != media.LOC || r.Track.Init != nil || string(r.Track.Config) != string(want.Track.Config) ||
			r.Track.Timescale != 48000 || r.Datagram != want.Datagram {
			t.Errorf("%+v", r)
		}
	}
	if NewHang(renditions) != nil {
		t.Error("hang lists packaging loc")
	}
}

func TestHangListsStreamsOnly(t *testing.T) {
	data := NewHang(testRenditions(t)).Marshal()
	got := parse(t, "hang", data)
	if names(got) != "video-360p video-720p audio-stream" {
		t.Errorf("the tracks are %s", names(got))
	}
	if !strings.Contains(string(data), `"jitter":34`) {
		t.Error("no jitter for video")
	}
}

func TestMSFVersions(t *testing.T) {
	for version, want := range map[string]error{
		`"draft-01"`: nil, `"draft-00"`: nil, `1`: nil, `"1"`: nil,
		`"draft-02"`: media.ErrUnsupported, `2`: media.ErrUnsupported,
		`true`: media.ErrMalformed, `""`: media.ErrMalformed, `null`: media.ErrMalformed,
	} {
		if _, err := ParseMSF([]byte(`{"version":` + version + `,"tracks":[]}`)); !errors.Is(err, want) {
			t.Errorf("version %s: error %v, want %v", version, err, want)
		}
	}
	if _, err := ParseMSF([]byte(`{"tracks":[]}`)); !errors.Is(err, media.ErrMalformed) {
		t.Error("no version was accepted")
	}
	if _, err := ParseMSF([]byte(`{"version":"draft-01","deltaUpdate":[]}`)); !errors.Is(err, media.ErrUnsupported) {
		t.Error("a delta update was accepted")
	}
}

// "A parser MUST ignore fields it does not understand." [MSF] Section "Catalog"
func TestCatalogsIgnoreUnknownFields(t *testing.T) {
	m, err := ParseMSF([]byte(`{"version":"draft-01","com.example.a":{"b":[1]},"tracks":[
		{"name":"a","packaging":"loc","isLive":true,"codec":"opus","samplerate":48000,"channelConfig":"stereo","com.example.c":1}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if r, skipped := m.Renditions(); len(r) != 1 || len(skipped) != 0 || r[0].Track.Channels != 2 {
		t.Errorf("%+v, skipped %v", r, skipped)
	}
	h, err := ParseHang([]byte(`{"video":{"renditions":{"v":{"codec":"avc1.64001f","description":"0164001fffe00000","optimizeForLatency":true}},"display":{"width":1,"height":2}},"chat":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	r, skipped := h.Renditions()
	if len(r) != 1 || len(skipped) != 0 || r[0].Packaging != media.Legacy || len(r[0].Track.Config) != 8 {
		t.Errorf("%+v, skipped %v", r, skipped)
	}
}

// Numbers with fractions and strings that are numbers, as some write them.
func TestCatalogsAreReadLeniently(t *testing.T) {
	m, err := ParseMSF([]byte(`{"version":1,"tracks":[{"name":"a","packaging":"loc","codec":"opus","samplerate":48000.0,"channelConfig":2,"bitrate":95999.6}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r, skipped := m.Renditions()
	if len(skipped) > 0 || r[0].Track.Channels != 2 || r[0].Track.Bitrate != 95999 || r[0].Track.SampleRate != 48000 {
		t.Errorf("%+v, skipped %v", r[0].Track, skipped)
	}
	if _, err := ParseMSF([]byte(`{"version":1,"tracks":[{"bitrate":1e300}]}`)); !errors.Is(err, media.ErrMalformed) {
		t.Errorf("a number past bounds: %v", err)
	}
}

func TestTracksThatAreSkipped(t *testing.T) {
	init := NewMSF(testRenditions(t)[2:3], testTime).Tracks[0].InitData
	track := func(s string) string { return `{"version":"draft-01","tracks":[{"name":"x","isLive":true,` + s + `}]}` }
	for _, c := range []struct{ name, data, want string }{
		{"role", track(`"packaging":"loc","role":"caption","codec":"wvtt"`), `role "caption"`},
		{"no codec", track(`"packaging":"loc","role":"video"`), "neither audio nor video"},
		{"codec of no kind", track(`"packaging":"loc","codec":"wvtt"`), "neither audio nor video"},
		{"packaging", track(`"packaging":"mediatimeline","role":"video","codec":"avc1.42c01e"`), `packaging "mediatimeline"`},
		{"namespace", track(`"packaging":"loc","role":"audio","codec":"opus","namespace":"a/b"`), `another namespace, "a/b"`},
		{"no header", track(`"packaging":"cmaf","role":"audio","codec":"opus"`), "without initialization data"},
		{"no base64", track(`"packaging":"cmaf","role":"audio","codec":"opus","initData":"!"`), `field "initData"`},
		{"reference to nothing", track(`"packaging":"cmaf","role":"audio","codec":"opus","initRef":"a"`), `"a" is not in the list`},
		{"garbage for a header", track(`"packaging":"cmaf","role":"audio","codec":"opus","initData":"AAAA"`), `box "?" at offset 0`},
		{"header of another kind", track(`"packaging":"cmaf","role":"video","codec":"opus","initData":"` + init + `"`), "of a track of audio"},
		{"negative width", track(`"packaging":"loc","role":"video","codec":"avc1.42c01e","width":-1`), "width -1"},
		{"timescale", track(`"packaging":"loc","role":"audio","codec":"opus","timescale":4000000000`), "timescale 4.294967295e+09"},
	} {
		m, err := ParseMSF([]byte(c.data))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		r, skipped := m.Renditions()
		if len(r) != 0 || len(skipped) != 1 || !strings.HasPrefix(skipped[0].Error(), `MSF track "x": `) || !strings.Contains(skipped[0].Error(), c.want) {
			t.Errorf("%s: %+v, skipped %v, want %s", c.name, r, skipped, c.want)
		}
	}
	for _, c := range []struct{ name, entry, want string }{
		{"container", `"codec":"opus","container":{"kind":"loc"}`, `container "loc"`},
		{"broadcast", `"codec":"opus","broadcast":"../b"`, `another broadcast, "../b"`},
		{"description", `"codec":"opus","description":"0x00"`, `field "description"`},
		{"init", `"codec":"opus","container":{"kind":"cmaf","init":"!"}`, `field "init"`},
		{"no init", `"codec":"opus","container":{"kind":"cmaf"}`, "without initialization data"},
	} {
		h, err := ParseHang([]byte(`{"audio":{"renditions":{"x":{` + c.entry + `}}}}`))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		r, skipped := h.Renditions()
		if len(r) != 0 || len(skipped) != 1 || !strings.HasPrefix(skipped[0].Error(), `hang track "x": `) || !strings.Contains(skipped[0].Error(), c.want) {
			t.Errorf("%s: %+v, skipped %v, want %s", c.name, r, skipped, c.want)
		}
	}
}

func TestCatalogsRefuse(t *testing.T) {
	many := `{"version":"draft-01","tracks":[` + strings.Repeat(`{},`, maxTracks) + `{}]}`
	for _, data := range []string{"", "null ", "[]", "{", `{"version":"draft-01","tracks":{}}`, many, strings.Repeat(" ", maxSize+1)} {
		_, err := ParseMSF([]byte(data))
		if !errors.Is(err, media.ErrMalformed) || !strings.HasPrefix(err.Error(), "MSF catalog: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("MSF of %d bytes: error %v", len(data), err)
		}
	}
	for _, data := range []string{"", "[]", "{", `{"video":5}`} {
		_, err := ParseHang([]byte(data))
		if !errors.Is(err, media.ErrMalformed) || !strings.HasPrefix(err.Error(), "hang catalog: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("hang %q: error %v", data, err)
		}
	}
}

func TestBitrateIsAlwaysThere(t *testing.T) {
	for _, c := range []struct {
		track media.Track
		want  int
	}{
		{media.Track{Kind: media.Video, Bitrate: 5}, 5},
		{media.Track{Kind: media.Video, Width: 1280, Height: 720, Framerate: 25}, 2_304_000},
		{media.Track{Kind: media.Video, Width: 1280, Height: 720}, 2_764_800},
		{media.Track{Kind: media.Video}, 1_000_000},
		{media.Track{Kind: media.Audio, Channels: 2}, 128_000},
		{media.Track{Kind: media.Audio}, 64_000},
	} {
		if got := bitrate(&c.track); got != c.want {
			t.Errorf("%+v: %d, want %d", c.track, got, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"catalog-hang.json", "catalog-msf.json", "catalog-msf-aac.json"} {
		f.Add(read(f, name))
	}
	f.Add([]byte(`{"version":1,"tracks":[{"name":"a","packaging":"loc","codec":"opus","samplerate":48000,"channelConfig":"2"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		check := func(renditions []media.Rendition, skipped []error) {
			for _, err := range skipped {
				if !errors.Is(err, media.ErrMalformed) && !errors.Is(err, media.ErrUnsupported) {
					t.Fatal(err)
				}
			}
			// What was read can be said again.
			m := NewMSF(renditions, testTime)
			if _, err := ParseMSF(m.Marshal()); err != nil {
				t.Fatal(err)
			}
			if h := NewHang(renditions); h != nil {
				if _, err := ParseHang(h.Marshal()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if m, err := ParseMSF(data); err == nil {
			check(m.Renditions())
		}
		if h, err := ParseHang(data); err == nil {
			check(h.Renditions())
		}
	})
}

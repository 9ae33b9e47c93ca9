package fmp4

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/moq-c4/moq-c4/media"
)

var testTime = time.UnixMilli(1_796_040_890_000)

// newTestReader reads data with a clock that stands still.
func newTestReader(t testing.TB, r io.Reader) *Reader {
	t.Helper()
	rd, err := NewReader(r, ReaderConfig{Now: func() time.Time { return testTime }})
	if err != nil {
		t.Fatal(err)
	}
	return rd
}

func TestReaderReadsTheClip(t *testing.T) {
	// In pieces, as a pipe delivers.
	r := newTestReader(t, iotest.HalfReader(bytes.NewReader(clip(t))))
	if len(r.Tracks()) != 3 || len(r.Skipped()) != 0 {
		t.Fatalf("%d tracks, skipped %q", len(r.Tracks()), r.Skipped())
	}
	frames := readAll(t, r)
	if len(frames) != 1100 {
		t.Fatalf("%d frames, want 1100", len(frames))
	}
	for _, c := range []struct {
		id          uint32
		frames      int
		every       int
		duration    int64
		samplesASec int64
	}{{1, 300, 30, 512, 15360}, {2, 300, 30, 512, 15360}, {3, 500, 1, 960, 48000}} {
		track := ofTrack(frames, c.id)
		if len(track) != c.frames {
			t.Errorf("track %d: %d frames, want %d", c.id, len(track), c.frames)
		}
		for i, f := range track {
			if want := int64(i) * c.duration; f.DTS != want || f.PTS != want || f.Duration != c.duration {
				t.Fatalf("track %d frame %d: DTS %d PTS %d duration %d, want %d and %d", c.id, i, f.DTS, f.PTS, f.Duration, want, c.duration)
			}
			if f.Key != (i%c.every == 0) {
				t.Fatalf("track %d frame %d: key %v", c.id, i, f.Key)
			}
			if f.Run != 0 || f.Discontinuity || !f.Capture.Equal(testTime) || len(f.Payload) == 0 {
				t.Fatalf("track %d frame %d: %+v", c.id, i, f)
			}
			if samples, err := parseFragment(f.Raw, 0, nil); err != nil || len(samples) != 1 || !bytes.Equal(samples[0].Data, f.Payload) {
				t.Fatalf("track %d frame %d: raw is of %d samples, error %v", c.id, i, len(samples), err)
			}
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
}

// A stream that ends anywhere ends without an error: that is how a live source
// ends that is killed. What was there before is delivered.
func TestReaderCutAnywhere(t *testing.T) {
	data := clip(t)
	from := len(clipHeader(t))
	for _, n := range []int{from, from + 1, from + 7, from + 8, from + 50, from + 5000, len(data) / 2, len(data) - 1} {
		frames := readAll(t, newTestReader(t, bytes.NewReader(data[:n])))
		if n < from+50 && len(frames) != 0 || n == len(data)-1 && len(frames) < 1099 {
			t.Errorf("cut at %d: %d frames", n, len(frames))
		}
	}
}

// The same pipe, another ffmpeg: whether the first was killed between two boxes
// or within one, the Reader goes on with the second.
// An end within a box is an ordinary one, but it is told.
func TestReaderTellsCut(t *testing.T) {
	clip := clip(t)
	boxes, err := children(clip, 0)
	if err != nil {
		t.Fatal(err)
	}
	last := boxes[len(boxes)-1]
	for n, want := range map[int]bool{len(clip): false, int(last.pos): false, int(last.pos) + 4: true, len(clip) - 1: true} {
		r, err := NewReader(bytes.NewReader(clip[:n]), ReaderConfig{})
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = r.Next()
		}
		if err != io.EOF || r.Cut() != want {
			t.Errorf("%d of %d bytes: %v, cut is %v, want %v", n, len(clip), err, r.Cut(), want)
		}
	}
}

func TestReaderSourceStartsOver(t *testing.T) {
	data := clip(t)
	boxes, err := children(data, 0)
	if err != nil {
		t.Fatal(err)
	}
	// The 41st fragment.
	moof, mdat := boxes[2+80], boxes[2+81]
	if moof.typ != "moof" || mdat.typ != "mdat" {
		t.Fatalf("found %s and %s", moof.typ, mdat.typ)
	}
	for _, c := range []struct {
		name string
		cut  int64
	}{
		{"between two fragments", moof.pos},
		{"within the header of a moof", moof.pos + 5},
		{"within a moof", moof.pos + 60},
		{"between moof and mdat", mdat.pos},
		{"within the header of an mdat", mdat.pos + 6},
		{"2 bytes before the end of an mdat", mdat.pos + int64(len(mdat.raw)) - 2},
		{"3 bytes before the end of an mdat", mdat.pos + int64(len(mdat.raw)) - 3},
		{"9 bytes before the end of an mdat", mdat.pos + int64(len(mdat.raw)) - 9},
		{"near the start of an mdat", mdat.pos + 20},
		{"1 byte before the end of an mdat", mdat.pos + int64(len(mdat.raw)) - 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newTestReader(t, io.MultiReader(bytes.NewReader(data[:c.cut]), bytes.NewReader(data)))
			old := r.Tracks()
			frames := readAll(t, r)
			var second []media.Frame
			for _, f := range frames {
				if f.Run == 1 {
					second = append(second, f)
				}
			}
			if len(second) != 1100 {
				t.Fatalf("%d frames of the second run, want 1100", len(second))
			}
			if first := len(frames) - len(second); first < 40 || first > 41 {
				t.Errorf("%d frames of the first run, want 40 or 41", first)
			}
			for _, track := range r.Tracks() {
				if track == old[0] {
					t.Error("the tracks are those of the first run")
				}
				of := ofTrack(second, track.ID)
				if !of[0].Discontinuity || of[1].Discontinuity || of[0].DTS != 0 || of[0].Track != track {
					t.Errorf("track %d begins with %+v", track.ID, of[0])
				}
			}
		})
	}
}

func TestReaderRefuses(t *testing.T) {
	data := clip(t)
	head := clipHeader(t)
	notFragmented := parent("moov", full("mvhd", 0, 0, 0, 0, 1000))
	for _, c := range []struct {
		name string
		data []byte
		want string
		is   error
	}{
		{"nothing", nil, `box "moov" at offset 0: the input ends before it`, media.ErrMalformed},
		{"text", []byte("Usage: ffmpeg [options] ..."), `box "e: f" at offset 0: size`, media.ErrMalformed},
		{"MPEG-TS", bytes.Repeat([]byte{0x47, 0x40, 0x00, 0x10, 0x00}, 100), `at offset 0: this is not the start of a box`, media.ErrMalformed},
		{"size 0", append(bytes.Clone(head[:28]), 0, 0, 0, 0, 'm', 'o', 'o', 'v'), `box "moov" at offset 28: size 0`, media.ErrMalformed},
		{"size 7", []byte{0, 0, 0, 7, 'f', 't', 'y', 'p'}, `box "ftyp" at offset 0: size 7`, media.ErrMalformed},
		{"more than 64 MiB", []byte{4, 0, 0, 1, 'm', 'o', 'o', 'v'}, `box "moov" at offset 0: size 67108865 is more than the limit`, media.ErrMalformed},
		{"2^63 bytes", []byte{0, 0, 0, 1, 'm', 'o', 'o', 'v', 0x80, 0, 0, 0, 0, 0, 0, 0}, `box "moov" at offset 0: size`, media.ErrMalformed},
		{"fragment before the header", data[len(head):], `box "moof" at offset 0: comes before the moov`, media.ErrMalformed},
		{"media data before the header", mdat("data"), `box "mdat" at offset 0: media data without a moof`, media.ErrUnsupported},
		{"not fragmented", notFragmented, `box "moov" at offset 0: the MP4 file is not fragmented`, media.ErrUnsupported},
		{"header cut short", head[:len(head)-1], `box "moov" at offset`, media.ErrMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := NewReader(bytes.NewReader(c.data), ReaderConfig{})
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v\nwant  %s", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %v", err)
			}
		})
	}
}

// What comes behind good fragments is told once they are delivered.
func TestReaderGarbageLater(t *testing.T) {
	data := clip(t)
	boxes, _ := children(data, 0)
	at := boxes[2+80].pos
	for _, c := range []struct {
		name string
		then []byte
		want string
	}{
		{"garbage", bytes.Repeat([]byte{0xff, 0x00, 0x01}, 5000), "this is not the start of a box"},
		{"an mdat by itself", mdat("data"), "media data without a moof"},
		{"a fragment that makes no sense", append(moofWith(full("trun", 0, 0, 1)), mdat("data")...), `box "trun" at offset`},
	} {
		r := newTestReader(t, io.MultiReader(bytes.NewReader(data[:at]), bytes.NewReader(c.then)))
		for n := 0; ; n++ {
			_, err := r.Next()
			if err == nil {
				continue
			}
			if n != 40 || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: after %d frames, error %v, want %s", c.name, n, err, c.want)
			}
			if _, again := r.Next(); again != err {
				t.Errorf("%s: then %v", c.name, again)
			}
			break
		}
	}
}

func TestReaderReadError(t *testing.T) {
	broken := errors.New("the disk is on fire")
	r := newTestReader(t, io.MultiReader(bytes.NewReader(clip(t)[:500_000]), iotest.ErrReader(broken)))
	for {
		if _, err := r.Next(); err != nil {
			if err != broken {
				t.Errorf("error %v", err)
			}
			return
		}
	}
}

// Memory grows with what arrives, not with what a header says.
func TestReaderBoxLongerThanTheStream(t *testing.T) {
	head := append(clipHeader(t), 3, 0, 0, 0, 'm', 'o', 'o', 'f', 1, 2, 3)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	newTestReader(t, bytes.NewReader(head))
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
		t.Errorf("%d bytes were allocated for a box of which 3 came", got)
	}
}

// A fragment of a second has all of its video before all of its sound; frames
// come in order of time.
func TestReaderOrdersTracks(t *testing.T) {
	var video, sound []uint32
	for range 30 {
		video = append(video, 2)
	}
	for range 50 {
		sound = append(sound, 1)
	}
	entry := func(typ string) []byte {
		return appendEntry(nil, &media.Track{Kind: media.Audio, Codec: "opus", Channels: 2, SampleRate: 48000}, typ)
	}
	moof := parent("moof",
		parent("traf", full("tfhd", 0, tfhdDefaultBaseIsMoof|tfhdDefaultDuration, 1, 1600), full("tfdt", 0, 0, 0),
			full("trun", 0, trunDataOffset|trunSize, append([]uint32{30, atData}, video...)...)),
		parent("traf", full("tfhd", 0, tfhdDefaultDuration, 2, 960), full("tfdt", 0, 0, 0),
			full("trun", 0, trunSize, append([]uint32{50}, sound...)...)))
	data := append(header(trackBox(1, "soun", nil, entry("Opus")), trackBox(2, "soun", nil, entry("Opus"))),
		fragment(strings.Repeat("v", 60)+strings.Repeat("a", 50), moof)...)
	frames := readAll(t, newTestReader(t, bytes.NewReader(data)))
	if len(frames) != 80 {
		t.Fatalf("%d frames, want 80", len(frames))
	}
	for i, f := range frames {
		if i > 0 && f.DTSTime() < frames[i-1].DTSTime() {
			t.Fatalf("frame %d at %v comes after one at %v", i, f.DTSTime(), frames[i-1].DTSTime())
		}
		if f.Raw != nil {
			t.Fatalf("frame %d has the whole fragment as its own", i)
		}
	}
}

func TestSoundClock(t *testing.T) {
	for _, c := range []struct {
		name           string
		dts, durations []int64
		want           []int64
	}{
		{
			"ffmpeg writes some packets a packet late",
			[]int64{0, 960, 2880, 2880, 3840, 5760, 5760},
			[]int64{960, 960, 960, 960, 960, 960, 960},
			[]int64{0, 960, 1920, 2880, 3840, 4800, 5760},
		},
		{
			"a packet is missing",
			[]int64{0, 960, 2880, 3840, 4800, 5760, 6720},
			[]int64{960, 960, 960, 960, 960, 960, 960},
			[]int64{0, 960, 1920, 3840, 4800, 5760, 6720},
		},
		{
			"a gap that the packet before it covers",
			[]int64{0, 2560, 3520},
			[]int64{2560, 960, 960},
			[]int64{0, 2560, 3520},
		},
		{
			"a long gap",
			[]int64{0, 960, 48000, 48960},
			[]int64{960, 960, 960, 960},
			[]int64{0, 960, 48000, 48960},
		},
		{
			"the source starts over",
			[]int64{96000, 96960, 0, 960},
			[]int64{960, 960, 960, 960},
			[]int64{96000, 96960, 0, 960},
		},
		{
			"rounded times",
			[]int64{0, 963, 1918, 2880},
			[]int64{960, 960, 960, 960},
			[]int64{0, 963, 1918, 2880},
		},
	} {
		var clock soundClock
		for i, dts := range c.dts {
			if got := clock.fix(dts, c.durations[i], 960); got != c.want[i] {
				t.Errorf("%s: packet %d at %d, want %d", c.name, i, got, c.want[i])
			}
		}
	}
	var clock soundClock
	for _, dts := range []int64{5, 3, 3, 1000} {
		if got := clock.fix(dts, 10, 0); got != dts {
			t.Errorf("without a length, %d became %d", dts, got)
		}
	}
}

func FuzzReader(f *testing.F) {
	data := clip(f)
	boxes, err := children(data, 0)
	if err != nil {
		f.Fatal(err)
	}
	end := boxes[8].pos
	f.Add(data[:end])
	f.Add(append(bytes.Clone(data[:end-30]), data[:end]...))
	f.Add(header(trackBox(1, "soun", nil, opusEntry())))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := NewReader(bytes.NewReader(data), ReaderConfig{})
		for n := 0; err == nil; n++ {
			var fr media.Frame
			if fr, err = r.Next(); err == nil && (fr.Track == nil || len(fr.Payload) == 0) {
				t.Fatalf("%+v", fr)
			}
			if n > len(data)*maxSamples {
				t.Fatal("it does not end")
			}
		}
		if err != io.EOF && !errors.Is(err, media.ErrMalformed) && !errors.Is(err, media.ErrUnsupported) {
			t.Fatal(err)
		}
		if strings.Contains(err.Error(), "\n") {
			t.Fatalf("more than one line: %q", err)
		}
	})
}

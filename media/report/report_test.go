package report

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// vector is one of testdata/vectors.json, which the player's tests read too.
type vector struct {
	Name, Hex string
	Report    struct {
		Period, Stalled int
		Tracks          []struct {
			Kind                                  string
			Priority, Cancelled, Dropped, Unknown int
			Delays                                [][2]int // milliseconds, frames
		}
	}
}

func vectors(t testing.TB) []vector {
	t.Helper()
	b, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vs []vector
	if err := json.Unmarshal(b, &vs); err != nil {
		t.Fatal(err)
	}
	return vs
}

func (v vector) report() Report {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	r := Report{Period: ms(v.Report.Period), Stalled: ms(v.Report.Stalled)}
	for _, t := range v.Report.Tracks {
		kind := Video
		if t.Kind == "audio" {
			kind = Audio
		}
		tr := TrackReport{
			Kind: kind, Priority: uint8(t.Priority),
			Cancelled: uint32(t.Cancelled), Dropped: uint32(t.Dropped), Unknown: uint32(t.Unknown),
		}
		for _, d := range t.Delays {
			tr.Steps = append(tr.Steps, Step{ms(d[0]), uint32(d[1])})
		}
		r.Tracks = append(r.Tracks, tr)
	}
	return r
}

func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			b, err := hex.DecodeString(strings.ReplaceAll(v.Hex, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			want := v.report()
			if got := Append(nil, want); hex.EncodeToString(got) != hex.EncodeToString(b) {
				t.Errorf("Append: %x, want %x", got, b)
			}
			got, err := Decode(b)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("Decode: %+v, %v; want %+v", got, err, want)
			}
			for n := range b {
				if _, err := Decode(b[:n]); !errors.Is(err, ErrMalformed) {
					t.Errorf("the first %d bytes: %v", n, err)
				}
			}
			// Later fields of the same version.
			if got, err := Decode(append(b, 1, 2, 3)); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("with bytes behind: %+v, %v", got, err)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	ones := func(steps int) []byte { // a video track with so many steps of 1 ms and 1 frame
		b := []byte{1, 0, 0, 1, 1, 0, 0, 0, 0, byte(steps&0x7f | 0x80), byte(steps >> 7)}
		for range steps {
			b = append(b, 1, 1)
		}
		return b
	}
	if _, err := Decode(ones(MaxSteps)); err != nil {
		t.Fatalf("the largest number of steps: %v", err)
	}
	for name, tt := range map[string]struct {
		b    []byte
		want error
	}{
		"another version":      {[]byte{2, 0, 0, 0}, ErrVersion},
		"nothing":              {nil, ErrMalformed},
		"too many tracks":      {[]byte{1, 0, 0, MaxTracks + 1}, ErrMalformed},
		"kind 0":               {[]byte{1, 0, 0, 1, 0, 0, 0, 0, 0, 0}, ErrMalformed},
		"kind 3":               {[]byte{1, 0, 0, 1, 3, 0, 0, 0, 0, 0}, ErrMalformed},
		"priority 256":         {[]byte{1, 0, 0, 1, 1, 0x80, 2, 0, 0, 0, 0}, ErrMalformed},
		"too many steps":       {ones(MaxSteps + 1), ErrMalformed},
		"a step without frame": {[]byte{1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 5, 0}, ErrMalformed},
		"the same delay twice": {[]byte{1, 0, 0, 1, 1, 0, 0, 0, 0, 2, 5, 1, 0, 1}, ErrMalformed},
		"too many frames":      {[]byte{1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 5, 0x81, 0x80, 1}, ErrMalformed},
		"more than 32 bits":    {[]byte{1, 0x80, 0x80, 0x80, 0x80, 0x10, 0, 0}, ErrMalformed},
		"an endless integer":   {[]byte{1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80}, ErrMalformed},
		"delays beyond 32 bits": {
			[]byte{1, 0, 0, 1, 1, 0, 0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff, 0xf, 1, 1, 1}, ErrMalformed,
		},
		"too long": {append([]byte{1, 0, 0, 0}, make([]byte, MaxSize)...), ErrMalformed},
	} {
		if got, err := Decode(tt.b); !errors.Is(err, tt.want) || !reflect.DeepEqual(got, Report{}) {
			t.Errorf("%s: %+v, %v; want %v", name, got, err, tt.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range vectors(f) {
		b, _ := hex.DecodeString(strings.ReplaceAll(v.Hex, " ", ""))
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Decode(b)
		if err != nil {
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrVersion) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if len(r.Tracks) > MaxTracks {
			t.Fatalf("%d tracks", len(r.Tracks))
		}
		for _, tr := range r.Tracks {
			var frames uint32
			before := time.Duration(-1)
			for _, s := range tr.Steps {
				if s.Delay <= before || s.Frames == 0 {
					t.Fatalf("steps %v", tr.Steps)
				}
				before = s.Delay
				frames += s.Frames
			}
			if frames > MaxFrames || len(tr.Steps) > MaxSteps {
				t.Fatalf("%d frames in %d steps", frames, len(tr.Steps))
			}
		}
		again, err := Decode(Append(nil, r))
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Fatalf("%+v became %+v, %v", r, again, err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	r := Report{Period: 5 * time.Second}
	for i := range 3 {
		t := TrackReport{Kind: Video, Priority: uint8(i)}
		for d := range 60 {
			t.Steps = append(t.Steps, Step{time.Duration(40+d) * time.Millisecond, 3})
		}
		r.Tracks = append(r.Tracks, t)
	}
	data := Append(nil, r)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}

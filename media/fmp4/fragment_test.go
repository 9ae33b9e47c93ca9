package fmp4

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	mp4 "github.com/abema/go-mp4"

	"github.com/moq-c4/moq-c4/media"
)

// full makes a box with version and flags from 32-bit fields.
func full(typ string, version uint8, flags uint32, fields ...uint32) []byte {
	return appendFull(nil, typ, version, flags, func(b []byte) []byte {
		for _, f := range fields {
			b = be32(b, f)
		}
		return b
	})
}

// parent makes a box of boxes.
func parent(typ string, kids ...[]byte) []byte {
	return appendBox(nil, typ, func(b []byte) []byte { return append(b, bytes.Join(kids, nil)...) })
}

func mdat(data string) []byte { return parent("mdat", []byte(data)) }

// moofWith makes a moof with one traf.
func moofWith(kids ...[]byte) []byte {
	return parent("moof", full("mfhd", 0, 0, 1), parent("traf", kids...))
}

// atData stands for the data offset of the first byte of the mdat, in fragment.
const atData = 0x5ada5ada

// fragment puts an mdat behind a moof, with other boxes between, and sets the
// data offset.
func fragment(data string, moof []byte, between ...[]byte) []byte {
	out := append(bytes.Clone(moof), bytes.Join(between, nil)...)
	start := be32(nil, uint32(len(out)+8))
	out = bytes.Replace(out, be32(nil, atData), start, 1)
	return append(out, mdat(data)...)
}

const (
	isSync  = sampleDependsNo
	nonSync = sampleDepends | sampleNonSync
)

func TestParseFragment(t *testing.T) {
	defaults := Defaults{1: {Duration: 512, Size: 3, Flags: nonSync}}
	for _, c := range []struct {
		name string
		data []byte
		pos  int64
		want []Sample
	}{
		{
			name: "all from the trex",
			data: fragment("aaabbb", moofWith(full("tfhd", 0, tfhdDefaultBaseIsMoof, 1), full("tfdt", 1, 0, 0, 1000),
				full("trun", 0, trunDataOffset, 2, atData))),
			want: []Sample{
				{TrackID: 1, DTS: 1000, Duration: 512, Data: []byte("aaa")},
				{TrackID: 1, DTS: 1512, Duration: 512, Data: []byte("bbb")},
			},
		},
		{
			// What ffmpeg writes at the start of a group.
			name: "flags of the first sample",
			data: fragment("aaabbb", moofWith(
				full("tfhd", 0, tfhdDefaultBaseIsMoof|tfhdDefaultDuration|tfhdDefaultFlags, 1, 100, nonSync),
				full("tfdt", 0, 0, 7), full("trun", 0, trunDataOffset|trunFirstFlags, 2, atData, isSync))),
			want: []Sample{
				{TrackID: 1, DTS: 7, Duration: 100, Sync: true, Data: []byte("aaa")},
				{TrackID: 1, DTS: 107, Duration: 100, Data: []byte("bbb")},
			},
		},
		{
			name: "all in the trun, 64-bit time, negative composition offset",
			data: fragment("abb", moofWith(full("tfhd", 0, tfhdDefaultBaseIsMoof, 9), full("tfdt", 1, 0, 0x1912, 0x3456789a),
				full("trun", 1, trunDataOffset|trunDuration|trunSize|trunFlags|trunCompoOffset, 2, atData,
					11, 1, isSync, 0xfffffe00, 12, 2, nonSync, 512))),
			want: []Sample{
				{TrackID: 9, DTS: 0x19123456789a, Duration: 11, Offset: -512, Sync: true, Data: []byte("a")},
				{TrackID: 9, DTS: 0x19123456789a + 11, Duration: 12, Offset: 512, Data: []byte("bb")},
			},
		},
		{
			name: "offsets from the start of the file",
			data: fragment("aaa", moofWith(full("tfhd", 0, tfhdBaseDataOffset, 1, 0, 5000), full("tfdt", 0, 0, 0),
				full("trun", 0, trunDataOffset, 1, atData))),
			pos:  5000,
			want: []Sample{{TrackID: 1, Duration: 512, Data: []byte("aaa")}},
		},
		{
			name: "a box between moof and mdat",
			data: fragment("aaa", moofWith(full("tfhd", 0, 0, 1), full("tfdt", 0, 0, 0),
				full("trun", 0, trunDataOffset, 1, atData)), parent("free", []byte("free"))),
			want: []Sample{{TrackID: 1, Duration: 512, Data: []byte("aaa")}},
		},
		{
			name: "two runs, the second goes on behind the first",
			data: fragment("aaabbbb", moofWith(full("tfhd", 0, tfhdDefaultBaseIsMoof, 1), full("tfdt", 0, 0, 0),
				full("trun", 0, trunDataOffset, 1, atData), full("trun", 0, trunSize, 1, 4))),
			want: []Sample{
				{TrackID: 1, Duration: 512, Data: []byte("aaa")},
				{TrackID: 1, DTS: 512, Duration: 512, Data: []byte("bbbb")},
			},
		},
		{
			name: "two tracks, the second one goes on behind the first",
			data: fragment("aaabb", parent("moof",
				parent("traf", full("tfhd", 0, 0, 1), full("tfdt", 0, 0, 0), full("trun", 0, trunDataOffset, 1, atData)),
				parent("traf", full("tfhd", 0, 0, 2), full("tfdt", 0, 0, 40), full("trun", 0, trunSize|trunDuration, 1, 20, 2)))),
			want: []Sample{
				{TrackID: 1, Duration: 512, Data: []byte("aaa")},
				{TrackID: 2, DTS: 40, Duration: 20, Sync: true, Data: []byte("bb")},
			},
		},
		{
			name: "no samples",
			data: fragment("", moofWith(full("tfhd", 0, 0, 1), full("tfdt", 0, 0, 0), full("trun", 0, 0, 0))),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseFragment(c.data, c.pos, defaults)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				got[i].Data = bytes.Clone(got[i].Data)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// Errors name the box and where it is.
func TestParseFragmentRefuses(t *testing.T) {
	tfhd, tfdt := full("tfhd", 0, tfhdDefaultBaseIsMoof, 1), full("tfdt", 0, 0, 0)
	huge := make([]byte, 16)
	copy(huge, full("trun", 0, 0, 0xffffffff))
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"nothing", nil, `box "?" at offset 0: 0 bytes left`},
		{"not a moof", mdat(""), `box "mdat" at offset 0: expected a moof`},
		{"a box longer than the rest", []byte("\x00\x00\x00\x10moof"), `box "moof" at offset 0: size 16, but 8 bytes are there`},
		{"a box shorter than its header", []byte("\x00\x00\x00\x07moof"), `box "moof" at offset 0: size 7`},
		{"a 64-bit size cut short", []byte("\x00\x00\x00\x01moof1234"), `box "moof" at offset 0: ends within its header`},
		{"a child longer than its parent", parent("moof", []byte("\x00\x00\x01\x00traf")), `box "traf" at offset 8: size 256`},
		{"trun before tfhd", moofWith(full("trun", 0, 0, 1)), `box "trun" at offset 32: comes before the tfhd`},
		{"trun without tfdt", moofWith(tfhd, full("trun", 0, 0, 1)), `box "trun" at offset 48: has no tfdt`},
		{"tfhd cut short", moofWith(full("tfhd", 0, tfhdDefaultFlags, 1)), `box "tfhd" at offset 32: too short`},
		{"tfdt cut short", moofWith(tfhd, full("tfdt", 1, 0, 0)), `box "tfdt" at offset 48: too short`},
		{"decode time too large", moofWith(tfhd, full("tfdt", 1, 0, 0xffffffff, 0)), `box "tfdt" at offset 48: decode time`},
		{"four thousand million samples", moofWith(tfhd, tfdt, huge), `box "trun" at offset 64: 4294967295 samples`},
		{"fewer entries than samples", moofWith(tfhd, tfdt, full("trun", 0, trunSize, 2, 0)), `box "trun" at offset 64: ends in sample 1 of 2`},
		{"data before the fragment", moofWith(tfhd, tfdt, full("trun", 0, trunDataOffset|trunSize, 1, 0xffffffff, 1)), `box "trun" at offset 64: sample 0 of track 1 lies at -1`},
		{"data behind the fragment", fragment("a", moofWith(tfhd, tfdt, full("trun", 0, trunDataOffset|trunSize, 1, atData, 2))), `box "trun" at offset 64: sample 0`},
		{"absolute offset too large", moofWith(full("tfhd", 0, tfhdBaseDataOffset, 1, 0xffffffff, 0xffffffff)), `box "tfhd" at offset 32: base data offset`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseFragment(c.data, 0, nil)
			if !errors.Is(err, media.ErrMalformed) || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v\nwant  %s", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %v", err)
			}
		})
	}
}

// An independent reader finds in our fragments what we put there.
func TestAppendFragment(t *testing.T) {
	for _, s := range []Sample{
		{TrackID: 1, DTS: 1_796_040_890 * 15360, Duration: 512, Sync: true, Data: []byte("key")},
		{TrackID: 7, DTS: 5, Offset: 1024, Duration: 1, Data: []byte("delta")},
		{TrackID: 7, DTS: 5, Offset: -3, Duration: 1, Data: []byte("x")},
		{TrackID: 2, Data: nil},
	} {
		b := AppendFragment([]byte("before"), 99, s)[len("before"):]
		if len(b) > FragmentOverhead+len(s.Data) {
			t.Errorf("%d bytes more than the data, want at most %d", len(b)-len(s.Data), FragmentOverhead)
		}
		r := bytes.NewReader(b)
		boxes, err := mp4.ExtractBoxesWithPayload(r, nil, []mp4.BoxPath{
			{mp4.BoxTypeMoof(), mp4.BoxTypeMfhd()},
			{mp4.BoxTypeMoof(), mp4.BoxTypeTraf(), mp4.BoxTypeTfhd()},
			{mp4.BoxTypeMoof(), mp4.BoxTypeTraf(), mp4.BoxTypeTfdt()},
			{mp4.BoxTypeMoof(), mp4.BoxTypeTraf(), mp4.BoxTypeTrun()},
			{mp4.BoxTypeMdat()},
		})
		if err != nil || len(boxes) != 5 {
			t.Fatalf("%d boxes, error %v", len(boxes), err)
		}
		mfhd, tfhd, tfdt := boxes[0].Payload.(*mp4.Mfhd), boxes[1].Payload.(*mp4.Tfhd), boxes[2].Payload.(*mp4.Tfdt)
		trun, data := boxes[3].Payload.(*mp4.Trun), boxes[4].Payload.(*mp4.Mdat)
		e := trun.Entries[0]
		got := Sample{
			TrackID: tfhd.TrackID, DTS: int64(tfdt.GetBaseMediaDecodeTime()), Duration: e.SampleDuration,
			Sync: e.SampleFlags&sampleNonSync == 0, Data: b[trun.DataOffset:][:e.SampleSize],
		}
		if trun.CheckFlag(trunCompoOffset) {
			got.Offset = int32(trun.GetSampleCompositionTimeOffset(0))
		}
		if mfhd.SequenceNumber != 99 || !bytes.Equal(data.Data, s.Data) || !bytes.Equal(got.Data, s.Data) {
			t.Errorf("sequence number %d, mdat %q, data at the offset %q", mfhd.SequenceNumber, data.Data, got.Data)
		}
		got.Data = s.Data
		if !reflect.DeepEqual(got, s) {
			t.Errorf("got  %+v\nwant %+v", got, s)
		}
		// And so do we.
		again, err := parseFragment(b, 0, nil)
		if err != nil || len(again) != 1 || again[0].DTS != s.DTS || again[0].Offset != s.Offset || again[0].Sync != s.Sync {
			t.Errorf("read again: %+v, error %v", again, err)
		}
	}
}

func TestParseFragments(t *testing.T) {
	a := AppendFragment(nil, 1, Sample{TrackID: 1, DTS: 0, Duration: 5, Data: []byte("a")})
	b := AppendFragment(nil, 2, Sample{TrackID: 1, DTS: 5, Duration: 5, Data: []byte("bb")})
	data := bytes.Join([][]byte{parent("styp", []byte("msdh")), a, parent("free"), b}, nil)
	samples, err := ParseFragments(data, nil)
	if err != nil || len(samples) != 2 || string(samples[1].Data) != "bb" || samples[1].DTS != 5 {
		t.Fatalf("%+v, error %v", samples, err)
	}
	for _, bad := range [][]byte{nil, parent("styp"), a[:len(a)-1]} {
		if _, err := ParseFragments(bad, nil); !errors.Is(err, media.ErrMalformed) {
			t.Errorf("%q: error %v", bad, err)
		}
	}
}

func TestAppendRetimed(t *testing.T) {
	s := Sample{TrackID: 1, DTS: 1000, Duration: 512, Offset: 7, Sync: true, Data: []byte("data")}
	const later = 1_796_040_890 * 15360
	want := s
	want.DTS = later
	raw := AppendFragment(nil, 3, s)
	before := bytes.Clone(raw)
	got, ok := AppendRetimed(nil, raw, want)
	if !ok || !bytes.Equal(got, AppendFragment(nil, 3, want)) {
		t.Fatalf("moved: %v\n%x", ok, got)
	}
	if !bytes.Equal(raw, before) {
		t.Error("the original was changed")
	}

	for name, change := range map[string]func(*Sample){
		"another track":    func(s *Sample) { s.TrackID++ },
		"another offset":   func(s *Sample) { s.Offset++ },
		"another duration": func(s *Sample) { s.Duration++ },
		"no sync sample":   func(s *Sample) { s.Sync = false },
		"other data":       func(s *Sample) { s.Data = []byte("date") },
	} {
		other := want
		change(&other)
		if got, ok := AppendRetimed(nil, raw, other); ok || got != nil {
			t.Errorf("%s: %x", name, got)
		}
	}
	want.Offset = 0
	const explicit = tfhdDefaultBaseIsMoof | tfhdDefaultDuration | tfhdDefaultFlags
	tfhd := full("tfhd", 0, explicit, 1, 512, isSync)
	tfdt := full("tfdt", 1, 0, 0, 0)
	trun := full("trun", 0, trunDataOffset|trunSize, 1, atData, 4)
	if _, ok := AppendRetimed(nil, fragment("data", moofWith(tfhd, tfdt, trun)), want); !ok {
		t.Error("a fragment with all it needs in the tfhd was refused")
	}
	for _, c := range []struct {
		name string
		raw  []byte
	}{
		{"32-bit decode time", fragment("data", moofWith(tfhd, full("tfdt", 0, 0, 0), trun))},
		{"duration from the header", fragment("data", moofWith(full("tfhd", 0, explicit&^tfhdDefaultDuration, 1, isSync), tfdt, trun))},
		{"flags from the header", fragment("data", moofWith(full("tfhd", 0, explicit&^tfhdDefaultFlags, 1, 512), tfdt, trun))},
		{"offset from the start of the file", fragment("data", moofWith(full("tfhd", 0, explicit&^tfhdDefaultBaseIsMoof|tfhdBaseDataOffset, 1, 0, 0, 512, isSync), tfdt, trun))},
		{"a box before the data", fragment("data", moofWith(tfhd, tfdt, trun), parent("free"))},
		{"the sample is not all of the mdat", fragment("data", moofWith(tfhd, tfdt, full("trun", 0, trunDataOffset|trunSize, 1, atData, 3)))},
		{"two samples", fragment("data", moofWith(tfhd, tfdt, full("trun", 0, trunDataOffset|trunSize, 2, atData, 2, 2)))},
		{"garbage", []byte("garbage, and a lot of it")},
	} {
		if got, ok := AppendRetimed(nil, c.raw, want); ok {
			t.Errorf("%s: %x", c.name, got)
		}
	}
}

func FuzzParseFragment(f *testing.F) {
	f.Add(AppendFragment(nil, 1, Sample{TrackID: 1, DTS: 5, Duration: 5, Offset: 3, Data: []byte("a")}))
	f.Add(fragment("aaabbb", moofWith(full("tfhd", 0, tfhdBaseDataOffset, 1, 0, 0), full("tfdt", 0, 0, 0),
		full("trun", 0, trunDataOffset|trunFirstFlags, 2, atData, isSync))))
	defaults := Defaults{1: {Duration: 512, Size: 3, Flags: nonSync}}
	f.Fuzz(func(t *testing.T, data []byte) {
		samples, err := ParseFragments(data, defaults)
		if err != nil && !errors.Is(err, media.ErrMalformed) {
			t.Fatal(err)
		}
		for _, s := range samples {
			if len(s.Data) > len(data) || s.DTS < 0 {
				t.Fatalf("%+v", s)
			}
		}
		if len(samples) != 1 {
			return
		}
		samples[0].DTS = 12345
		if moved, ok := AppendRetimed(nil, data, samples[0]); ok {
			again, err := parseFragment(moved, 0, nil)
			if err != nil || len(again) != 1 || again[0].DTS != 12345 || !bytes.Equal(again[0].Data, samples[0].Data) {
				t.Fatalf("moved: %+v, error %v", again, err)
			}
		}
	})
}

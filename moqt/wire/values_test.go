package wire

import (
	"math"
	"testing"
	"time"
)

func TestFilterRange(t *testing.T) {
	const end = math.MaxUint64
	none, largest := Opt[Location]{}, Some(Location{5, 7})
	lastObject, lastGroup := Some(Location{5, end}), Some(Location{end, 0})
	for _, tt := range []struct {
		filter  Filter
		largest Opt[Location]
		start   Location
		end     uint64
	}{
		{Filter{Type: FilterLargestObject}, largest, Location{5, 8}, end},
		{Filter{Type: FilterLargestObject}, none, Location{}, end},
		{Filter{Type: FilterLargestObject}, lastObject, Location{6, 0}, end},
		{Filter{Type: FilterNextGroupStart}, largest, Location{6, 0}, end},
		{Filter{Type: FilterNextGroupStart}, none, Location{}, end},
		{Filter{Type: FilterNextGroupStart}, lastGroup, Location{end, end}, end},
		{Filter{Type: FilterAbsoluteStart, Start: Location{2, 1}}, largest, Location{2, 1}, end},
		{Filter{Type: FilterAbsoluteRange, Start: Location{2, 1}, EndGroup: 9}, none, Location{2, 1}, 9},
	} {
		start, end := tt.filter.Range(tt.largest)
		if start != tt.start || end != tt.end {
			t.Errorf("%+v with largest %v: from %v to %d, want from %v to %d", tt.filter, tt.largest, start, end, tt.start, tt.end)
		}
	}
}

func TestFetchEnd(t *testing.T) {
	for _, tt := range []struct{ last, end Location }{
		{Location{5, 9}, Location{5, 10}},
		{Location{5, 0}, Location{5, 1}},
		{Location{5, math.MaxUint64}, Location{5, 0}},
	} {
		if got := FetchEnd(tt.last); got != tt.end {
			t.Errorf("end of a fetch up to %v is %v, want %v", tt.last, got, tt.end)
		}
		if got := FetchLast(tt.end); got != tt.last {
			t.Errorf("last of a fetch with end %v is %v, want %v", tt.end, got, tt.last)
		}
	}
}

func TestLocationOrder(t *testing.T) {
	// In ascending order.
	list := []Location{{0, 0}, {0, 1}, {0, math.MaxUint64}, {1, 0}, {math.MaxUint64, 0}}
	for i, a := range list {
		for j, b := range list {
			if a.Less(b) != (i < j) || (a.Compare(b) == 0) != (i == j) {
				t.Errorf("%v and %v: less %v, compare %d", a, b, a.Less(b), a.Compare(b))
			}
		}
	}
}

func TestMillis(t *testing.T) {
	for _, tt := range []struct {
		d time.Duration
		m Millis
	}{
		{0, 0},
		{-time.Second, 0},
		{time.Nanosecond, 1},
		{time.Millisecond, 1},
		{time.Second + 1, 1001},
		{math.MaxInt64, 9223372036855},
	} {
		if got := MillisOf(tt.d); got != tt.m {
			t.Errorf("%v is %d ms, want %d", tt.d, got, tt.m)
		}
	}
	for m, want := range map[Millis]time.Duration{
		0:              0,
		1500:           1500 * time.Millisecond,
		9223372036854:  9223372036854 * time.Millisecond,
		9223372036855:  math.MaxInt64,
		math.MaxUint64: math.MaxInt64,
	} {
		if got := m.Duration(); got != want {
			t.Errorf("%d ms is %v, want %v", m, got, want)
		}
	}
}

func TestOpt(t *testing.T) {
	var none Opt[int]
	if _, ok := none.Get(); ok || none.IsSet() || none.Or(5) != 5 {
		t.Error("zero value is present")
	}
	zero := Some(0)
	if x, ok := zero.Get(); !ok || x != 0 || !zero.IsSet() || zero.Or(5) != 0 {
		t.Error("Some(0) is absent")
	}
}

func TestGrease(t *testing.T) {
	// "that is, 0x9D, 0x11C, ..., 0x3fffffffffffffde" [MOQT-18] Section 14, Grease
	for _, x := range []uint64{0x9d, 0x11c, 0x3fffffffffffffde} {
		if !IsGrease(x) {
			t.Errorf("%#x is not grease", x)
		}
	}
	for _, x := range []uint64{0, 0x1e, 0x9c, 0x9e, 0x11b, math.MaxUint64} {
		if IsGrease(x) {
			t.Errorf("%#x is grease", x)
		}
	}
}

func TestVersion(t *testing.T) {
	if v, ok := VersionFromALPN(Draft18.ALPN()); v != Draft18 || !ok {
		t.Errorf("%q gives %v, %v", Draft18.ALPN(), v, ok)
	}
	if _, ok := VersionFromALPN("h3"); ok {
		t.Error("h3 is a version")
	}
	if s := Version(1).String(); s != "unknown" {
		t.Errorf("version 1 is %q", s)
	}
}

func TestTimestampMicros(t *testing.T) {
	none := Opt[uint64]{}
	for _, tt := range []struct {
		name   string
		loc    LOC
		track  Opt[uint64]
		micros uint64
		wall   bool
		ok     bool
	}{
		{"none", LOC{Timescale: Some(uint64(1))}, none, 0, false, false},
		{"wall clock", LOC{Timestamp: Some(uint64(1795000000123456))}, none, 1795000000123456, true, true},
		{"own timescale", LOC{Timestamp: Some(uint64(180000)), Timescale: Some(uint64(90000))}, Some(uint64(1)), 2000000, false, true},
		{"timescale of the track", LOC{Timestamp: Some(uint64(48000))}, Some(uint64(48000)), 1000000, false, true},
		{"timescale 0", LOC{Timestamp: Some(uint64(1))}, Some(uint64(0)), 0, false, false},
		{"product above 64 bits", LOC{Timestamp: Some(uint64(1) << 63)}, Some(uint64(1000000)), 1 << 63, false, true},
		{"result above 64 bits", LOC{Timestamp: Some(uint64(1) << 63)}, Some(uint64(499999)), 0, false, false},
	} {
		micros, wall, ok := tt.loc.TimestampMicros(tt.track)
		if micros != tt.micros || wall != tt.wall || ok != tt.ok {
			t.Errorf("%s: %d, wall clock %v, ok %v", tt.name, micros, wall, ok)
		}
	}
}

func TestURIParts(t *testing.T) {
	for s, want := range map[string]bool{
		"": true, "/": true, "/a/b": true, "/a?b=c&d=/?": true, "/%09%af%AF": true, "?q": true, "/%2f": true,
		"a": false, "/a b": false, "/a#b": false, "/a%": false, "/a%2": false, "/é": false, "/a\x00": false, "/[": false,
		"/.well-known/x:@!$&'()*+,;=~-_": true,
	} {
		if got := validPath(s); got != want {
			t.Errorf("path %q: %v", s, got)
		}
	}
	for s, want := range map[string]bool{
		"h": true, "h:443": true, "h:": true, "1.2.3.4:5": true, "[::1]": true, "[::1]:443": true, "u:p@h:1": true, "@h": true, "h:0": true, "h:9": true, "a%20b": true,
		"": false, ":443": false, "h:x": false, "h/x": false, "[::1": false, "[]": false, "[::1]x": false, "a@b@c": false, "u/@h": false, "h?": false, "a b": false,
		"[::1]:x": false, "h:1:2": false,
	} {
		if got := validAuthority(s); got != want {
			t.Errorf("authority %q: %v", s, got)
		}
	}
}

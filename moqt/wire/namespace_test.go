package wire

import (
	"errors"
	"strings"
	"testing"
)

func TestNewNamespaceLimits(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, tt := range []struct {
		name   string
		fields []string
		ok     bool
	}{
		{"none", nil, true},
		{"32 fields", make32("a"), true},
		{"33 fields", append(make32("a"), "a"), false},
		{"empty field", []string{"a", ""}, false},
		{"4096 bytes", []string{long(4000), long(96)}, true},
		{"4097 bytes", []string{long(4000), long(97)}, false},
		{"70000 bytes", []string{long(70000)}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ns, err := NewNamespace(tt.fields...)
			if (err == nil) != tt.ok || err != nil && !errors.Is(err, ErrInvalidValue) {
				t.Fatalf("error %v, want ok %v", err, tt.ok)
			}
			if err != nil {
				return
			}
			b := ns.append(nil, Draft18)
			got, n, err := consumeNamespace(b, Draft18)
			if got != ns || n != len(b) || err != nil {
				t.Errorf("after append and consume: %d fields, %d bytes of %d, error %v", got.Len(), n, len(b), err)
			}
			if ns.Len() != len(tt.fields) || ns.Size() != len(strings.Join(tt.fields, "")) {
				t.Errorf("Len %d, Size %d", ns.Len(), ns.Size())
			}
		})
	}
}

func make32(f string) []string {
	fields := make([]string, MaxNamespaceFields)
	for i := range fields {
		fields[i] = f
	}
	return fields
}

// "If an endpoint receives a Track Namespace or a Full Track Name exceeding 4,096
// bytes, it MUST close the session with a PROTOCOL_VIOLATION."
// [MOQT-18] Section 2.4.1, Track Naming
func TestConsumeNamesAtTheLimit(t *testing.T) {
	field := func(b []byte, n int) []byte {
		return append(AppendVarint(b, uint64(n)), strings.Repeat("x", n)...)
	}
	for _, tt := range []struct {
		fields []int
		name   int
		want   string
	}{
		{[]int{4096}, 0, ""},
		{[]int{4000, 96}, 0, ""},
		{[]int{4000, 97}, 0, "PROTOCOL_VIOLATION"},
		{[]int{2000, 2000, 96}, 0, ""},
		{[]int{2000, 2000, 97}, 0, "PROTOCOL_VIOLATION"},
		{[]int{4000}, 96, ""},
		{[]int{4000}, 97, "PROTOCOL_VIOLATION"},
		{nil, 4096, ""},
		{nil, 4097, "PROTOCOL_VIOLATION"},
	} {
		b := AppendVarint(nil, uint64(len(tt.fields)))
		for _, n := range tt.fields {
			b = field(b, n)
		}
		b = field(b, tt.name)
		track, n, err := consumeFullTrackName(b, Draft18)
		if got := errorName(err); got != tt.want {
			t.Errorf("fields %v, name %d: error %q, want %q", tt.fields, tt.name, got, tt.want)
		}
		if err == nil && (n != len(b) || track.Size() > MaxNameLen) {
			t.Errorf("fields %v, name %d: consumed %d of %d, size %d", tt.fields, tt.name, n, len(b), track.Size())
		}
	}
	if _, err := NewFullTrackName(MustNamespace(strings.Repeat("x", 4095)), "y"); err != nil {
		t.Errorf("NewFullTrackName of 4096 bytes: error %v", err)
	}
	if _, err := NewFullTrackName(MustNamespace(strings.Repeat("x", 4096)), "y"); !errors.Is(err, ErrInvalidValue) {
		t.Errorf("NewFullTrackName of 4097 bytes: error %v", err)
	}
}

func TestNamespacePrefix(t *testing.T) {
	ns := MustNamespace
	for _, tt := range []struct {
		a, b     Namespace
		isPrefix bool // b of a
		overlap  bool
	}{
		{ns(), ns(), true, true},
		{ns("a"), ns(), true, true},
		{ns(), ns("a"), false, true},
		{ns("a", "b"), ns("a"), true, true},
		{ns("a"), ns("a", "b"), false, true},
		{ns("a", "b"), ns("a", "b"), true, true},
		{ns("a", "b"), ns("a", "c"), false, false},
		{ns("ab"), ns("a"), false, false},
		{ns("a", "b"), ns("ab"), false, false},
		{ns("a", "bc"), ns("a", "b"), false, false},
		{ns("\x00\x01a"), ns("\x00"), false, false},
	} {
		if got := tt.a.HasPrefix(tt.b); got != tt.isPrefix {
			t.Errorf("%q has prefix %q: %v", tt.a, tt.b, got)
		}
		if got := tt.a.Overlaps(tt.b); got != tt.overlap {
			t.Errorf("%q overlaps %q: %v", tt.a, tt.b, got)
		}
		suffix, ok := tt.a.CutPrefix(tt.b)
		if ok != tt.isPrefix {
			t.Errorf("CutPrefix of %q from %q: %v", tt.b, tt.a, ok)
		}
		if !ok {
			continue
		}
		if joined, err := tt.b.Join(suffix); joined != tt.a || err != nil {
			t.Errorf("%q and suffix %q join to %q, error %v", tt.b, suffix, joined, err)
		}
	}
}

func TestNamespaceJoinLimits(t *testing.T) {
	half := MustNamespace(make32("a")[:16]...)
	if ns, err := half.Join(half); err != nil || ns.Len() != 32 {
		t.Errorf("16 and 16 fields: %d fields, error %v", ns.Len(), err)
	}
	if _, err := half.Join(MustNamespace(make32("a")[:17]...)); errorName(err) != "PROTOCOL_VIOLATION" {
		t.Errorf("16 and 17 fields: error %v", err)
	}
	long := MustNamespace(strings.Repeat("x", 4000))
	if ns, err := long.Join(MustNamespace(strings.Repeat("x", 96))); err != nil || ns.Size() != 4096 {
		t.Errorf("4000 and 96 bytes: %d bytes, error %v", ns.Size(), err)
	}
	if _, err := long.Join(MustNamespace(strings.Repeat("x", 97))); errorName(err) != "PROTOCOL_VIOLATION" {
		t.Errorf("4000 and 97 bytes: error %v", err)
	}
}

func TestNamespaceAsKey(t *testing.T) {
	// The same bytes cut into other fields are another namespace.
	keys := map[Namespace]string{
		MustNamespace("ab", "c"): "ab,c",
		MustNamespace("a", "bc"): "a,bc",
		MustNamespace("abc"):     "abc",
		{}:                       "",
	}
	if len(keys) != 4 || keys[MustNamespace("a", "bc")] != "a,bc" || keys[MustNamespace()] != "" {
		t.Errorf("keys %v", keys)
	}
	names := map[FullTrackName]int{
		{MustNamespace("a"), "b"}: 1,
		{MustNamespace("a"), "c"}: 2,
		{MustNamespace(), "ab"}:   3,
	}
	if names[FullTrackName{MustNamespace("a"), "c"}] != 2 {
		t.Errorf("names %v", names)
	}
}

// [MOQT-18] Section 3.2.1, Reserved Namespaces
func TestReservedNamespaces(t *testing.T) {
	for _, tt := range []struct {
		ns                           Namespace
		reserved, forbidden, session bool
	}{
		{MustNamespace(), false, false, false},
		{MustNamespace("a", "."), false, false, false},
		{MustNamespace("."), true, true, false},
		{MustNamespace(".", "a"), true, true, false},
		{MustNamespace(".session"), true, false, true},
		{MustNamespace(".session", "a"), true, false, true},
		{MustNamespace(".sessions"), true, false, false},
		{MustNamespace(".other"), true, false, false},
	} {
		if r, f, s := tt.ns.IsReserved(), tt.ns.IsForbidden(), tt.ns.IsSession(); r != tt.reserved || f != tt.forbidden || s != tt.session {
			t.Errorf("%q: reserved %v, forbidden %v, session %v", tt.ns, r, f, s)
		}
	}
}

func TestNamespaceAllStops(t *testing.T) {
	for f := range MustNamespace("a", "b").All() {
		if f != "a" {
			t.Errorf("field %q after the loop was left", f)
		}
		break
	}
}

func TestParseNamespace(t *testing.T) {
	for _, ns := range []Namespace{{}, MustNamespace("a"), MustNamespace("example.net", "team2", "\xff\x00-")} {
		got, err := ParseNamespace(ns.String())
		if got != ns || err != nil {
			t.Errorf("%q gives %q, error %v", ns, got, err)
		}
	}
	for _, s := range []string{"-", "a-", "-a", "a--b", "A.2D", "a b"} {
		if ns, err := ParseNamespace(s); err == nil {
			t.Errorf("%q is taken for %q", s, ns)
		}
	}
}

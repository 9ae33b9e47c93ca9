package quicnet

import (
	"errors"
	"math"
	"testing"
	"unicode/utf8"
)

// The mapping is checked against the formula of the draft's other direction:
// first + n + floor(n / 0x1e).
// [WT] Section 4.4, Resetting Data Streams
func TestFromHTTPCode(t *testing.T) {
	for _, n := range []uint64{0, 1, 0x1d, 0x1e, 0x1f, 0x3b, 0x3c, 0x1234, math.MaxUint32 - 1, math.MaxUint32} {
		if got := fromHTTPCode(wtFirstCode + n + n/0x1e); got != n {
			t.Errorf("code %#x: got %#x", n, got)
		}
	}
	for _, h := range []uint64{0, 0x170d7b68, wtFirstCode - 1, wtLastCode + 1, wtFirstCode + 0x1e} {
		if got := fromHTTPCode(h); got != 0 {
			t.Errorf("HTTP code %#x outside the range: got %#x", h, got)
		}
	}
	if got := wtCode(math.MaxUint64); got != math.MaxUint32 {
		t.Errorf("got %#x", got)
	}
}

func TestTruncate(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"aää", 4, "aä"}, {"ä", 1, ""}} {
		got := truncate(tt.in, tt.n)
		if got != tt.want || !utf8.ValidString(got) {
			t.Errorf("truncate(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}

func TestConnErrorOfSilence(t *testing.T) {
	err := errors.New("timeout")
	if ce := connError(err); ce.App || ce.Remote || !errors.Is(ce, err) {
		t.Errorf("got %#v", ce)
	}
}

package media

import "testing"

func TestEventString(t *testing.T) {
	for kind, want := range map[EventKind]string{
		EventRestart: "restart", EventJump: "jump", EventLag: "lag",
		EventNoKey: "no_key", EventMisaligned: "misaligned", 0: "unknown",
	} {
		if got := kind.String(); got != want {
			t.Errorf("kind %d is %q, want %q", kind, got, want)
		}
	}
	e := Event{Kind: EventLag, Track: testVideo, Shift: 60_000_000_000}
	if got, want := e.String(), "lag, track 1 (avc1.42c01e), shift 1m0s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if Video.String() != "video" || Audio.String() != "audio" || Kind(0).String() != "unknown" {
		t.Error("names of kinds")
	}
}

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
	if Video.String() != "video" || Audio.String() != "audio" || Kind(0).String() != "unknown" {
		t.Error("names of kinds")
	}
}

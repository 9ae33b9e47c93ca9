package priority

import (
	"testing"
	"time"
)

// The rule of the C4 test plan, with clocks that differ by an hour: "now > group_start + 250 ms + n/fps".
func TestLateness(t *testing.T) {
	const ahead = time.Hour // of the sender's clock
	const path = 40 * time.Millisecond
	const frame = time.Second / 30
	var l Lateness
	if _, ok := l.Due(t0, LateAfter); ok || l.Known() {
		t.Error("there is a due time before the first frame")
	}
	group := t0
	captured := func(n int) time.Time { return group.Add(ahead + time.Duration(n)*frame) }
	inTime := func(n int) time.Time { return group.Add(time.Duration(n)*frame + path) }
	for n := range 5 {
		if l.OnFrame(captured(n), inTime(n)) > 0 {
			t.Errorf("frame %d came at once and is late", n)
		}
	}
	for n := 5; n < 30; n++ {
		due, ok := l.Due(captured(n), LateAfter)
		if want := inTime(n).Add(LateAfter); !ok || !due.Equal(want) {
			t.Errorf("frame %d is due at %v, want %v", n, due, want)
		}
		if l.OnFrame(captured(n), due) > LateAfter {
			t.Errorf("frame %d came when it was due and is late", n)
		}
		if l.OnFrame(captured(n), due.Add(time.Microsecond)) <= LateAfter {
			t.Errorf("frame %d came later than due and is not late", n)
		}
	}
	// A quicker way makes what comes after it due earlier.
	l.OnFrame(captured(30), inTime(30).Add(-path/2))
	if due, _ := l.Due(captured(31), LateAfter); !due.Equal(inTime(31).Add(LateAfter - path/2)) {
		t.Errorf("after a quicker frame: due at %v", due)
	}
}

// Clocks that drift, or a path that has become longer, do not make everything late for ever.
func TestLatenessForgets(t *testing.T) {
	var l Lateness
	const longer = 300 * time.Millisecond
	now := t0
	for now.Sub(t0) < time.Second {
		l.OnFrame(now, now)
		now = now.Add(20 * time.Millisecond)
	}
	lateFor := time.Duration(0)
	for changed := now; now.Sub(changed) < 2*time.Minute; now = now.Add(20 * time.Millisecond) {
		if l.OnFrame(now, now.Add(longer)) > LateAfter {
			lateFor = now.Sub(changed)
		}
	}
	if lateFor < 20*time.Second || lateFor > 61*time.Second {
		t.Errorf("frames of a longer path were late for %v, want 20 to 60 s", lateFor)
	}
}

package media

import (
	"testing"
	"time"
)

func TestPacer(t *testing.T) {
	var p Pacer
	frame := func(dts time.Duration) Frame {
		return Frame{Track: testVideo, DTS: Ticks(dts, testVideo.Timescale)}
	}
	want := func(why string, f Frame, now, due time.Duration) {
		t.Helper()
		if got := p.Due(f, testStart.Add(now)).Sub(testStart); (got - due).Abs() > 50*time.Microsecond {
			t.Errorf("%s: due at %v, want %v", why, got, due)
		}
	}
	const ms = time.Millisecond
	want("the first frame is due at once", frame(5*time.Second), 0, 0)
	want("the next as much later as its time is", frame(5*time.Second+40*ms), 1*ms, 40*ms)
	want("lateness does not add up", frame(5*time.Second+80*ms), 95*ms, 80*ms)
	want("nor does half a second", frame(5*time.Second+120*ms), 620*ms, 120*ms)
	want("after a sleep it starts afresh", frame(5*time.Second+160*ms), 61*time.Second, 61*time.Second)
	want("and goes on from there", frame(5*time.Second+200*ms), 61*time.Second, 61*time.Second+40*ms)
}

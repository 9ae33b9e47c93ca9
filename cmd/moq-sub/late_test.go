package main

import (
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/media"
)

func TestLateFlag(t *testing.T) {
	f := lateFlag{}
	for _, s := range []string{"a", "b=400ms"} {
		if err := f.Set(s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	if f["a"] != 250*time.Millisecond || f["b"] != 400*time.Millisecond {
		t.Errorf("got %v", f)
	}
	for _, s := range []string{"a=", "a=x", "a=-1s", "a=0s"} {
		if f.Set(s) == nil {
			t.Errorf("%s was accepted", s)
		}
	}
}

// Only the tracks that were named have a limit, and every track shows what is in time.
func TestPunctuality(t *testing.T) {
	p := &punctuality{limits: lateFlag{"video": 250 * time.Millisecond}}
	sent := time.Unix(1_800_000_000, 0)
	packet := func(at time.Time) media.Packet {
		return media.Packet{Properties: []media.Property{{ID: media.PropertyTimestamp, Value: uint64(at.UnixMicro())}}}
	}
	if _, ok := p.due("video", packet(sent)); ok {
		t.Error("something is due before anything came")
	}
	if p.arrived("audio", packet(sent), sent.Add(time.Hour+20*time.Millisecond)) { // the clocks are an hour apart
		t.Error("the first is late")
	}
	if due, ok := p.due("video", packet(sent)); !ok || !due.Equal(sent.Add(time.Hour+270*time.Millisecond)) {
		t.Errorf("due %v, %v", due, ok)
	}
	if _, ok := p.due("audio", packet(sent)); ok {
		t.Error("audio has a limit")
	}
	for _, tt := range []struct {
		track string
		took  time.Duration
		want  bool
	}{{"video", 270 * time.Millisecond, false}, {"video", 271 * time.Millisecond, true}, {"audio", time.Second, false}} {
		if got := p.arrived(tt.track, packet(sent), sent.Add(time.Hour+tt.took)); got != tt.want {
			t.Errorf("%s after %v: late is %v", tt.track, tt.took, got)
		}
	}
	if _, ok := p.due("video", media.Packet{}); ok || p.arrived("video", media.Packet{}, sent) {
		t.Error("what has no time of capture has a limit")
	}
}

package sim

import (
	"testing"
	"time"
)

// On an idle path a frame is late by a round trip, since the client's clock runs
// ahead of the server's by that, and its own transmission.
func TestMediaIdle(t *testing.T) {
	var s Sim
	tr := &counter{}
	r := mustRun(t, &s, load(t, "media_600fr"), Options{CC: "c4", Tracer: tr})
	f := &r.Flows[0]
	if n := f.Sources[0].Frames; n != 360 {
		t.Errorf("%d audio frames", n)
	}
	// video before 0.2 s does not count
	if n := f.Sources[1].Frames; n < 590 || n > 600 {
		t.Errorf("%d video frames", n)
	}
	if f.Cancelled != 0 {
		t.Errorf("%d groups cancelled", f.Cancelled)
	}
	for _, d := range tr.late["a1"][20:] {
		if d < 30*ms || d > 35*ms {
			t.Fatalf("an audio frame is late by %v on a path of 30 ms", d)
		}
	}
	// 20 s of video and closing
	if r.Time < 20*time.Second || r.Time > 20200*ms {
		t.Errorf("took %v", r.Time)
	}
}

// With the reference's timer some audio waits for the next video frame.
func TestMediaTimerQuirk(t *testing.T) {
	var s Sim
	correct := mustRun(t, &s, load(t, "media"), Options{CC: "c4"})
	quirk := mustRun(t, &s, load(t, "media"), Options{CC: "c4", Quirks: Quirks{MediaTimer: true}})
	a, b := correct.Flows[0].Sources[0], quirk.Flows[0].Sources[0]
	if d := b.Average - a.Average; d < 2*ms || d > 5*ms {
		t.Errorf("audio is late by %v, with the fault by %v", a.Average, b.Average)
	}
}

// On a link that cannot carry it the better video is given up, group by group,
// and starts again; the rest is hardly late.
func TestMediaCancel(t *testing.T) {
	sc := parse(t, `link rate=2.5Mbit/s delay=20ms queue=100ms
flow main media
audio a1 rate=50 size=80B frames=500 priority=2
video vlow rate=30 size=3750B key=37500B group=30 frames=300 priority=4
video vmid rate=30 size=6250B key=62500B group=30 frames=300 priority=6 cancel=250ms unmeasured
measure from=1s
`)
	var s Sim
	r := mustRun(t, &s, sc, Options{CC: "c4", Seed: 1})
	f := &r.Flows[0]
	if !r.Finished || f.Cancelled < 8 {
		t.Errorf("finished %v, %d of 10 groups cancelled", r.Finished, f.Cancelled)
	}
	if got := f.Sources[1].Frames; got < 265 {
		t.Errorf("%d frames of the first video", got)
	}
	if r.AvLatency > 150*ms {
		t.Errorf("measured sources are late by %v on average", r.AvLatency)
	}
	if vmid := f.Sources[2]; vmid.Measured || vmid.Frames >= 270 {
		t.Errorf("better video %+v", vmid)
	}
}

// Audio has priority over video that waits.
func TestMediaPriority(t *testing.T) {
	sc := parse(t, `link rate=1Mbit/s delay=20ms queue=60ms
flow main media
audio a1 rate=50 size=80B frames=250 priority=2
video v rate=30 size=6250B key=62500B group=30 frames=150 priority=6
`)
	var s Sim
	r := mustRun(t, &s, sc, Options{CC: "c4", Seed: 1})
	audio, video := r.Flows[0].Sources[0], r.Flows[0].Sources[1]
	if !r.Finished || audio.Average > 250*ms || video.Average < 4*audio.Average {
		t.Errorf("audio late by %v, video by %v", audio.Average, video.Average)
	}
}

// Requests that are lost are repeated, and the call ends.
func TestMediaLostRequests(t *testing.T) {
	sc := parse(t, `link rate=10Mbit/s delay=20ms queue=50ms
flow main media start=503ms
audio a1 rate=50 size=80B frames=150 priority=2
video v rate=30 size=1000B key=5000B group=30 frames=90 priority=6
cross up rate=13.3Mbit/s
`)
	var s Sim
	for seed := range uint64(6) {
		r := mustRun(t, &s, sc, Options{CC: "c4", Seed: seed})
		if v := r.Flows[0].Sources[1]; !r.Finished || v.Frames != 90 {
			t.Errorf("seed %d: finished %v at %v with %d frames", seed, r.Finished, r.Time, v.Frames)
		}
	}
}

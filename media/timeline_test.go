package media

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var (
	testVideo = &Track{ID: 1, Kind: Video, Codec: "avc1.42c01e", Timescale: 15360}
	testLow   = &Track{ID: 3, Kind: Video, Codec: "avc1.42c01e", Timescale: 15360}
	testAudio = &Track{ID: 2, Kind: Audio, Codec: "opus", Timescale: 48000}
	testStart = time.UnixMilli(1_796_040_890_000)
)

// timelineTest plays sources into a Timeline and checks what holds always.
type timelineTest struct {
	t      *testing.T
	tl     *Timeline
	now    time.Time
	run    int
	last   map[uint32]int64
	events []string
	mapped []mappedFrame
}

// mappedFrame is what came out for a frame that arrived at a time.
type mappedFrame struct {
	Frame
	arrival time.Time
}

func newTimelineTest(t *testing.T) *timelineTest {
	return &timelineTest{t: t, tl: NewTimeline(TimelineConfig{}), now: testStart, last: map[uint32]int64{}}
}

// put maps one frame of a track at the source time pts.
func (c *timelineTest) put(track *Track, pts time.Duration, key bool) Frame {
	c.t.Helper()
	in := Frame{
		Track: track, Key: key, Run: c.run, Capture: c.now,
		DTS: Ticks(pts, track.Timescale), PTS: Ticks(pts, track.Timescale),
		Duration: Ticks(frameTime(track), track.Timescale),
	}
	return c.mapFrame(in)
}

func (c *timelineTest) mapFrame(in Frame) Frame {
	c.t.Helper()
	out, events := c.tl.Map(in)
	for _, e := range events {
		c.events = append(c.events, fmt.Sprintf("%s %d", e.Kind, e.Track.ID))
	}
	last, seen := c.last[out.Track.ID]
	if seen && out.DTS <= last {
		c.t.Fatalf("track %d: decode time %d after %d", out.Track.ID, out.DTS, last)
	}
	c.last[out.Track.ID] = out.DTS
	if out.Capture.After(in.Capture) {
		c.t.Fatalf("captured at %v, after its arrival at %v", out.Capture, in.Capture)
	}
	if out.Length() > 10*time.Second {
		c.t.Fatalf("a frame of %v", out.Length())
	}
	c.mapped = append(c.mapped, mappedFrame{out, in.Capture})
	return out
}

func frameTime(track *Track) time.Duration {
	if track.Kind == Audio {
		return 20 * time.Millisecond
	}
	return time.Second / 30
}

// play runs the source for a while in real time, with its own clock beginning at
// from: video with a key frame every second, and sound.
func (c *timelineTest) play(from, length time.Duration) {
	c.t.Helper()
	start := c.now
	var v, a int64
	for {
		vt, at := time.Duration(v)*time.Second/30, time.Duration(a)*20*time.Millisecond
		t := min(vt, at)
		if t >= length {
			break
		}
		c.now = start.Add(t)
		if at <= vt {
			c.put(testAudio, from+at, true)
			a++
		} else {
			c.put(testVideo, from+vt, v%30 == 0)
			v++
		}
	}
	c.now = start.Add(length)
}

func (c *timelineTest) wantEvents(want ...string) {
	c.t.Helper()
	if !slices.Equal(c.events, want) {
		c.t.Fatalf("events %q, want %q", c.events, want)
	}
	c.events = nil
}

// wantTime checks the time of a frame against the wall clock.
func wantTime(t *testing.T, why string, got time.Duration, want time.Time, within time.Duration) {
	t.Helper()
	if diff := got - since(want); diff < -within || diff > within {
		t.Fatalf("%s: at %v, want %v within %v (off by %v)", why, time.Unix(0, int64(got)), want, within, diff)
	}
}

func TestTimelineBeginsAtTheWallClock(t *testing.T) {
	c := newTimelineTest(t)
	v := c.put(testVideo, 5*time.Second, true)
	wantTime(t, "the first frame", v.PTSTime(), testStart, time.Millisecond)
	if v.Capture.Sub(testStart).Abs() > time.Millisecond {
		t.Errorf("captured at %v, want %v", v.Capture, testStart)
	}
	a := c.put(testAudio, 5*time.Second+7*time.Millisecond, true)
	if diff := a.PTSTime() - v.PTSTime(); (diff - 7*time.Millisecond).Abs() > 100*time.Microsecond {
		t.Errorf("sound and picture are %v apart, want 7ms", diff)
	}
	c.wantEvents()
}

func TestTimelineSourceStartsOver(t *testing.T) {
	c := newTimelineTest(t)
	c.play(0, 3*time.Second)
	c.now = c.now.Add(2 * time.Second)
	again := c.now
	c.run++
	first := len(c.mapped)
	c.play(0, time.Second)
	c.wantEvents("restart 2")
	a, v := c.mapped[first], c.mapped[first+1]
	wantTime(t, "the first sound", a.PTSTime(), again, time.Millisecond)
	wantTime(t, "the first picture", v.PTSTime(), again, time.Millisecond)
}

func TestTimelineSourceStartsOverAtOnce(t *testing.T) {
	c := newTimelineTest(t)
	c.play(0, 3*time.Second)
	end := max(c.mapped[len(c.mapped)-1].PTSTime(), c.mapped[len(c.mapped)-2].PTSTime())
	c.run++
	// Its first sound begins before its first picture, as with AAC.
	v := c.put(testVideo, 0, true)
	a := c.put(testAudio, -21*time.Millisecond, true)
	c.wantEvents("restart 1")
	if a.PTSTime() <= end || v.PTSTime() <= end {
		t.Errorf("the second run begins at %v and %v, within the first, which ends at %v", a.PTSTime(), v.PTSTime(), end)
	}
	if diff := v.PTSTime() - a.PTSTime(); (diff - 21*time.Millisecond).Abs() > 100*time.Microsecond {
		t.Errorf("sound and picture are %v apart, want 21ms", diff)
	}
}

// A run in which a track has no frames does not confuse the next one.
func TestTimelineTrackMissesARun(t *testing.T) {
	c := newTimelineTest(t)
	c.play(0, time.Second)
	c.run++
	c.put(testVideo, 0, true)
	c.now = c.now.Add(3 * time.Second)
	c.run++
	a := c.put(testAudio, 0, true)
	v := c.put(testVideo, 0, true)
	c.wantEvents("restart 1", "restart 2")
	if diff := (a.PTSTime() - v.PTSTime()).Abs(); diff > 100*time.Microsecond {
		t.Errorf("sound and picture are %v apart, want 0", diff)
	}
}

func TestTimelineJumps(t *testing.T) {
	for _, c := range []struct {
		name string
		to   time.Duration
	}{
		{"back to 0", 0},
		{"an hour ahead", time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			tt := newTimelineTest(t)
			tt.play(0, 5*time.Second)
			first := len(tt.mapped)
			tt.play(c.to, time.Second)
			tt.wantEvents("jump 2")
			for _, f := range tt.mapped[first:] {
				wantTime(t, f.Track.Codec, f.PTSTime(), f.arrival, 200*time.Millisecond)
			}
			var v, a time.Duration
			for _, f := range tt.mapped[first:] {
				if f.Track == testVideo {
					v = f.PTSTime()
				} else {
					a = f.PTSTime()
				}
			}
			// The last frames of a second are at 29/30 and 49/50.
			if diff := a - v - 980*time.Millisecond + time.Second*29/30; diff.Abs() > time.Millisecond {
				t.Errorf("sound and picture came apart by %v", diff)
			}
		})
	}
}

// A step that a source may make by itself, like a camera that leaves out frames,
// is kept.
func TestTimelineKeepsGaps(t *testing.T) {
	c := newTimelineTest(t)
	a := c.put(testVideo, 0, true)
	c.now = c.now.Add(4 * time.Second)
	b := c.put(testVideo, 4*time.Second, false)
	if got := b.PTSTime() - a.PTSTime(); got != 4*time.Second {
		t.Errorf("the step is %v, want 4s", got)
	}
	c.wantEvents()
}

func TestTimelineSmallStepBack(t *testing.T) {
	c := newTimelineTest(t)
	a := c.put(testAudio, time.Second, true)
	b := c.put(testAudio, time.Second, true)
	if b.DTS != a.DTS+1 || b.PTS != a.PTS+1 {
		t.Errorf("the frame at the same time is at %d/%d, want %d", b.DTS, b.PTS, a.DTS+1)
	}
	d := c.put(testAudio, time.Second+20*time.Millisecond, true)
	if d.DTS != a.DTS+960 {
		t.Errorf("the next frame is %d behind the first, want 960", d.DTS-a.DTS)
	}
	c.wantEvents()
}

// A camera that stood still for 60 s and goes on with the times it had is 60 s
// behind for good. Its times are moved up once, those of all tracks by the same.
func TestTimelinePauseIsMadeUp(t *testing.T) {
	c := newTimelineTest(t)
	c.play(0, 10*time.Second)
	c.now = c.now.Add(time.Minute)
	first := len(c.mapped)
	c.play(10*time.Second, 40*time.Second)
	c.wantEvents("lag 1")
	var moved time.Time
	for _, f := range c.mapped[first:] {
		lag := since(f.arrival) - f.PTSTime()
		if moved.IsZero() && lag < time.Second {
			moved = f.arrival
		}
		if !moved.IsZero() && lag > 100*time.Millisecond && f.arrival.Sub(moved) > 100*time.Millisecond {
			t.Fatalf("track %d is behind by %v at %v", f.Track.ID, lag, f.arrival.Sub(testStart))
		}
	}
	if after := moved.Sub(testStart) - 70*time.Second; after < 0 || after > 31*time.Second {
		t.Fatalf("it took %v to catch up", after)
	}
	v, a := c.mapped[len(c.mapped)-2], c.mapped[len(c.mapped)-1]
	if v.Track == testAudio {
		v, a = a, v
	}
	if diff := (a.PTSTime() - v.PTSTime()).Abs(); diff > 25*time.Millisecond {
		t.Errorf("sound and picture came apart by %v", diff)
	}
}

// A source that was stopped and then catches up, faster than real time, keeps its
// times: they are right.
func TestTimelinePauseWithCatchingUp(t *testing.T) {
	c := newTimelineTest(t)
	c.play(0, 10*time.Second)
	pts := 10 * time.Second
	c.now = c.now.Add(time.Minute)
	for n := 0; pts < 90*time.Second; n++ {
		c.put(testVideo, pts, n%30 == 0)
		pts += time.Second / 30
		step := time.Second / 45 // 1.5 times as fast
		if since(c.now)-since(testStart) <= pts {
			step = time.Second / 30
		}
		c.now = c.now.Add(step)
	}
	c.wantEvents()
}

// A source whose clock ran on while it stood still comes back with a jump.
func TestTimelinePauseWithJump(t *testing.T) {
	c := newTimelineTest(t)
	c.play(0, 10*time.Second)
	c.now = c.now.Add(time.Minute)
	again := c.now
	first := len(c.mapped)
	c.play(70*time.Second, time.Second)
	c.wantEvents("jump 2")
	wantTime(t, "the first frame after the pause", c.mapped[first].PTSTime(), again, 200*time.Millisecond)
}

func TestTimelineNoBogusDurations(t *testing.T) {
	c := newTimelineTest(t)
	c.put(testVideo, 0, true)
	f := c.mapFrame(Frame{Track: testVideo, DTS: 512, PTS: 512, Duration: 60 * 15360, Capture: c.now})
	if f.Duration != 512 {
		t.Errorf("the duration of a minute became %d, want 512 as before", f.Duration)
	}
	f = c.mapFrame(Frame{Track: testVideo, DTS: 1024, PTS: 1024, Capture: c.now})
	if f.Duration != 512 {
		t.Errorf("the missing duration became %d, want 512 as before", f.Duration)
	}
}

// The distance of DTS and PTS is that of the source.
func TestTimelineKeepsCompositionOffsets(t *testing.T) {
	c := newTimelineTest(t)
	for i, offset := range []int64{1024, 2048, 512, 0, -512} {
		dts := int64(i) * 512
		f := c.mapFrame(Frame{Track: testVideo, DTS: dts, PTS: dts + offset, Duration: 512, Key: i == 0, Capture: c.now})
		if f.PTS-f.DTS != offset {
			t.Errorf("frame %d: offset %d, want %d", i, f.PTS-f.DTS, offset)
		}
	}
}

// The frames with the shortest way say when frames are captured.
func TestTimelineCapture(t *testing.T) {
	c := newTimelineTest(t)
	delays := []time.Duration{80, 30, 50, 10, 40, 10, 90}
	var captured []time.Duration
	for i, d := range delays {
		pts := time.Duration(i) * 20 * time.Millisecond
		c.now = testStart.Add(pts + d*time.Millisecond)
		f := c.put(testAudio, pts, true)
		captured = append(captured, f.Capture.Sub(testStart)-pts)
	}
	for i, want := range []time.Duration{80, 30, 30, 10, 10, 10, 10} {
		if diff := captured[i] - want*time.Millisecond; diff.Abs() > 50*time.Microsecond {
			t.Errorf("frame %d: captured %v after its time, want %dms", i, captured[i], want)
		}
	}
}

// Whatever a source does, times rise in each track and captures are in the past.
func TestTimelineRandom(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 0))
		c := newTimelineTest(t)
		tracks := []*Track{testVideo, testAudio, testLow}
		pts := time.Duration(r.Int64N(int64(100 * time.Hour)))
		for range 1500 {
			switch r.IntN(100) {
			case 0:
				c.run++
				pts = time.Duration(r.Int64N(int64(time.Hour)))
			case 1:
				pts = time.Duration(r.Int64N(int64(100 * time.Hour)))
			case 2:
				c.now = c.now.Add(time.Duration(r.Int64N(int64(time.Minute))))
			case 3:
				pts += time.Duration(r.Int64N(int64(20 * time.Second)))
			}
			c.put(tracks[r.IntN(len(tracks))], pts, r.IntN(5) == 0)
			step := time.Duration(r.Int64N(int64(30 * time.Millisecond)))
			pts += step
			c.now = c.now.Add(step + time.Duration(r.Int64N(int64(time.Millisecond))))
		}
	}
}

package media

import (
	"testing"
	"time"
)

// groupTest places frames whose times count from testStart.
type groupTest struct {
	t   *testing.T
	g   *Grouper
	run int
}

func newGroupTest(t *testing.T) *groupTest {
	return &groupTest{t: t, g: NewGrouper(testStart)}
}

// place puts a frame of a track at pts and returns its group, counted from the
// first one, and object.
func (c *groupTest) place(track *Track, pts time.Duration, key bool) (group int64, object uint64, ok bool) {
	c.t.Helper()
	ticks := Ticks(since(testStart)+pts, track.Timescale)
	pos, ok := c.g.Place(Frame{
		Track: track, DTS: ticks, PTS: ticks, Key: key, Run: c.run,
		Duration: Ticks(frameTime(track), track.Timescale),
	})
	return int64(pos.Group - FirstGroup(testStart)), pos.Object, ok
}

func (c *groupTest) want(track *Track, pts time.Duration, key bool, group int64, object uint64) {
	c.t.Helper()
	g, o, ok := c.place(track, pts, key)
	if !ok || g != group || o != object {
		c.t.Fatalf("track %d at %v: %d/%d (placed: %v), want %d/%d", track.ID, pts, g, o, ok, group, object)
	}
}

func TestFirstGroupIsTheTime(t *testing.T) {
	if got := FirstGroup(testStart); got != 1_796_040_890_000 {
		t.Errorf("first group %d", got)
	}
	// Even with a group every 2.5 ms, a process that starts later begins above
	// what one that ran before has used.
	g := NewGrouper(testStart)
	var last uint64
	for i := range int64(1000) {
		ticks := Ticks(since(testStart)+time.Duration(i)*2500*time.Microsecond, testVideo.Timescale)
		pos, _ := g.Place(Frame{Track: testVideo, DTS: ticks, PTS: ticks, Duration: 38, Key: true})
		last = pos.Group
	}
	if next := FirstGroup(testStart.Add(2500 * time.Millisecond)); next <= last {
		t.Errorf("the next process begins at %d, this one got to %d", next, last)
	}
}

func TestGroupBeginsAtAKeyFrame(t *testing.T) {
	c := newGroupTest(t)
	if _, _, ok := c.place(testVideo, 0, false); ok {
		t.Fatal("a frame before the first key frame was placed")
	}
	frame := time.Second / 30
	for n := range 90 {
		c.want(testVideo, time.Duration(n)*frame, n%30 == 0, int64(n/30), uint64(n%30))
	}
	// A key frame right behind a key frame, and a long group.
	c.want(testVideo, 90*frame, true, 3, 0)
	c.want(testVideo, 91*frame, true, 4, 0)
	for n := range 300 {
		c.want(testVideo, time.Duration(92+n)*frame, false, 4, uint64(n+1))
	}
	if c.g.Misaligned(testVideo) {
		t.Error("it says that it is not aligned")
	}
}

func TestGroupsOfRenditionsAreAligned(t *testing.T) {
	second := time.Second
	t.Run("in step", func(t *testing.T) {
		c := newGroupTest(t)
		for n := range int64(5) {
			c.want(testVideo, time.Duration(n)*second, true, n, 0)
			c.want(testLow, time.Duration(n)*second, true, n, 0)
		}
	})
	t.Run("taking turns to be first, a millisecond apart", func(t *testing.T) {
		c := newGroupTest(t)
		for n := range int64(6) {
			a, b := testVideo, testLow
			if n%2 == 1 {
				a, b = b, a
			}
			c.want(a, time.Duration(n)*second, true, n, 0)
			c.want(b, time.Duration(n)*second+time.Millisecond, true, n, 0)
		}
	})
	t.Run("one joins late", func(t *testing.T) {
		c := newGroupTest(t)
		for n := range int64(4) {
			c.want(testVideo, time.Duration(n)*second, true, n, 0)
		}
		c.want(testVideo, 4*second, true, 4, 0)
		c.want(testLow, 4*second, true, 4, 0)
		c.want(testLow, 5*second, true, 5, 0)
		c.want(testVideo, 5*second, true, 5, 0)
	})
	t.Run("one is behind by three groups", func(t *testing.T) {
		c := newGroupTest(t)
		for n := range int64(8) {
			c.want(testVideo, time.Duration(n)*second, true, n, 0)
			if n >= 3 {
				c.want(testLow, time.Duration(n-3)*second, true, n-3, 0)
			}
		}
	})
	t.Run("one misses groups and comes back", func(t *testing.T) {
		c := newGroupTest(t)
		for n := range int64(9) {
			c.want(testVideo, time.Duration(n)*second, true, n, 0)
			c.want(testVideo, time.Duration(n)*second+second/30, false, n, 1)
			if n < 2 || n > 6 {
				c.want(testLow, time.Duration(n)*second, true, n, 0)
			}
		}
		if c.g.Misaligned(testLow) {
			t.Error("it says that they are not aligned")
		}
	})
	t.Run("the source starts over, and one of them was behind", func(t *testing.T) {
		c := newGroupTest(t)
		for n := range int64(3) {
			c.want(testVideo, time.Duration(n)*second, true, n, 0)
		}
		c.want(testLow, 0, true, 0, 0)
		c.run++
		c.want(testLow, 10*second, true, 3, 0)
		c.want(testVideo, 10*second, true, 3, 0)
		c.want(testVideo, 11*second, true, 4, 0)
		c.want(testLow, 11*second, true, 4, 0)
	})
}

// Whatever its key frames are, a track that has no holes has ids that rise by 1.
func TestGroupsOfMisalignedRenditions(t *testing.T) {
	for _, every := range []int{7, 15, 29, 45, 60} {
		c := newGroupTest(t)
		var last int64 = -1
		for n := range 600 {
			pts := time.Duration(n) * time.Second / 30
			c.place(testVideo, pts, n%30 == 0)
			g, o, ok := c.place(testLow, pts, n%every == 0)
			if !ok || g != last && g != last+1 {
				t.Fatalf("key frame every %d: group %d after %d", every, g, last)
			}
			if (g == last) != (o > 0) {
				t.Fatalf("key frame every %d: group %d object %d after group %d", every, g, o, last)
			}
			last = g
		}
		if !c.g.Misaligned(testVideo) && !c.g.Misaligned(testLow) {
			t.Errorf("key frame every %d: nobody says that they are not aligned", every)
		}
	}
}

func TestGroupSourceStartsOver(t *testing.T) {
	c := newGroupTest(t)
	c.want(testVideo, 0, true, 0, 0)
	c.want(testVideo, time.Second/30, false, 0, 1)
	c.run++
	if _, _, ok := c.place(testVideo, 2*time.Second, false); ok {
		t.Fatal("a frame before the first key frame of the new run was placed")
	}
	c.want(testVideo, 3*time.Second, true, 1, 0)
}

func TestEveryFrameOfSoundIsAGroup(t *testing.T) {
	c := newGroupTest(t)
	for n := range int64(100) {
		if n == 50 {
			c.run++
		}
		c.want(testAudio, time.Duration(n)*20*time.Millisecond, true, n, 0)
		c.place(testVideo, time.Duration(n)*20*time.Millisecond, n%10 == 0)
	}
}

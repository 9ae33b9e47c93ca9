package loc

import "github.com/moq-c4/moq-c4/media"

// decodeClock makes up decode times and durations. Objects come in decode order;
// where that is also the order of presentation, the two times are equal. Where
// pictures are reordered, decode times go up in steps of a frame, beginning so
// early at each key frame that no picture is decoded after it is shown, as far
// as the codec says how far pictures are moved.
type decodeClock struct {
	reorder int   // pictures; -1 until known
	step    int64 // duration of a frame, 0 until known
	stated  bool  // step is from the frame rate
	audio   bool

	last    int64 // decode time of the latest frame
	lastPTS int64
	started bool
}

// configure sets what is known of the track; rate is 0 if the frame rate is not.
func (c *decodeClock) configure(t *media.Track, reorder int, rate float64) {
	c.audio = t.Kind == media.Audio
	c.reorder = reorder
	if c.audio {
		c.reorder = 0
	}
	c.stated = rate > 0
	if c.stated {
		c.step = int64(float64(t.Timescale)/rate + 0.5)
	}
}

// set fills in the decode time and the duration of the next frame. length is
// that of an audio packet, 0 if unknown.
func (c *decodeClock) set(f *media.Frame, length int64) {
	if delta := f.PTS - c.lastPTS; c.started {
		if delta < 0 && !f.Key && c.reorder < 0 {
			c.reorder = 1
		}
		if delta > 0 && !c.stated && (c.step == 0 || c.reorder == 0 || delta < c.step) {
			c.step = delta
		}
	}
	f.DTS = f.PTS
	if c.reorder > 0 && c.step > 0 {
		if f.Key || !c.started {
			f.DTS = f.PTS - int64(c.reorder)*c.step
		} else {
			f.DTS = min(f.DTS, c.last+c.step)
		}
	}
	if c.started && f.DTS <= c.last && !c.restarts(f) {
		f.DTS = c.last + 1
	}
	f.Duration = c.step
	if length > 0 {
		f.Duration = length
	}
	c.last, c.lastPTS, c.started = f.DTS, f.PTS, true
}

// restarts tells whether a key frame lies so far back that the publisher must
// have started over with other times.
func (c *decodeClock) restarts(f *media.Frame) bool {
	return f.Key && f.PTS < c.last-10*int64(f.Track.Timescale)
}

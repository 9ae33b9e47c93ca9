package media

import (
	"math"
	"time"
)

// Frame is one access unit of one track: a coded picture, or one audio packet.
// A Frame and the bytes it points at are never changed after they were handed
// over, so they can be shared.
type Frame struct {
	Track *Track

	// DTS and PTS are the decode and presentation times and Duration the length,
	// in units of 1/Track.Timescale seconds. PTS is a presentation time: edit
	// lists have been applied, so frames of different tracks with equal times
	// belong together. DTS rises within a track. A frame that only primes the
	// decoder (AAC) has a PTS before the start of the presentation.
	DTS, PTS, Duration int64

	// Key tells that decoding can start here. It is true for every audio frame.
	Key bool

	// Run counts how often the source had started over before this frame. Times
	// of different runs have nothing to do with each other. Discontinuity marks
	// the first frame of each track in a run other than the first.
	Run           int
	Discontinuity bool

	// Payload is what the codec made, as it is stored in an MP4 sample: NAL units
	// with length prefixes, an AV1 temporal unit, a raw AAC or Opus packet.
	Payload []byte

	// Raw is the moof and mdat the frame came in, when it was alone in them. The
	// decode time in there may be another than DTS, the rest agrees.
	Raw []byte

	// Capture is when the frame was taken. A live source sets it to the time of
	// arrival, which Timeline refines. The zero time means unknown.
	Capture time.Time
}

// PTSTime is the presentation time as a duration.
func (f Frame) PTSTime() time.Duration { return Duration(f.PTS, f.Track.Timescale) }

// DTSTime is the decode time as a duration.
func (f Frame) DTSTime() time.Duration { return Duration(f.DTS, f.Track.Timescale) }

// Length is the duration of the frame.
func (f Frame) Length() time.Duration { return Duration(f.Duration, f.Track.Timescale) }

// MaxTimescale is the largest timescale that is accepted: nanoseconds.
const MaxTimescale = 1_000_000_000

// Duration converts ticks of 1/timescale seconds, rounded to the nearest
// nanosecond. What does not fit a time.Duration becomes the longest one; a
// timescale of 0 gives 0.
func Duration(ticks int64, timescale uint32) time.Duration {
	if timescale == 0 {
		return 0
	}
	const maxSec = math.MaxInt64/int64(time.Second) - 1
	ts := int64(timescale)
	sec, rem := ticks/ts, ticks%ts
	switch {
	case sec > maxSec:
		return math.MaxInt64
	case sec < -maxSec:
		return math.MinInt64
	}
	return time.Duration(sec)*time.Second + time.Duration(roundDiv(rem*int64(time.Second), ts))
}

// Ticks converts a duration to units of 1/timescale seconds, rounded to the
// nearest. It is the inverse of Duration for timescales up to MaxTimescale.
func Ticks(d time.Duration, timescale uint32) int64 {
	ts := int64(timescale)
	sec, rem := int64(d/time.Second), int64(d%time.Second)
	return sec*ts + roundDiv(rem*ts, int64(time.Second))
}

// Rescale converts a time from one timescale to another, rounded to the nearest.
// It is exact for times up to 272 years and timescales up to MaxTimescale.
func Rescale(ticks int64, from, to uint32) int64 {
	if from == to || from == 0 {
		return ticks
	}
	f, t := int64(from), int64(to)
	return ticks/f*t + roundDiv(ticks%f*t, f)
}

// roundDiv is a/b to the nearest integer, halves away from zero. b > 0.
func roundDiv(a, b int64) int64 {
	if a < 0 {
		return -((-a + b/2) / b)
	}
	return (a + b/2) / b
}

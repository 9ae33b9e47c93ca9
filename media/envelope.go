package media

import "time"

// envelope is the lowest of the values seen lately: over one to two windows.
type envelope struct {
	window    time.Duration
	start     time.Time // of the current window
	cur, prev time.Duration
	havePrev  bool
}

// observe adds a value seen at a time. It reports whether a window has ended
// with it, so that prev is the lowest value of that window.
func (e *envelope) observe(at time.Time, v time.Duration) (ended bool) {
	switch {
	case e.start.IsZero():
		e.start, e.cur = at, v
	case at.Sub(e.start) >= e.window:
		e.prev, e.havePrev = e.cur, true
		e.start, e.cur = at, v
		return true
	default:
		e.cur = min(e.cur, v)
	}
	return false
}

// low is the lowest value of the current and the last window.
func (e *envelope) low() time.Duration {
	if e.havePrev {
		return min(e.cur, e.prev)
	}
	return e.cur
}

// reset forgets everything.
func (e *envelope) reset() { *e = envelope{window: e.window} }

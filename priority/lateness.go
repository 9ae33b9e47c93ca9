package priority

import "time"

// LateAfter is the lateness from which a frame is too old for the better video, the rule of the C4 test plan.
// [C4] Testing the C4 algorithm, Section "Media"
const LateAfter = 250 * time.Millisecond

// latenessWindow is how long the quickest way that a frame has taken counts.
const latenessWindow = 30 * time.Second

// Lateness is the subscriber's rule for what is not worth waiting for: the frame number n of a group that is complete
// later than
//
//	start of the group + limit + n/fps
//
// is too late, and its group is given up; the next group gets a new chance. That the start of the group plus n/fps is
// the nominal time of the frame, the time of its capture says more exactly than a count, also where the frame rate varies.
//
// The clocks of sender and receiver need not agree: the frame that took the quickest way in the last 30 to 60 s arrived
// in time by definition, and sets the nominal times of all. One Lateness serves all tracks of a broadcast, so
// that a big track shows by how much it lags behind the audio. It takes the time as an argument and is not safe for use
// by several goroutines. The zero value is ready.
type Lateness struct {
	since     time.Time     // when the current window began; zero before the first frame
	cur, prev time.Duration // least arrival minus capture in the current window, and in the one before
	havePrev  bool
}

// Known reports whether a frame has arrived, before which nothing can be late.
func (l *Lateness) Known() bool { return !l.since.IsZero() }

// Due returns until when a frame captured at the given time may arrive. It returns false before there is anything to compare
// with.
func (l *Lateness) Due(captured time.Time, limit time.Duration) (time.Time, bool) {
	if !l.Known() {
		return time.Time{}, false
	}
	return captured.Add(l.way() + limit), true
}

// OnFrame notes the arrival of a complete frame and returns by how much it is late, never less than 0. What comes in a burst
// from a cache, as after joining, is the later the older it is.
func (l *Lateness) OnFrame(captured, arrived time.Time) time.Duration {
	took := arrived.Sub(captured)
	switch {
	case l.since.IsZero():
		l.since, l.cur = arrived, took
	case arrived.Sub(l.since) >= latenessWindow:
		l.prev, l.havePrev = l.cur, true
		l.since, l.cur = arrived, took
	default:
		l.cur = min(l.cur, took)
	}
	return took - l.way()
}

// way is what a frame takes at least.
func (l *Lateness) way() time.Duration {
	if l.havePrev {
		return min(l.cur, l.prev)
	}
	return l.cur
}

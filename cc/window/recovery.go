package window

import "time"

// Recovery is the recovery period of RFC 9002 Section 7.3.2. It starts with the
// first congestion signal and ends when a packet sent after that is
// acknowledged; further signals about packets sent before are part of the same
// event.
//
// The zero value is ready, outside of recovery.
type Recovery struct {
	started   bool
	startedAt time.Duration
}

// Enter starts a period for a signal about a packet sent at sentAt, and reports
// whether it did: false means that the signal belongs to the present period or
// to the last one.
//
// "A sender that is already in a recovery period stays in it and does not
// reenter it."
// RFC 9002 Section 7.3.2, Recovery
func (r *Recovery) Enter(now, sentAt time.Duration) bool {
	if r.In(sentAt) {
		return false
	}
	r.started, r.startedAt = true, now
	return true
}

// In reports whether a packet sent at sentAt was sent before the start of the
// latest period. The window does not grow for such packets.
func (r *Recovery) In(sentAt time.Duration) bool {
	return r.started && sentAt <= r.startedAt
}

// Forget ends the period, for persistent congestion.
func (r *Recovery) Forget() { *r = Recovery{} }

package moqt

import "time"

// GoAway is the wish of the peer that a session or one request moves elsewhere.
type GoAway struct {
	URI     string        // where to; empty: to where it was. Untrusted
	Timeout time.Duration // when the peer will end it; 0: not said
}

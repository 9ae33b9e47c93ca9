package media

import "time"

// Pacer says when the frames of a source that is not live are due. The zero
// value is ready.
type Pacer struct {
	base time.Time
	last time.Time
	set  bool
}

// Due is the moment at which the frame is to be sent, given the time now. The
// caller waits for it and sets Frame.Capture to it.
func (p *Pacer) Due(f Frame, now time.Time) time.Time { return now }

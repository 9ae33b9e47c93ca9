package media

import "time"

// maxBehind is how far the caller of a Pacer may fall behind before the frames
// are no longer hurried to catch up: the machine has slept, or stood still.
const maxBehind = time.Second

// Pacer says when the frames of a source that is not live are due: each one as
// long after the first as its decode time says. The zero value is ready.
type Pacer struct {
	base time.Time // when a frame with decode time 0 is due
	set  bool
}

// Due is the moment at which the frame is to be sent, given the time now. The
// caller waits for it and sets Frame.Capture to it. A caller that is late gets
// moments in the past, so that it catches up; one that is late by more than a
// second starts afresh from now.
func (p *Pacer) Due(f Frame, now time.Time) time.Time {
	due := p.base.Add(f.DTSTime())
	if !p.set || now.Sub(due) > maxBehind {
		p.base, p.set = now.Add(-f.DTSTime()), true
		return now
	}
	return due
}

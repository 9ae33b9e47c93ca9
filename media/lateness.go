package media

import "time"

// latenessWindow is how long the earliest arrival counts.
const latenessWindow = 30 * time.Second

// Lateness measures how much later a frame came than its nominal time, which is
// that of the frame that took the shortest way, plus the distance between the
// two in the media. It needs no clocks that agree, and it does not see the part
// of the delay that all frames have.
//
// The frame that took the shortest way is looked for in the last 30 to 60 s, so
// that clocks which run at slightly different speeds do not add up. One Lateness
// for all tracks of a broadcast shows what one track suffers for another; one for
// each shows them by themselves. The zero value is ready.
type Lateness struct{ way envelope }

// Observe returns the lateness of a frame with presentation time pts, never
// negative. Frames that come in a burst from a cache, as after joining, are the
// later the older they are.
func (l *Lateness) Observe(pts time.Duration, arrival time.Time) time.Duration {
	if l.way.window == 0 {
		l.way.window = latenessWindow
	}
	v := since(arrival) - pts
	l.way.observe(arrival, v)
	return v - l.way.low()
}

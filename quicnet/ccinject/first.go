package ccinject

import "time"

const (
	// firstKept is how many packets of the first window are not sent at once.
	firstKept = 3

	// firstRTT is the round trip below which nothing is kept: audio can wait for that long.
	firstRTT = 20 * time.Millisecond
)

// firstWindow keeps room in the first window for what is urgent. Until the first acknowledgement nothing is known of the
// path, the window is ten packets, and the first frame of a video fills it; audio that comes
// a moment later would wait for a round trip. So the last packets of the window leave one by one, spread over the round
// trip that the handshake has measured. quic-go fills each with what is most urgent then, datagrams first.
type firstWindow struct {
	over  bool          // an acknowledgement has come
	since time.Duration // when the rest of the window was filled
	full  bool          // since is set
	until time.Duration // when the next packet may go
}

// keep reports whether a packet has to wait, and if so sets until.
func (s *sender) keep(now time.Duration) bool {
	f := &s.first
	rtt := time.Duration(s.rtt.smoothedRTT.Load())
	if f.over || s.control.PacingRate > 0 || rtt < firstRTT {
		return false
	}
	used := *s.inFlight - s.window() + firstKept*s.mtu
	if used < 0 {
		return false
	}
	if !f.full {
		f.full, f.since = true, now
	}
	f.until = f.since + time.Duration(used/s.mtu+1)*rtt/(firstKept+1)
	return now < f.until
}

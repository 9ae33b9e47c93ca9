package window

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// Constants of Pace. The N of RFC 9002 Section 7.7 ("rate = N * congestion_window
// / smoothed_rtt") is 1.25 in slow start and 1 after it; the bounds on bursts
// are those of the implementation that C4's drafts compare with (picoquic).
const (
	// pacedWindowMin is the window, in packets, below which acknowledgements
	// alone clock the sender.
	pacedWindowMin = 8
	quantumMin     = 2  // packets
	quantumMax     = 16 // packets

	// On long paths slow start sends bursts, so that the short-interval peak
	// rate can show what the path carries.
	burstRTT      = 60 * time.Millisecond // smoothed RTT above which it does
	burstMin      = 32 << 10              // bytes
	burstInterval = 15 * time.Millisecond // of the pacing rate
)

// Pace returns the pacing rate and the burst quantum that spread window bytes
// over a smoothed round trip. Both are 0, unpaced, for small windows.
func Pace(window, mtu int64, smoothed time.Duration, slowStart bool) (cc.Rate, int64) {
	if window < pacedWindowMin*mtu || smoothed <= time.Microsecond {
		return 0, 0
	}
	rate := cc.RateOf(window, smoothed)
	quantum := window / 4
	switch {
	case slowStart && smoothed > burstRTT:
		if quantum < burstMin {
			quantum = burstMin
		} else {
			quantum = max(quantum, rate.Over(burstInterval))
		}
	case quantum < quantumMin*mtu:
		quantum = quantumMin * mtu
	default:
		quantum = min(quantum, quantumMax*mtu)
	}
	if slowStart {
		rate += rate / 4
	}
	return rate, quantum
}

package hystart

import (
	"math"
	"time"
)

// Constants of RFC 9406 Section 4.3, Tuning Constants and Other Considerations.
const (
	minRTTThresh     = 4 * time.Millisecond
	maxRTTThresh     = 16 * time.Millisecond
	minRTTDivisor    = 8
	samplesPerRound  = 8 // N_RTT_SAMPLE
	cssGrowthDivisor = 4
	cssRounds        = 5
)

const infinite = time.Duration(math.MaxInt64)

// PlusPlus is HyStart++, RFC 9406 Section 4.2. In standard slow start it
// compares the lowest RTT of a round with that of the round before. When that
// has risen, Conservative Slow Start (CSS) goes on more slowly for a few rounds
// to see whether it was jitter. The zero value is ready.
type PlusPlus struct {
	windowEnd  int64 // packet number whose acknowledgement ends the round
	inRound    bool
	lastMin    time.Duration // lastRoundMinRTT
	currentMin time.Duration // currentRoundMinRTT
	samples    int           // rttSampleCount
	css        bool
	cssMin     time.Duration // cssBaselineMinRtt
	rounds     int           // of CSS, completed
}

// OnRTT takes the RTT sample of an ACK.
func (h *PlusPlus) OnRTT(sample time.Duration) {
	h.begin(h.windowEnd)
	h.currentMin = min(h.currentMin, sample)
	h.samples++
	if h.samples < samplesPerRound || h.currentMin == infinite {
		return
	}
	if !h.css {
		if h.lastMin == infinite {
			return
		}
		thresh := min(max(h.lastMin/minRTTDivisor, minRTTThresh), maxRTTThresh)
		if h.currentMin >= h.lastMin+thresh {
			h.css, h.cssMin, h.rounds = true, h.currentMin, 0
		}
		return
	}
	// A lower RTT than at the start of CSS: the increase was jitter.
	if h.currentMin < h.cssMin {
		h.css, h.cssMin = false, infinite
	}
}

// OnAck notes that numbers below ackedTo were acknowledged and that next is the
// next number to be sent. It reports whether slow start is over: "If CSS_ROUNDS
// rounds are complete, enter congestion avoidance by setting the ssthresh to
// the current cwnd."
func (h *PlusPlus) OnAck(ackedTo, next int64) bool {
	h.begin(next)
	if ackedTo <= h.windowEnd {
		return false
	}
	h.lastMin, h.currentMin, h.samples = h.currentMin, infinite, 0
	h.windowEnd = next
	if h.css {
		h.rounds++
	}
	return h.css && h.rounds >= cssRounds
}

// Growth returns by how much the window may grow for n acknowledged bytes. L of
// Section 4.2 is infinite: the sender paces.
func (h *PlusPlus) Growth(n int64) int64 {
	if h.css {
		return n / cssGrowthDivisor
	}
	return n
}

func (h *PlusPlus) begin(windowEnd int64) {
	if h.inRound {
		return
	}
	h.inRound = true
	h.windowEnd = windowEnd
	h.lastMin, h.currentMin, h.cssMin = infinite, infinite, infinite
}

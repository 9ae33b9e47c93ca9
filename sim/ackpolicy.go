package sim

import "time"

const (
	ackDelayMin   = time.Millisecond
	ackGapEarly   = 2 // while few packets have been received
	ackGapPackets = 128

	ackDelayQUICGo = 25 * time.Millisecond // Options.QUICGoAcks
)

// ackPolicy is what the sender asks of the receiver: an acknowledgement for
// each gap packets, or after the delay.
//
// The rules are those of the reference transport, which aims at about four
// acknowledgements a window.
type ackPolicy struct {
	gap   int64
	delay time.Duration
}

// renew adapts the policy to the path. The gap never shrinks, and small changes
// of the delay are not worth a frame. It reports whether anything changed.
func (p *ackPolicy) renew(s *sender) bool {
	const (
		fast    = 2_000_000 // bytes per second above which few packets are too few
		farRTT  = 100 * time.Millisecond
		large   = 32
		largest = 64
	)
	minRTT := s.rtt.min
	delay := ackDelayFor(minRTT)
	window := max(s.control.Window/s.mtu, 2)
	n := window
	if s.control.SlowStart {
		n /= 2
	}
	if minRTT < 4*ackDelayMin {
		factor := int64(4)
		if minRTT > ackDelayMin {
			factor = int64(4 * ackDelayMin / minRTT)
		}
		n *= factor
	}
	gap := (n + 3) / 4
	least := int64(2)
	if s.rate > fast {
		least = 4
		if minRTT > farRTT {
			least = 10
		}
	}
	if gap < least {
		gap = least
	} else if gap > large {
		gap = min(large+(n-128)/8, largest)
	}
	if 2*s.rtt.smoothed > 3*minRTT && s.peer.rateMax > 0 {
		gap, delay = spareReturnPath(s, window, gap, delay)
	}
	if minRTT < 4*delay {
		gap = min(gap, large)
	}
	if gap <= p.gap && delay >= 7*p.delay/8 && delay <= 9*p.delay/8 {
		return false
	}
	p.gap = max(p.gap, gap)
	p.delay = delay
	return true
}

// spareReturnPath makes acknowledgements rarer if the round trip has grown and
// the return path may be slow. What is known of its speed is the highest rate at
// which anything came back, which is an underestimate.
func spareReturnPath(s *sender, window, gap int64, delay time.Duration) (int64, time.Duration) {
	const ackWithHeaders = 12 + 40 + 8 + sizeAck
	delay = max(delay, min(whole(s.peer.rateMax.TimeFor(ackWithHeaders)), ackDelayMax))
	n := window
	if s.control.SlowStart {
		n /= 2
	}
	acks := (n + gap - 1) / gap
	if time.Duration(acks)*delay <= (s.rtt.smoothed+s.rtt.min)/2 {
		return gap, delay
	}
	most := int64(s.rtt.smoothed / delay)
	if most <= 1 {
		return n, delay
	}
	return max(gap, (n+most-1)/most), delay
}

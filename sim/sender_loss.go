package sim

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// isLost judges the lowest outstanding packet, number n. If it is not lost,
// again says when it will be, unless it is acknowledged.
func (s *sender) isLost(now time.Duration, n int64, p *sentPacket) (lost bool, why cc.LossReason, again time.Duration) {
	switch behind := s.largestAcked - n; {
	case behind >= packetsReorder:
		return true, cc.LossPackets, now
	case behind <= 0:
		return false, 0, never
	}
	wait := min(whole(s.rtt.smoothed/4), rackDelayMax) + ackDelayMax
	at := min(p.sentAt+s.rto, s.largestAt+wait-(s.newestAckedAt-p.sentAt))
	return at <= now, cc.LossTime, at
}

// findLosses declares packets lost after an acknowledgement, oldest first, up to
// the first that is not lost.
func (s *sender) findLosses(now time.Duration) (again time.Duration) {
	again = never
	for s.log.low < s.log.next {
		n := s.log.low
		p := s.log.at(n)
		lost, why, at := s.isLost(now, n, p)
		if !lost {
			return at
		}
		s.declareLost(now, n, p, why)
		s.log.settle()
	}
	return again
}

// checkLosses runs the timers: losses by time, and probe timeouts. It returns
// when to run again.
func (s *sender) checkLosses(now time.Duration) time.Duration {
	before := s.stats.lost
	wake := s.findLosses(now)
	for s.log.low < s.log.next && !s.probeDue {
		n := s.log.low
		p := s.log.at(n)
		at := s.probeTime(p)
		if now < at {
			wake = min(wake, at)
			break
		}
		// The packet is not known to be lost: it makes room for a probe. If there
		// is nothing to repeat in it, the next one does.
		isData := p.repeats()
		if isData {
			s.ptoCount++
			s.ctl.OnPTO(now, s.ptoCount)
		}
		s.giveUp(n, p)
		s.declareLost(now, n, p, cc.LossPTO)
		s.log.settle()
		s.probeDue = isData
	}
	if s.stats.lost > before {
		s.applyControl(now)
	}
	return wake
}

// probeTime is when the probe timeout expires, if the oldest packet is p. It
// counts from the last packet sent, but a trickle of small packets cannot put
// it off for ever.
func (s *sender) probeTime(p *sentPacket) time.Duration {
	rto := s.backoff()
	at := s.lastSentAt + rto
	if alt := p.sentAt + 2*rto; s.ptoCount == 0 && alt < s.lastSentAt {
		at = alt
	}
	return at
}

// backoff returns the timeout after ptoCount expirations: doubled twice, then
// raised by quarters.
func (s *sender) backoff() time.Duration {
	const (
		large = 2 * time.Second
		idle  = 30 * time.Second / 16
	)
	rto := s.rto
	switch n := s.ptoCount; {
	case n == 0:
	case n < 3:
		rto = min(rto<<n, idle)
	default:
		n = min(n-2, 18)
		rto <<= 2 + n/4
		rto += time.Duration(n%4) * rto / 4
		rto = min(rto, idle)
	}
	return min(rto, large)
}

// declareLost settles a packet, queues its contents again, and tells the
// controller.
func (s *sender) declareLost(now time.Duration, n int64, p *sentPacket, why cc.LossReason) {
	p.state = settled
	s.inFlight -= int64(p.size)
	s.stats.lost++
	s.stats.lostBytes += int64(p.size)
	s.sampler.OnLoss(int64(p.size))
	for _, f := range p.frames {
		s.repeat(f)
	}
	if p.probe {
		s.mtuProbe = false
	}
	if p.policy {
		s.policyUnsent = true
	}
	if int64(p.size) == s.mtu || why == cc.LossPTO {
		s.mtuLosses++
		if s.mtuLosses > mtuLossesMax || why == cc.LossPTO {
			// large packets may not get through: begin again with small ones
			s.mtuProbe = false
			s.setMTU(now, mtuInitial)
		}
	}
	s.ctl.OnLoss(now, cc.Loss{
		Number: n, Bytes: int64(p.size), SentAt: p.sentAt, Stamp: p.stamp,
		InFlight: s.inFlight, Reason: why,
	})
	if t := s.sim.tracer; t != nil {
		t.PacketLost(now, s.conn.id, n, int64(p.size), why)
	}
}

// mtuLossesMax is how many losses of full packets in a row make the sender doubt
// that the path carries packets of that size.
const mtuLossesMax = 10

func (s *sender) setMTU(now time.Duration, mtu int64) {
	if mtu != s.mtu {
		s.mtu = mtu
		s.ctl.OnMTU(now, mtu)
	}
}

func (s *sender) giveUp(n int64, p *sentPacket) {
	if len(s.givenUp) == maxGivenUp {
		s.givenUp = append(s.givenUp[:0], s.givenUp[1:]...)
	}
	s.givenUp = append(s.givenUp, givenUp{number: n, size: p.size, sentAt: p.sentAt, stamp: p.stamp})
}

package sim

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// onAck processes the acknowledgement that a packet carries.
func (s *sender) onAck(now time.Duration, k *packet) {
	a := &s.ack
	*a = cc.Ack{Packets: a.Packets[:0], PriorInFlight: s.inFlight}
	delivered := int64(0)
	var stamp cc.Stamp
	mtu, full := s.mtu, false
	for _, r := range k.ranges {
		for n := max(r.first, s.log.low); n <= min(r.last, s.log.next-1); n++ {
			p := s.log.at(n)
			if p.state == settled {
				continue
			}
			p.state = settled
			s.inFlight -= int64(p.size)
			acked := cc.Acked{Number: n, Bytes: int64(p.size) - cc.TagBytes, SentAt: p.sentAt}
			delivered += acked.Bytes
			a.Packets = append(a.Packets, acked)
			stamp = p.stamp
			mtu = max(mtu, int64(p.size))
			full = full || int64(p.size) == mtu
		}
	}
	a.Bytes = delivered
	s.ackGivenUp(now, k, a, &stamp)
	if len(a.Packets) == 0 {
		return
	}
	s.log.settle()
	a.Newest = a.Packets[len(a.Packets)-1]
	newLargest := a.Newest.Number > s.largestAcked
	if newLargest {
		s.largestAcked, s.largestAt = a.Newest.Number, now
		s.ptoCount = 0
	}
	s.newestAckedAt = max(s.newestAckedAt, a.Newest.SentAt)
	if full {
		s.mtuLosses = 0
	}
	if mtu > s.mtu {
		s.mtuProbe = false
		s.setMTU(now, mtu)
	}
	if k.ecn != (ecnCounts{}) {
		s.stats.marked = k.ecn.ce
		s.ctl.OnECN(now, cc.ECN{
			ECT0: k.ecn.ect0, ECT1: k.ecn.ect1, CE: k.ecn.ce,
			Newest: a.Newest.Number, NewestSentAt: a.Newest.SentAt,
		})
	}
	if newLargest {
		s.sampleRTT(now, now-a.Newest.SentAt, k.ackDelay, false)
		s.stats.rtt.add(s.rtt.latest)
	}
	a.Sample = s.sampler.OnAck(now, delivered, a.Newest, stamp)
	s.rate = a.Sample.Rate
	lostBefore := s.stats.lostBytes
	s.findLosses(now)
	a.LostBytes = s.stats.lostBytes - lostBefore
	a.LowestUnsettled = s.log.low
	a.InFlight = s.inFlight
	s.ctl.OnAck(now, a)
	s.applyControl(now)
	if t := s.sim.tracer; t != nil {
		t.Acked(now, s.conn.id, a)
	}
}

// sampleRTT updates the estimates and tells the controller.
func (s *sender) sampleRTT(now, sample, ackDelay time.Duration, handshake bool) {
	first := !s.rtt.known()
	if !first {
		sample = s.rtt.adjust(sample, ackDelay)
	}
	s.rtt.add(sample)
	s.rto = s.rtt.smoothed + 3*s.rtt.variance + ackDelayMax
	s.ctl.OnRTT(now, cc.RTT{
		Latest: sample, Smoothed: s.rtt.smoothed, Variance: s.rtt.variance, Min: s.rtt.min,
		Handshake: handshake,
	})
	if f := s.conn.flow; first && f.SeedWindow > 0 {
		s.ctl.OnSeed(now, cc.Seed{Window: f.SeedWindow, RTT: f.SeedRTT})
	}
}

// ackGivenUp finds packets that a probe timeout gave up and that arrived after
// all. They count as acknowledged, but not as delivered.
func (s *sender) ackGivenUp(now time.Duration, k *packet, a *cc.Ack, stamp *cc.Stamp) {
	kept := s.givenUp[:0]
	for _, g := range s.givenUp {
		if !covers(k.ranges, g.number) {
			kept = append(kept, g)
			continue
		}
		s.ctl.OnSpuriousLoss(now, cc.Loss{
			Number: g.number, Bytes: int64(g.size), SentAt: g.sentAt, Stamp: g.stamp,
			InFlight: s.inFlight, Reason: cc.LossPTO,
		})
		acked := cc.Acked{Number: g.number, Bytes: int64(g.size) - cc.TagBytes, SentAt: g.sentAt}
		a.Bytes += acked.Bytes
		i := len(a.Packets)
		a.Packets = append(a.Packets, acked)
		if i == 0 {
			*stamp = g.stamp
		}
		for ; i > 0 && a.Packets[i-1].Number > acked.Number; i-- {
			a.Packets[i], a.Packets[i-1] = a.Packets[i-1], acked
		}
	}
	s.givenUp = kept
}

func covers(ranges []numberRange, n int64) bool {
	for i := len(ranges) - 1; i >= 0; i-- {
		if ranges[i].first <= n {
			return n <= ranges[i].last
		}
	}
	return false
}

package ccinject

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// packetThreshold tells losses by number from losses by time.
// RFC 9002 Section 6.1.1, Packet Threshold
const packetThreshold = 3

// pendingAck is what quic-go has reported and the controller does not know yet. For
// an ACK quic-go calls, in this order and each only if it applies:
// MaybeExitSlowStart, HandleNewlyAcked of ECN, OnCongestionEvent for each loss,
// OnSpuriousLoss for each, OnPacketAcked for each packet. Only the last tells a time. A
// loss found by a timer comes alone.
type pendingAck struct {
	any bool // there is something

	hasRTT bool
	rtt    cc.RTT
	hasECN bool
	ecn    cc.ECN

	losses   []cc.Loss
	spurious []cc.Loss

	at     time.Duration
	acked  []cc.Acked
	bytes  int64
	prior  int64
	newest *sentPacket // of acked; valid until the next packet is sent
}

// reset empties p and keeps its memory, except acked, which the caller may still use.
func (p *pendingAck) reset() {
	*p = pendingAck{losses: p.losses[:0], spurious: p.spurious[:0], acked: p.acked}
}

// MaybeExitSlowStart begins an ACK with an RTT sample.
func (s *sender) MaybeExitSlowStart() {
	s.checkDry()
	s.flush(*s.inFlight)
	if !s.rtt.hasMeasurement {
		return
	}
	s.pending.any, s.pending.hasRTT = true, true
	s.pending.rtt = cc.RTT{
		Latest:   time.Duration(s.rtt.latestRTT.Load()),
		Smoothed: time.Duration(s.rtt.smoothedRTT.Load()),
		Variance: time.Duration(s.rtt.meanDeviation.Load()),
		Min:      time.Duration(s.rtt.minRTT.Load()),
	}
}

// onECN takes valid counts of an ACK.
func (s *sender) onECN(ect0, ect1, ce int64) {
	if len(s.pending.acked) > 0 {
		s.flush(*s.inFlight)
	}
	s.pending.any, s.pending.hasECN = true, true
	s.pending.ecn = cc.ECN{ECT0: ect0, ECT1: ect1, CE: ce}
	s.tally.marked += max(0, ce-s.tally.marks)
	s.tally.marks = max(ce, s.tally.marks)
}

// OnCongestionEvent reports a packet found lost by later ones or by time.
func (s *sender) OnCongestionEvent(number, bytes, _ int64) {
	s.checkDry()
	if len(s.pending.acked) > 0 {
		s.flush(*s.inFlight)
	}
	s.stats.PacketsLost.Add(1)
	s.stats.BytesLost.Add(uint64(bytes))
	s.pending.any = true
	l := cc.Loss{Number: number, Bytes: bytes}
	if p := s.log.find(number); p != nil {
		s.log.settle(p)
		l.SentAt, l.Stamp, l.Handshake = p.sentAt, p.stamp, p.handshake
	} else {
		l.Handshake = true // sent before the controller was installed
	}
	s.pending.losses = append(s.pending.losses, l)
}

// OnSpuriousLoss reports that a packet found lost has arrived.
func (s *sender) OnSpuriousLoss(number int64) {
	if p := s.log.find(number); p != nil {
		s.pending.any = true
		s.pending.spurious = append(s.pending.spurious, cc.Loss{
			Number: number, Bytes: p.bytes, SentAt: p.sentAt, Stamp: p.stamp, Handshake: p.handshake,
		})
	}
}

// OnPacketAcked reports a packet acknowledged, in ascending order within an ACK.
func (s *sender) OnPacketAcked(number, _, priorInFlight int64, t instant) {
	at := s.since(t)
	p := &s.pending
	if len(p.acked) == 0 {
		s.checkDry()
	}
	if n := len(p.acked); n > 0 && (at != p.at || number <= p.acked[n-1].Number) {
		s.flush(*s.inFlight)
	}
	p.any = true
	k := s.log.find(number)
	if k == nil {
		return
	}
	if k.givenUp { // quic-go had given up another packet than we thought
		k.givenUp = false
		p.spurious = append(p.spurious, cc.Loss{
			Number: number, Bytes: k.bytes, SentAt: k.sentAt, Stamp: k.stamp,
			Reason: cc.LossPTO, Handshake: k.handshake,
		})
	}
	s.log.settle(k)
	if len(p.acked) == 0 {
		p.at, p.prior = at, priorInFlight
	}
	a := k.acked()
	p.acked = append(p.acked, a)
	p.bytes += a.Bytes
	p.newest = k
}

// flush gives the controller what is pending, in the order of package cc. inFlight
// is now, without a packet that is just being sent.
func (s *sender) flush(inFlight int64) {
	p := &s.pending
	if !p.any {
		return
	}
	at := s.clock()
	handshake := true // nothing is known of packets from before the installation
	if p.newest != nil {
		at, handshake = p.at, p.newest.handshake
	}
	now := s.advance(at)

	if p.hasECN && p.newest != nil {
		p.ecn.Newest, p.ecn.NewestSentAt, p.ecn.Handshake = p.newest.number, p.newest.sentAt, handshake
		s.ctl.OnECN(now, p.ecn)
	}
	if p.hasRTT {
		p.rtt.Handshake = handshake
		s.ctl.OnRTT(now, p.rtt)
	}
	ack := &s.ack
	*ack = cc.Ack{PriorInFlight: p.prior, InFlight: inFlight, Handshake: handshake}
	if p.newest != nil {
		ack.Sample = s.sample(at, handshake)
	}
	left := inFlight
	for _, l := range p.losses {
		ack.LostBytes += l.Bytes
		left += l.Bytes
	}
	for _, l := range p.losses {
		left -= l.Bytes
		l.InFlight, l.Reason = left, cc.LossTime
		if p.newest != nil && p.newest.number-l.Number >= packetThreshold {
			l.Reason = cc.LossPackets
		}
		s.sampler.OnLoss(l.Bytes)
		s.ctl.OnLoss(now, l)
	}
	for _, l := range p.spurious {
		l.InFlight = inFlight
		s.ctl.OnSpuriousLoss(now, l)
	}
	if p.newest != nil {
		s.lastPTO = 0
		s.first.over = s.first.over || !handshake
		s.newestSent = max(s.newestSent, p.newest.sentAt)
		s.tally.bytesAcked += p.bytes
		s.tally.acked += int64(len(p.acked))
		ack.Packets, ack.Bytes, ack.Newest = p.acked, p.bytes, p.newest.acked()
		ack.LowestUnsettled = s.log.low
		s.ctl.OnAck(now, ack)
	}
	s.tally.lost += int64(len(p.losses))
	s.tally.spurious += int64(len(p.spurious))
	p.reset()
	p.acked = p.acked[:0]
	s.apply()
	s.report()
}

// sample measures the delivery rate with the time at which the ACK was received, even
// if packets were sent between that and now.
func (s *sender) sample(at time.Duration, handshake bool) cc.Sample {
	p := &s.pending
	if handshake {
		s.sampler.OnHandshakeAck(at, p.newest.sentAt, p.bytes, *s.confirmed)
		return cc.Sample{Delivered: s.sampler.Delivered()}
	}
	r := s.sampler.OnAck(at, p.bytes, p.newest.acked(), p.newest.stamp)
	r.Rate = coarse(r.Rate)
	return r
}

package sim

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// The handshake, as the reference transport has it. The client's Initial is
// answered by two datagrams and a path MTU probe; the second datagram already
// holds the 1-RTT packet 0, the probe is 1-RTT packet 1. The client answers the
// first with a short acknowledgement, the second with the end of the handshake
// and its request, and a probe of its own. A timer of one millisecond then
// acknowledges the server's packets 0 and 1.

// Bytes that the server counts as delivered by then.
const (
	deliveredFlightA = 1052
	deliveredFlightB = 273
	deliveredImplied = 168 // the Initial packet, by the first acknowledgement
)

// handshakeTimeout is the first repetition interval; it doubles.
const handshakeTimeout = rttInitial

// start sends the client's Initial.
func (r *receiver) start(now time.Duration) {
	r.conn.up(now, r.sim.pool.get(r.conn, kindInitial, sizeInitial))
	r.timer = now + handshakeTimeout<<min(r.helloTries, 6)
	r.helloTries++
	r.setWake(r.timer)
}

// prepareHandshake repeats the Initial or the close.
func (r *receiver) prepareHandshake(now time.Duration) {
	if now < r.timer {
		r.setWake(r.timer)
		return
	}
	if r.done {
		r.sendClose(now)
		return
	}
	r.start(now)
}

// ackFlight acknowledges the server's first datagram.
func (r *receiver) ackFlight(now time.Duration) {
	r.flightAcks = false
	k := r.sim.pool.get(r.conn, kindHandshakeAck, sizeHandshakeAck)
	k.number = r.flightCopy
	r.conn.up(now, k)
}

// sendFlight sends the server's part of the handshake: all of it, and when it is
// repeated the first datagram until that is acknowledged.
func (s *sender) sendFlight(now time.Duration) {
	timeout := handshakeTimeout
	if s.flightAcked {
		timeout = s.rto
	}
	s.flightTimer = now + timeout<<min(s.flightTries, 6)
	if s.flightTries == 0 {
		s.pacer.reset(now)
	}
	if !s.flightAcked {
		k := s.sim.pool.get(s.conn, kindFlightA, sizeFlightA)
		k.number = int64(len(s.flightAAt))
		s.flightAAt = append(s.flightAAt, now)
		s.conn.down(now, k, cc.NotECT)
	}
	if s.flightTries == 0 || s.flightAcked {
		s.sendFlightB(now)
	}
	s.flightTries++
	s.setWake(s.flightTimer)
}

// sendFlightB sends the second datagram and the probe. What was sent of them
// before is forgotten.
func (s *sender) sendFlightB(now time.Duration) {
	for n := s.log.low; n < s.log.next; n++ {
		s.log.at(n).state = settled
	}
	s.log.settle()
	s.inFlight = 0
	s.flightBAt = now

	k := s.sim.pool.get(s.conn, kindFlightB, sizeFlightB)
	k.number = s.record(now, sizePacket0, false)
	s.conn.down(now, k, cc.NotECT)

	k = s.sim.pool.get(s.conn, kindData, mtuMax)
	k.number = s.record(now, mtuMax, true)
	s.conn.down(now, k, cc.NotECT)
}

// record notes a 1-RTT packet of the flight as sent, and returns its number.
func (s *sender) record(now time.Duration, size int32, probe bool) int64 {
	p, n := s.log.add()
	s.inFlight += int64(size)
	p.probe, p.size, p.sentAt, p.stamp = probe, size, now, s.sampler.Stamp(s.inFlight)
	s.lastSentAt = now
	if t := s.sim.tracer; t != nil {
		t.PacketSent(now, s.conn.id, n, int64(size), s.inFlight)
	}
	return n
}

func (s *sender) prepareHandshake(now time.Duration) {
	if now >= s.flightTimer {
		s.sendFlight(now)
		return
	}
	s.setWake(s.flightTimer)
}

// onHandshakeAck takes the client's acknowledgement of a copy of the first
// datagram. If it is a later copy, the second datagram was lost with the first.
func (s *sender) onHandshakeAck(now time.Duration, copy int64) {
	if s.flightAcked {
		return
	}
	s.flightAcked = true
	sentAt := s.flightAAt[copy]
	s.sampleRTT(now, now-sentAt, 0, true)
	s.ackHandshake(now, sentAt, deliveredFlightA, false)
	s.ackHandshake(now, sentAt, deliveredImplied, false)
	if copy > 0 {
		s.sendFlightB(now)
	}
	s.flightTimer = s.flightBAt + s.rto
}

// onHandshakeEnd takes the end of the handshake and the request.
func (s *sender) onHandshakeEnd(now time.Duration, k *packet) {
	if s.ready {
		return
	}
	s.ready = true
	s.sampleRTT(now, now-s.flightBAt, 0, true)
	if s.flightAcked {
		s.ackHandshake(now, s.flightBAt, deliveredFlightB, true)
	} else { // both datagrams at once
		s.flightAcked = true
		s.ackHandshake(now, s.flightBAt, deliveredFlightA+deliveredFlightB, false)
		s.ackHandshake(now, s.flightBAt, deliveredImplied, true)
	}
	if f := s.conn.flow; f.Size > 0 {
		s.addStream(0, 8).total = f.Size
	}
	for _, q := range k.requests {
		s.onRequest(now, q)
	}
}

// ackHandshake tells the controller that n bytes of handshake packets were
// acknowledged, and puts its wishes into force if it has any by now.
func (s *sender) ackHandshake(now, sentAt time.Duration, n int64, done bool) {
	s.sampler.OnHandshakeAck(now, sentAt, n, done)
	s.ack = cc.Ack{
		Packets: s.ack.Packets[:0], Bytes: n, Newest: cc.Acked{Bytes: n, SentAt: sentAt},
		LowestUnsettled: s.log.low, PriorInFlight: s.inFlight, InFlight: s.inFlight, Handshake: true,
	}
	s.ack.Sample.Delivered = s.sampler.Delivered()
	s.ctl.OnAck(now, &s.ack)
	s.control = s.ctl.Control()
	if s.control.PacingRate > 0 {
		s.pacer.set(s.control, s.mtu, s.rtt.smoothed)
	}
}

// onFlightA takes a copy of the first datagram. It holds the keys for what may
// have come before it.
func (r *receiver) onFlightA(now time.Duration, copy int64) {
	r.flightAcks, r.flightCopy = true, copy
	if r.haveA {
		return
	}
	r.haveA = true
	r.received += 2
	if r.haveB {
		r.onFlightB(now, r.numberB)
	}
}

// onFlightB completes the handshake at the client.
func (r *receiver) onFlightB(now time.Duration, number int64) {
	if !r.haveA {
		r.haveB, r.numberB = true, number
		return
	}
	again := r.ready
	r.flightAcks = false // the answer does it
	if !again {
		r.ready = true
		r.received += 2 + len(r.early)
		r.readyAt = now
		r.rtt.reset()
		r.rtt.add(now - r.conn.startedAt)
		r.timer = never
		r.note(number)
		for _, n := range r.early {
			r.note(n)
		}
		r.highestAt, r.waiting, r.waitSince = now, true, now
		if f := r.conn.flow; f.Size > 0 {
			r.addStream(0)
		} else {
			r.media.askFirst(r, now)
			r.firstRequests = append(r.firstRequests[:0], r.requests...)
			r.requests = r.requests[:0]
		}
	}
	size := int32(sizeRequest)
	if len(r.conn.flow.Sources) > 0 {
		size = sizeMediaRequest
	}
	k := r.sim.pool.get(r.conn, kindRequest, size)
	k.requests = append(k.requests, r.firstRequests...)
	if again {
		r.conn.up(now, k)
		return
	}
	r.submit(now, k)
	r.submit(now, r.sim.pool.get(r.conn, kindClientProbe, mtuMax))
}

// sendClose ends the connection. If the answer is lost, the client gives up
// waiting after three timeouts.
func (r *receiver) sendClose(now time.Duration) {
	if r.closeTries > 0 {
		r.conn.finish(now)
		return
	}
	r.done = true
	r.closeTries++
	r.conn.up(now, r.sim.pool.get(r.conn, kindClose, sizeClose))
	const timeouts = 3
	r.timer = now + timeouts*(r.rtt.smoothed+3*r.rtt.variance+ackDelayMax)
	r.setWake(r.timer)
}

package sim

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/sim/link"
)

// sender is the server's side of a connection. It is asked for one packet at a
// time by prepare, whenever its wake time has come: after each packet it sent,
// after each packet it received, and when a timer is due.
type sender struct {
	sim  *Sim
	conn *conn

	// congestion control
	ctl     cc.Controller
	control cc.Control
	sampler cc.Sampler
	pacer   pacer
	rate    cc.Rate // latest sample
	ack     cc.Ack  // reused
	events  []cc.Event

	// path
	rtt rttEstimator
	rto time.Duration // retransmission timeout without backoff

	mtu       int64
	mtuLosses int  // packets of full size lost in a row
	mtuProbe  bool // a probe is under way

	// packets
	log           sentLog
	inFlight      int64
	lastSentAt    time.Duration
	largestAcked  int64         // -1: none
	largestAt     time.Duration // when it was acknowledged
	newestAckedAt time.Duration // latest send time of an acknowledged packet
	ptoCount      int
	probeDue      bool // a probe timeout wants a packet, window or not
	givenUp       []givenUp

	// numbers that are skipped
	rand   link.Rand
	holeAt int64
	holes  uint

	// what to send
	streams   []*sendStream // by priority, then by age
	datagrams []datagram
	media     mediaServer
	connLimit int64 // flow control
	connSent  int64

	policy       ackPolicy
	policyStale  bool // the path has changed since it was computed
	policyUnsent bool

	peer peerAcks

	ready  bool // the handshake is complete
	closed bool

	// handshake
	flightAAt   []time.Duration // when copies of the first datagram were sent
	flightBAt   time.Duration   // when the second was sent last
	flightTimer time.Duration
	flightTries uint
	flightAcked bool

	wake  time.Duration
	order uint64 // of setting wake, decides between equal times

	stats flowStats
}

// givenUp is a packet that a probe timeout declared lost; it may still arrive.
type givenUp struct {
	number int64
	size   int32
	sentAt time.Duration
	stamp  cc.Stamp
}

const (
	maxGivenUp     = 64
	ackDelayMax    = 10 * time.Millisecond // the receiver's transport parameter
	packetsReorder = 3                     // RFC 9002 Section 6.1.1
	rackDelayMax   = 5 * time.Millisecond
)

func (s *sender) reset(c *conn, ctl cc.Controller, seed uint64) {
	log, streams, ack, given := s.log, s.streams, s.ack, s.givenUp
	datagrams, events, media, flight := s.datagrams, s.events, s.media, s.flightAAt
	log.reset()
	media.reset()
	*s = sender{
		sim: c.sim, conn: c, ctl: ctl, control: ctl.Control(),
		mtu: mtuInitial, mtuProbe: true, log: log, largestAcked: -1,
		rand:    link.NewRand(seed),
		streams: streams[:0], ack: cc.Ack{Packets: ack.Packets[:0]}, givenUp: given[:0],
		datagrams: datagrams[:0], events: events[:0], media: media,
		connLimit: connLimitInitial,
		flightAAt: flight[:0],
		wake:      never, flightTimer: never,
		policy: ackPolicy{gap: 2, delay: ackDelayMin}, policyStale: true,
		peer: newPeerAcks(),
	}
	s.rtt.reset()
	s.rto = rttInitial
	s.pacer.reset(0)
}

// setWake asks for a call of prepare at t.
func (s *sender) setWake(t time.Duration) {
	s.wake = t
	s.order = s.sim.nextOrder()
}

// prepare sends at most one packet and sets the next wake time.
func (s *sender) prepare(now time.Duration) {
	switch {
	case s.closed:
		s.setWake(never)
		return
	case !s.ready:
		s.prepareHandshake(now)
		return
	}
	if s.media.used && now >= s.media.wake {
		s.runMedia(now)
	}
	s.skipNumber()
	wake := s.checkLosses(now)
	if ok, again := s.pacer.ready(now); !ok {
		wake = min(wake, again)
	} else if s.send(now) {
		wake = now
	} else {
		wake = min(wake, s.peer.wake())
	}
	if s.media.used {
		wake = min(wake, max(s.media.wake, now))
	}
	s.setWake(wake)
}

// skipNumber leaves a gap in the packet numbers from time to time. The
// reference does it to catch receivers that acknowledge what they have not got;
// here it is what makes runs differ from each other.
func (s *sender) skipNumber() {
	const period = 256
	if s.log.next < s.holeAt {
		return
	}
	if s.holeAt > 0 {
		s.log.skip()
		s.holes++
	}
	s.holeAt = s.log.next + 3 + int64(s.rand.Below(period<<min(s.holes, 40)))
}

// send builds and sends a packet. It reports false if there is nothing to send
// or no room in the window; acknowledgements need no room.
func (s *sender) send(now time.Duration) bool {
	ackDue := s.peer.due(now)
	if s.inFlight >= s.control.Window && !s.probeDue {
		if ackDue {
			s.sendSmall(now, false)
		}
		return ackDue
	}
	if s.mtu < mtuMax && !s.mtuProbe && !ackDue {
		if s.probeDue {
			s.sendSmall(now, false)
			return true
		}
		s.mtuProbe = true
		k := s.sim.pool.get(s.conn, kindData, mtuMax)
		s.transmit(now, k, sentPacket{probe: true})
		return true
	}
	k := s.sim.pool.get(s.conn, kindData, 0)
	announce := s.policyDue(k)
	room := int32(s.mtu) - packetOverhead(s.log.next)
	if ackDue {
		room -= ackOverhead
	}
	if announce {
		room -= policyOverhead
	}
	left := s.fill(now, k, room)
	if left == room {
		s.ctl.OnAppLimited(now)
		s.sampler.OnAppLimited(s.inFlight)
		s.sim.pool.put(k)
		if !ackDue && !announce && !s.probeDue {
			return false
		}
		s.sendSmall(now, announce)
		return true
	}
	if ackDue {
		s.peer.put(now, k)
	}
	s.probeDue = false
	k.size = int32(s.mtu) - left
	s.transmit(now, k, sentPacket{policy: announce})
	return true
}

// sendSmall sends a packet without data: an acknowledgement, an announcement of
// the acknowledgement policy, or a probe.
func (s *sender) sendSmall(now time.Duration, announce bool) {
	k := s.sim.pool.get(s.conn, kindData, sizeLeast)
	if announce {
		k.announces, k.policy = true, s.policy
	}
	if s.peer.due(now) {
		s.peer.put(now, k)
	}
	k.quiet = !announce && !s.probeDue
	if !k.quiet {
		s.probeDue = false
	}
	s.transmit(now, k, sentPacket{policy: announce, quiet: k.quiet})
}

// policyDue renews the acknowledgement policy if the path has changed, and
// reports whether it has to be announced.
func (s *sender) policyDue(k *packet) bool {
	if s.policyStale {
		s.policyStale = false
		s.policyUnsent = s.policy.renew(s) || s.policyUnsent
	}
	if !s.policyUnsent {
		return false
	}
	s.policyUnsent = false
	k.announces, k.policy = true, s.policy
	return true
}

// transmit records a packet and hands it to the link.
func (s *sender) transmit(now time.Duration, k *packet, what sentPacket) {
	p, number := s.log.add()
	s.inFlight += int64(k.size)
	p.probe, p.quiet, p.policy = what.probe, what.quiet, what.policy
	p.size, p.sentAt, p.stamp = k.size, now, s.sampler.Stamp(s.inFlight)
	p.frames = append(p.frames, k.frames...)
	s.lastSentAt = now
	s.pacer.spend(now, int64(k.size))
	s.stats.sent += int64(k.size)
	s.stats.packets++
	s.ctl.OnPacketSent(now, cc.Packet{
		Number: number, Bytes: int64(k.size), InFlight: s.inFlight, AckEliciting: true,
	})
	k.number = number
	if t := s.sim.tracer; t != nil {
		t.PacketSent(now, s.conn.id, number, int64(k.size), s.inFlight)
	}
	s.conn.down(now, k, s.sim.codepoint(s.control.ECN))
}

// applyControl puts the controller's outputs into force after inputs.
func (s *sender) applyControl(now time.Duration) {
	s.control = s.ctl.Control()
	s.pacer.set(s.control, s.mtu, s.rtt.smoothed)
	s.policyStale = true
	if t := s.sim.tracer; t != nil {
		s.events = s.ctl.Events(s.events[:0])
		for _, e := range s.events {
			t.Event(s.conn.id, e)
		}
		t.Metrics(now, s.conn.id, s.metrics())
	}
}

func (s *sender) metrics() Metrics {
	return Metrics{
		Latest: s.rtt.latest, Smoothed: s.rtt.smoothed, Variance: s.rtt.variance, Min: s.rtt.min,
		InFlight: s.inFlight, Window: s.control.Window, PacingRate: s.control.PacingRate,
		Rate: s.rate, Delivered: s.sampler.Delivered(), State: s.ctl.State(),
		Queue: s.sim.down.QueueDelay(s.sim.now), Controller: s.ctl,
	}
}

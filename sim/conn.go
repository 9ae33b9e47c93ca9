package sim

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/sim/link"
	"github.com/moq-c4/moq-c4/sim/scenario"
)

// conn is one connection, both ends.
type conn struct {
	sim       *Sim
	id        int
	flow      *scenario.Flow
	ccName    string
	sender    sender
	receiver  receiver
	startedAt time.Duration
	started   bool
	finished  bool
	endedAt   time.Duration

	// extra delay outside the bottleneck, nil: none
	upLine, downLine *link.Link[*packet]
}

// up sends a packet from the client.
func (c *conn) up(now time.Duration, k *packet) { c.sim.up.Submit(now, k.size, cc.NotECT, k) }

// down sends a packet from the server.
func (c *conn) down(now time.Duration, k *packet, ecn cc.Codepoint) {
	c.sim.down.Submit(now, k.size, ecn, k)
}

// atServer takes a packet that has arrived at the server.
func (c *conn) atServer(now time.Duration, k *packet) {
	if c.finished {
		return
	}
	s := &c.sender
	switch k.kind {
	case kindInitial:
		if s.flightTries == 0 {
			s.sendFlight(now)
		}
		return
	case kindHandshakeAck:
		s.onHandshakeAck(now, k.number)
	case kindRequest:
		s.onHandshakeEnd(now, k)
		s.peer.received(now, k.size-sizeHandshakeEnd, false, s.rtt.smoothed)
	case kindClientProbe:
		s.peer.received(now, k.size, false, s.rtt.smoothed)
	case kindAck:
		if s.closed {
			return
		}
		for _, q := range k.requests {
			s.onRequest(now, q)
		}
		s.connLimit = max(s.connLimit, k.connLimit)
		if k.streamLimit > 0 && len(s.streams) > 0 {
			s.streams[0].limit = max(s.streams[0].limit, k.streamLimit)
		}
		if len(k.ranges) > 0 {
			s.onAck(now, k)
		}
		s.peer.received(now, k.size, k.quiet, s.rtt.smoothed)
		if k.announces {
			s.peer.delay = ackDelayFor(s.rtt.min)
		}
	case kindClose:
		s.closed = true
		c.down(now, c.sim.pool.get(c, kindCloseReply, sizeClose), cc.NotECT)
	}
	s.setWake(now)
}

// atClient takes a packet that has arrived at the client.
func (c *conn) atClient(now time.Duration, k *packet, ecn cc.Codepoint) {
	if c.finished {
		return
	}
	r := &c.receiver
	switch k.kind {
	case kindFlightA:
		r.onFlightA(now, k.number)
	case kindFlightB:
		r.onFlightB(now, k.number)
	case kindData:
		if !r.ready {
			r.early = append(r.early, k.number) // no keys yet
			return
		}
		r.onData(now, k, ecn)
	case kindCloseReply:
		c.finish(now)
		return
	}
	r.setWake(now)
}

// finish ends the connection; the run ends with the main one.
func (c *conn) finish(now time.Duration) {
	if c.finished {
		return
	}
	c.finished = true
	c.endedAt = now
	c.receiver.setWake(never)
	c.sender.closed = true
	c.sender.setWake(never)
	if c.id == 0 {
		c.sim.done = true
	}
}

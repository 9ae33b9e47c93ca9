package sim

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// The event loop. There are few sources of events and each has one next time,
// so that the earliest is found by looking at all; that is faster than a heap
// of them. Sources that are due at the same time go in the order of loop: all
// packets that arrive at one instant are taken in before anything is sent.

// loop runs until the main connection ends, or until the time limit.
func (s *Sim) loop(limit time.Duration) {
	for !s.done {
		up, down := s.up.Next(), s.down.Next()
		server, serverAt := s.earliestServer()
		client, clientAt := s.earliestClient()
		t := min(s.changeAt, up, down, serverAt, clientAt, s.startAt)
		if s.lines || len(s.cross) > 0 {
			t = min(t, s.nextLine(), s.nextCross())
		}
		if t > limit {
			s.now = limit
			return
		}
		s.now = max(s.now, t)
		s.events++
		now := s.now
		switch {
		case s.changeAt <= now:
			s.changeLink()
		case up <= now:
			s.arriveUp()
		case down <= now:
			s.arriveDown()
		case s.lines && s.arriveLines():
		case len(s.cross) > 0 && s.sendCross():
		case serverAt <= now:
			server.sender.prepare(now)
		case clientAt <= now:
			client.receiver.prepare(now)
		default:
			s.startDue()
		}
	}
}

// earliestServer returns the connection whose server wakes first; of equal ones
// that which was put to sleep first.
func (s *Sim) earliestServer() (c *conn, at time.Duration) {
	at = never
	for _, o := range s.conns {
		w := &o.sender
		if w.wake < at || w.wake == at && c != nil && w.order < c.sender.order {
			c, at = o, w.wake
		}
	}
	return c, at
}

func (s *Sim) earliestClient() (c *conn, at time.Duration) {
	at = never
	for _, o := range s.conns {
		w := &o.receiver
		if w.wake < at || w.wake == at && c != nil && w.order < c.receiver.order {
			c, at = o, w.wake
		}
	}
	return c, at
}

func (s *Sim) changeLink() {
	s.phase = (s.phase + 1) % len(s.scenario.Phases)
	p := &s.scenario.Phases[s.phase]
	s.up.Change(s.now, p.Up)
	s.down.Change(s.now, p.Down)
	s.changeAt = never
	if p.For > 0 {
		s.changeAt = s.now + p.For
	}
}

func (s *Sim) arriveUp() {
	for {
		k, _, ok := s.up.Pop(s.now)
		if !ok {
			return
		}
		switch {
		case k.kind == kindCross:
			s.pool.put(k)
		case k.conn.upLine != nil:
			k.conn.upLine.Submit(s.now, k.size, cc.NotECT, k)
		default:
			k.conn.atServer(s.now, k)
			s.pool.put(k)
		}
	}
}

func (s *Sim) arriveDown() {
	for {
		k, ecn, ok := s.down.Pop(s.now)
		if !ok {
			return
		}
		switch {
		case k.kind == kindCross:
			s.pool.put(k)
		case k.conn.downLine != nil:
			k.conn.downLine.Submit(s.now, k.size, ecn, k)
		default:
			k.conn.atClient(s.now, k, ecn)
			s.pool.put(k)
		}
	}
}

func (s *Sim) nextLine() time.Duration {
	t := never
	for _, c := range s.conns {
		if c.upLine != nil {
			t = min(t, c.upLine.Next(), c.downLine.Next())
		}
	}
	return t
}

// arriveLines delivers what has crossed the extra delay of its connection.
func (s *Sim) arriveLines() bool {
	any := false
	for _, c := range s.conns {
		if c.upLine == nil {
			continue
		}
		for {
			k, _, ok := c.upLine.Pop(s.now)
			if !ok {
				break
			}
			any = true
			c.atServer(s.now, k)
			s.pool.put(k)
		}
		for {
			k, ecn, ok := c.downLine.Pop(s.now)
			if !ok {
				break
			}
			any = true
			c.atClient(s.now, k, ecn)
			s.pool.put(k)
		}
	}
	return any
}

func (s *Sim) nextCross() time.Duration {
	t := never
	for i := range s.cross {
		t = min(t, s.cross[i].at)
	}
	return t
}

// sendCross sends the cross traffic that is due.
func (s *Sim) sendCross() bool {
	any := false
	for i := range s.cross {
		for x := &s.cross[i]; x.at <= s.now; x.at += x.interval {
			any = true
			l := &s.down
			if x.Up {
				l = &s.up
			}
			for range max(1, x.Burst) {
				k := s.pool.get(nil, kindCross, int32(x.Size))
				l.Submit(s.now, k.size, cc.NotECT, k)
			}
		}
	}
	return any
}

func (s *Sim) startDue() {
	for _, c := range s.conns {
		if !c.started && c.flow.Start <= s.now {
			c.started = true
			c.startedAt = s.now
			c.receiver.start(s.now)
		}
	}
	s.findStart()
}

package moqt

import (
	"errors"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/priority"
)

// datagramQueue holds outgoing datagrams until the transport takes them. A
// goroutine of its own hands them over, begun with the first one: transports block when
// their queue is full, and what waits there can no longer be dropped.
//
// "... implementations SHOULD either minimize datagram queueing, or use datagram queueing mechanisms that support time
// bounds ..."
// [MOQT-18] Section 8, Delivery Timeouts and Data Reliability
type datagramQueue struct {
	s    *Session
	wake chan struct{} // has room for one

	mu      sync.Mutex // guards what follows; no other lock but Session.mu is taken with it held
	queue   *priority.Queue[*outDatagram]
	waiting map[*Publication]int // datagrams in the queue or on their way to the transport
	gone    signal               // waiting has shrunk
	started bool

	// What the transport said last about what is too large.
	tooLarge   int // 0: nothing
	tooLargeAt time.Time
}

// outDatagram is a datagram that waits.
type outDatagram struct {
	p     *Publication
	b     []byte
	acked func(time.Time) // or nil
}

// tooLargeFor is how long a size that was too large is believed to be so. The size of packets may grow.
const tooLargeFor = 2 * time.Second

var datagramPool = sync.Pool{New: func() any { return &outDatagram{b: make([]byte, 0, joinLimit)} }}

func (q *datagramQueue) init(s *Session) {
	q.s = s
	q.wake = make(chan struct{}, 1)
	q.waiting = make(map[*Publication]int)
}

// SendDatagram sends an object as datagram. It never blocks: the datagram waits in the session's queue, from which it may
// be dropped. It fails with a [*DatagramTooLargeError] if the datagram cannot fit, as far as that is known, and with
// [ErrNotForwarding] in Forward State 0.
func (p *Publication) SendDatagram(d Datagram) error {
	p.mu.Lock()
	state := p.state
	closing := p.closing
	p.mu.Unlock()
	switch {
	case closing:
		return p.h.cause()
	case !state.Forward:
		return ErrNotForwarding
	}
	m := wire.Datagram{
		TrackAlias: p.alias,
		GroupID:    d.Group,
		ObjectID:   d.Object,
		EndOfGroup: d.EndOfGroup,
		Properties: d.Properties,
		Status:     d.Status,
		Payload:    d.Payload,
	}
	publisher := p.props.Priority()
	if d.HasPriority {
		publisher = d.Priority
		m.Priority = wire.Some(d.Priority)
	}
	out := datagramPool.Get().(*outDatagram)
	p.s.logDatagram("created", &m)
	b, err := m.Append(out.b[:0], p.s.version)
	if err != nil {
		datagramPool.Put(out)
		return err
	}
	out.b, out.p, out.acked = b, p, d.OnAcked
	// "For objects with Object Forwarding Preference set to Datagram, the SUBGROUP_DELIVERY_TIMEOUT acts the same way as
	// OBJECT_DELIVERY_TIMEOUT; if both are non-zero, the smaller of the two is used."
	// [MOQT-18] Section 8, Delivery Timeouts and Data Reliability
	wait := p.s.cfg.DatagramExpiry
	for _, t := range [...]time.Duration{state.ObjectTimeout, state.SubgroupTimeout} {
		if t > 0 {
			wait = min(wait, t)
		}
	}
	return p.s.datagrams.push(out, p.key(&state, publisher, d.Group, d.Object), wait)
}

// push adds a datagram.
func (q *datagramQueue) push(out *outDatagram, k priority.Key, wait time.Duration) error {
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.tooLarge > 0 && len(out.b) >= q.tooLarge && now.Sub(q.tooLargeAt) < tooLargeFor {
		limit := q.tooLarge - 1
		datagramPool.Put(out)
		q.s.stats.datagramsTooLarge.Add(1)
		return &DatagramTooLargeError{Max: limit}
	}
	if !q.started {
		if !q.s.spawn(q.run) {
			datagramPool.Put(out)
			return q.s.endCause()
		}
		q.started = true
		q.queue = priority.NewQueue[*outDatagram](q.s.cfg.DatagramQueue)
	}
	q.waiting[out.p]++
	if old, full := q.queue.Push(out, k, now.Add(wait)); full {
		q.s.stats.datagramsOverflow.Add(1)
		q.release(old)
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return nil
}

// release takes a datagram off the books. q.mu is held.
func (q *datagramQueue) release(out *outDatagram) {
	if q.waiting[out.p]--; q.waiting[out.p] == 0 {
		delete(q.waiting, out.p)
		q.gone.fire()
	}
	out.p, out.acked = nil, nil
	datagramPool.Put(out)
}

// next takes the datagram to send now.
func (q *datagramQueue) next() *outDatagram {
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		old, ok := q.queue.Expire(now)
		if !ok {
			break
		}
		q.s.stats.datagramsExpired.Add(1)
		q.release(old)
	}
	out, _ := q.queue.Pop()
	return out
}

// length is how many datagrams wait.
func (q *datagramQueue) length() uint64 {
	if q.s.ctx.Err() != nil {
		return 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queue == nil {
		return 0
	}
	return uint64(q.queue.Len())
}

// run hands datagrams to the transport.
func (q *datagramQueue) run() {
	for {
		out := q.next()
		if out == nil {
			select {
			case <-q.wake:
				continue
			case <-q.s.ctx.Done():
				return
			}
		}
		err := q.send(out)
		q.sent(out, err)
		if err != nil && q.s.ctx.Err() != nil {
			return
		}
	}
}

// sent notes what became of a datagram.
func (q *datagramQueue) sent(out *outDatagram, err error) {
	var large *DatagramTooLargeError
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case err == nil:
		q.s.stats.datagramsSent.Add(1)
	case errors.As(err, &large):
		// "When the total size is larger than the maximum datagram size for the session, the Object will be dropped
		// without any explicit notification."
		// [MOQT-18] Section 11.3, Datagrams
		q.s.stats.datagramsTooLarge.Add(1)
		q.tooLarge, q.tooLargeAt = len(out.b), time.Now()
		if large.Max > 0 {
			q.tooLarge = min(q.tooLarge, large.Max+1)
		}
	}
	q.release(out)
}

// drop takes the datagrams of a publication out of the queue.
func (q *datagramQueue) drop(p *Publication) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queue == nil || q.waiting[p] == 0 {
		return
	}
	for {
		out, ok := q.queue.Remove(p.alias)
		if !ok {
			return
		}
		q.s.stats.datagramsCancelled.Add(1)
		q.release(out)
	}
}

// flush waits until no datagram of a publication is in the queue any more. Nothing may be added meanwhile.
func (q *datagramQueue) flush(p *Publication) {
	for {
		q.mu.Lock()
		none := q.waiting[p] == 0
		gone := q.gone.wait()
		q.mu.Unlock()
		if none {
			return
		}
		t := time.NewTimer(q.s.cfg.DatagramExpiry)
		select {
		case <-gone:
		case <-t.C:
			// The transport does not take any; those left are too old now.
			q.drop(p)
			return
		case <-p.h.ctx.Done():
			t.Stop()
			return
		}
		t.Stop()
	}
}

// receiveDatagrams takes the peer's datagrams.
func (s *Session) receiveDatagrams() {
	for {
		b, err := s.conn.ReceiveDatagram(s.ctx)
		if err != nil {
			return // the connection's context tells
		}
		s.stats.datagramsReceived.Add(1)
		if err := s.takeDatagram(b); err != nil {
			s.failWire(err)
			return
		}
	}
}

// takeDatagram looks at one datagram, which it may keep.
func (s *Session) takeDatagram(b []byte) error {
	typ, n, err := wire.ConsumeDatagramType(b, s.version)
	if err != nil {
		return err
	}
	if typ == wire.DatagramTypePadding {
		return wire.CheckPadding(b[n:])
	}
	d, err := wire.ParseDatagram(b, s.version)
	switch {
	case errors.Is(err, wire.ErrTooLarge):
		s.stats.datagramsOversized.Add(1)
		return nil
	case err != nil:
		return err
	}
	s.logDatagram("parsed", &d)
	s.placeDatagram(&d)
	return nil
}

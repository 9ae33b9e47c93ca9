package emu

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/sim/link"
)

// Never is the time of what is not going to happen.
const Never = link.Never

// DefaultMaxBytes bounds what a path holds for each direction.
const DefaultMaxBytes = 64 << 20

// Direction is a way through a path.
type Direction uint8

// Directions.
const (
	Up   Direction = iota // from the clients
	Down                  // to the clients
)

func (d Direction) String() string {
	if d == Up {
		return "up"
	}
	return "down"
}

// Path carries packets of type P over a link in both directions. Use NewPath.
//
// Times count from the start of the link's timeline and never go back. Hand in
// packets with Submit, ask Next when there is something to do, and call Pop until
// it has nothing more. The caller may be late: the link works with the times at
// which things had to happen.
type Path[P any] struct {
	link     Link
	maxBytes int64
	now      time.Duration
	phase    int
	changeAt time.Duration
	lanes    [2]lane[P]
	out      queue[Arrival[P]]
	rand     link.Rand
	drop     func(P)
}

// Arrival is a packet that has come through.
type Arrival[P any] struct {
	Direction Direction
	At        time.Duration // when it was due
	ECN       cc.Codepoint
	Packet    P
}

type lane[P any] struct {
	*link.Link[held[P]]
	bytes int64 // in the link and in out
	stats Counters
}

type held[P any] struct {
	p    P
	size int32
	at   time.Duration // submitted
}

// Seeds of the links' generators, as the simulator has them.
const linkSeed = 0xDEADBEEFBABAC001

// NewPath returns an idle path. Equal seeds and calls give equal results. drop
// is called with each packet that is discarded, from within Submit, Next or Pop; it may
// be nil. maxBytes bounds what is held in each direction, in queue and in flight; 0 means
// DefaultMaxBytes.
func NewPath[P any](l Link, seed uint64, maxBytes int64, drop func(P)) (*Path[P], error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	if drop == nil {
		drop = func(P) {}
	}
	if maxBytes <= 0 {
		maxBytes = DefaultMaxBytes
	}
	r := link.NewRand(seed)
	p := &Path[P]{link: l, maxBytes: maxBytes, changeAt: Never, rand: link.NewRand(r.Uint64()), drop: drop}
	if d := l.Phases[0].For; d > 0 {
		p.changeAt = d
	}
	first := [2]link.Params{l.Phases[0].Up, l.Phases[0].Down}
	for d := range p.lanes {
		a := &p.lanes[d]
		a.Link = link.New(first[d], linkSeed^r.Uint64(), func(h held[P]) {
			a.bytes -= int64(h.size)
			a.stats.DroppedQueue++
			p.drop(h.p)
		})
		if l.DualQ {
			a.UseDualQ(link.DualQConfig{L4SMax: l.L4SMax})
		}
	}
	return p, nil
}

// Submit hands in a packet of size bytes.
func (p *Path[P]) Submit(now time.Duration, d Direction, size int, ecn cc.Codepoint, v P) {
	p.advance(now)
	a := &p.lanes[d]
	a.stats.Packets++
	a.stats.Bytes += int64(size)
	a.stats.Largest = max(a.stats.Largest, int64(size))
	switch {
	case p.link.Loss > 0 && float64(p.rand.Uint64()>>11) < p.link.Loss*(1<<53):
		a.stats.DroppedRandom++
		p.drop(v)
	case a.bytes+int64(size) > p.maxBytes:
		a.stats.DroppedFull++
		p.drop(v)
	default:
		a.bytes += int64(size)
		a.Link.Submit(p.now, int32(size), ecn, held[P]{v, int32(size), p.now})
	}
}

// Next returns when Pop may have a packet, or when the link changes.
func (p *Path[P]) Next() time.Duration {
	if p.out.n() > 0 {
		return p.now
	}
	return p.nextEvent()
}

// Pop returns the next packet that has arrived by now, of both directions in
// the order of arrival.
func (p *Path[P]) Pop(now time.Duration) (Arrival[P], bool) {
	p.advance(now)
	if p.out.n() == 0 {
		return Arrival[P]{}, false
	}
	return p.out.pop(), true
}

// Restart lets the timeline of the link begin at a time that is not after the end of
// its present state, which has to be the first.
func (p *Path[P]) Restart(now, at time.Duration) {
	p.advance(now)
	if d := p.link.Phases[0].For; d > 0 && p.phase == 0 {
		p.changeAt = max(p.now, at+d)
	}
}

// Phase returns the index of the state that the link is in.
func (p *Path[P]) Phase() int { return p.phase }

// Stats returns what has happened since NewPath.
func (p *Path[P]) Stats() (up, down Counters) {
	counters := func(a *lane[P]) Counters {
		c := a.stats
		c.Marked = int64(a.Link.Stats().Marked)
		return c
	}
	return counters(&p.lanes[Up]), counters(&p.lanes[Down])
}

func (p *Path[P]) nextEvent() time.Duration {
	return min(p.lanes[Up].Next(), p.lanes[Down].Next(), p.changeAt)
}

// advance does all that had to happen by now, event by event, so that a caller
// who is late does not make the link slower.
func (p *Path[P]) advance(now time.Duration) {
	for {
		at := p.nextEvent()
		if at > now {
			break
		}
		p.now = max(p.now, at)
		if p.changeAt <= p.now { // as in the simulator, before what arrives at the same time
			p.change()
			continue
		}
		p.take(Up)
		p.take(Down)
	}
	p.now = max(p.now, now)
}

func (p *Path[P]) change() {
	p.phase = (p.phase + 1) % len(p.link.Phases)
	ph := &p.link.Phases[p.phase]
	p.lanes[Up].Change(p.now, ph.Up)
	p.lanes[Down].Change(p.now, ph.Down)
	if p.changeAt = Never; ph.For > 0 {
		p.changeAt = p.now + ph.For
	}
}

func (p *Path[P]) take(d Direction) {
	a := &p.lanes[d]
	for {
		h, ecn, ok := a.Link.Pop(p.now)
		if !ok {
			return
		}
		a.bytes -= int64(h.size)
		a.stats.delivered(h.size, p.now-h.at-a.Params().Delay)
		p.out.push(Arrival[P]{d, p.now, ecn, h.p})
	}
}

package link

import (
	"math"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// Never is the time of an event that is not going to happen.
const Never = time.Duration(math.MaxInt64)

// Params are the properties of a link for some period.
type Params struct {
	// Rate is the speed in bits of UDP payload per second. 0 suspends the
	// link: packets are accepted, and wait.
	Rate float64

	// Delay is the one-way latency without queue, transmission and jitter.
	Delay time.Duration

	// Queue is the longest queueing delay; a packet that would wait longer is
	// dropped. 0 means no bound. With the AQM it bounds the bytes queued
	// instead, to what the link carries in Queue - Delay.
	Queue time.Duration

	// Jitter is the average of the Wi-Fi jitter; 0 means none.
	Jitter time.Duration
}

// Link carries packets of type P. Use New.
type Link[P any] struct {
	params  Params
	perByte int64         // ps per byte, in units of 2^-20/1e6 so that txTime can shift
	busy    time.Duration // end of the last transmission

	flying ring[item[P]] // transmitted or suspended, in order of delivery
	again  []item[P]     // scratch of Change
	aqm    *dualQ[P]     // nil: drop-tail

	rand Rand
	drop func(P) // not nil

	stats Stats
}

// Stats count since New.
type Stats struct {
	Packets int // accepted for transmission
	Bytes   int64
	Drops   int
	Marked  int // set to CE by the AQM
}

type item[P any] struct {
	at   time.Duration // delivery; with the AQM first the arrival in its queue
	size int32
	ecn  cc.Codepoint
	p    P
}

// New returns an idle link. drop is called with each packet that the link
// discards, from within Submit, Pop or Change; it may be nil.
func New[P any](p Params, seed uint64, drop func(P)) *Link[P] {
	l := &Link[P]{}
	l.Reset(p, seed, drop)
	return l
}

// Reset makes l like a new link, but keeps its memory.
func (l *Link[P]) Reset(p Params, seed uint64, drop func(P)) {
	if drop == nil {
		drop = func(P) {}
	}
	l.flying.truncate(0)
	l.aqm = nil
	l.busy = 0
	l.stats = Stats{}
	l.rand = NewRand(seed)
	l.drop = drop
	l.set(p)
}

// UseDualQ puts the DualQ coupled AQM in front of the link, in place of the
// drop-tail queue. Call it before the first Submit.
func (l *Link[P]) UseDualQ(c DualQConfig) {
	limit := int64(dualQDefaultLimit)
	if wait := l.params.Queue - l.params.Delay; wait > 0 && l.perByte > 0 {
		limit = int64(wait/time.Microsecond) * 1_000_000 / l.perByte
	}
	l.aqm = newDualQ[P](c, limit)
}

// Params returns what is in force.
func (l *Link[P]) Params() Params { return l.params }

// Stats returns the counters.
func (l *Link[P]) Stats() Stats { return l.stats }

// QueueDelay returns how long a packet submitted now would wait.
func (l *Link[P]) QueueDelay(now time.Duration) time.Duration { return max(0, l.busy-now) }

// TxTime returns how long a packet of size bytes is on the wire, in whole
// microseconds, at least one.
func (l *Link[P]) TxTime(size int32) time.Duration {
	us := (l.perByte * int64(size)) >> 20
	return time.Duration(max(1, us)) * time.Microsecond
}

// Next returns when Pop may have a packet. The time may have passed already.
func (l *Link[P]) Next() time.Duration {
	t := Never
	if l.flying.n > 0 {
		t = l.flying.at(0).at
	}
	if l.aqm != nil && l.params.Rate > 0 && l.aqm.pending() {
		t = min(t, l.busy)
	}
	return t
}

// Submit hands in a packet of size bytes at now. If the queue is full it is
// dropped.
func (l *Link[P]) Submit(now time.Duration, size int32, ecn cc.Codepoint, p P) {
	l.submit(now, item[P]{size: size, ecn: ecn, p: p})
}

func (l *Link[P]) submit(now time.Duration, it item[P]) {
	switch {
	case l.params.Rate == 0:
		it.at = Never
		l.flying.push(it)
	case l.aqm != nil:
		it.at = now
		if !l.aqm.enqueue(it) {
			l.discard(it)
		}
		l.admit(now)
	case l.params.Queue > 0 && l.busy-now >= l.params.Queue:
		l.discard(it)
	default:
		l.transmit(now, it)
	}
}

// Pop returns the next packet that has arrived by now, and its ECN field.
func (l *Link[P]) Pop(now time.Duration) (p P, ecn cc.Codepoint, ok bool) {
	if l.aqm != nil {
		l.admit(now)
	}
	if l.flying.n == 0 || l.flying.at(0).at > now {
		return p, 0, false
	}
	it := l.flying.pop()
	return it.p, it.ecn, true
}

// Change puts new parameters into force at now. What is already past the queue
// arrives as foreseen, the rest is queued again on the changed link, where it
// may find the queue full.
func (l *Link[P]) Change(now time.Duration, p Params) {
	horizon := now + l.params.Delay
	keep := 0
	for keep < l.flying.n && l.flying.at(keep).at <= horizon {
		keep++
	}
	l.again = l.again[:0]
	for i := keep; i < l.flying.n; i++ {
		l.again = append(l.again, *l.flying.at(i))
	}
	l.flying.truncate(keep)
	l.set(p)
	l.busy = now
	for _, it := range l.again {
		l.submit(now, it)
	}
	clear(l.again)
}

func (l *Link[P]) set(p Params) {
	l.params = p
	if p.Rate > 0 {
		// bytes take 8000/Gbps ps; 1.024^2 turns the division by 1e6 into a shift
		perByte := 8000.0 / (p.Rate / 1e9)
		perByte *= 1.024 * 1.024
		l.perByte = int64(perByte)
	}
}

func (l *Link[P]) transmit(now time.Duration, it item[P]) {
	l.busy = max(l.busy, now) + l.TxTime(it.size)
	it.at = l.busy + l.params.Delay
	if l.params.Jitter > 0 {
		it.at += wifiJitter(&l.rand, l.params.Jitter)
	}
	// Packets stay in order. The ring is not sorted by time: the head is
	// delivered at its own time, and what is behind it and due goes with it.
	l.flying.push(it)
	l.stats.Packets++
	l.stats.Bytes += int64(it.size)
}

func (l *Link[P]) discard(it item[P]) {
	l.stats.Drops++
	l.drop(it.p)
}

// admit moves packets from the AQM to the wire while the wire is free.
func (l *Link[P]) admit(now time.Duration) {
	for l.params.Rate > 0 && l.busy <= now {
		it, verdict, ok := l.aqm.dequeue(now)
		if !ok {
			break
		}
		switch verdict {
		case dropIt:
			l.discard(it)
			continue
		case markIt:
			it.ecn = cc.CE
			l.stats.Marked++
		}
		l.transmit(now, it)
	}
	l.aqm.update(now)
}

package ccinject

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// sentPacket is what is remembered of a packet.
type sentPacket struct {
	number    int64
	sentAt    time.Duration
	bytes     int64
	open      bool // neither acknowledged nor lost nor given up
	givenUp   bool // reported as cc.LossPTO
	handshake bool
	probe     bool // of the path's MTU; its loss says nothing on congestion
	stamp     cc.Stamp
}

func (p *sentPacket) acked() cc.Acked {
	return cc.Acked{Number: p.number, Bytes: max(0, p.bytes-cc.TagBytes), SentAt: p.sentAt}
}

// maxSpan bounds the distance between the oldest open packet and the newest. quic-go
// itself stops at 25,000 tracked packets.
const maxSpan = 1 << 16

// sentLog holds packets in a ring by number, those that are settled as long as their
// place is not needed. The zero value is ready.
type sentLog struct {
	ring    []sentPacket // the length is a power of two
	started bool
	low     int64 // lowest open number, or next
	next    int64 // above all numbers sent
	open    int64 // bytes of the open packets
}

func (l *sentLog) slot(n int64) *sentPacket { return &l.ring[n&int64(len(l.ring)-1)] }

// find returns the packet, nil if it is not known (any more).
func (l *sentLog) find(n int64) *sentPacket {
	if len(l.ring) == 0 || n < 0 || n >= l.next {
		return nil
	}
	if p := l.slot(n); p.number == n && p.bytes > 0 {
		return p
	}
	return nil
}

// add opens a packet. Numbers in between were skipped, or carried nothing that is
// acknowledged. It reports false for a number that is not above all before.
func (l *sentLog) add(p sentPacket) bool {
	if !l.started {
		l.started = true
		l.low, l.next = p.number, p.number
	}
	if p.number < l.next {
		return false
	}
	for l.low < l.next && p.number-l.low >= maxSpan {
		l.settle(l.slot(l.low))
	}
	if l.low == l.next {
		l.low = p.number
	}
	for p.number-l.low >= int64(len(l.ring)) {
		l.grow()
	}
	p.open = true
	l.open += p.bytes
	*l.slot(p.number) = p
	l.next = p.number + 1
	return true
}

// settle closes a packet.
func (l *sentLog) settle(p *sentPacket) {
	if !p.open {
		return
	}
	p.open = false
	l.open -= p.bytes
	l.trim()
}

// trim moves low to the lowest open packet.
func (l *sentLog) trim() {
	for l.low < l.next {
		if p := l.slot(l.low); p.open && p.number == l.low {
			return
		}
		l.low++
	}
}

func (l *sentLog) grow() {
	ring := make([]sentPacket, max(64, 2*len(l.ring)))
	for n := l.low; n < l.next; n++ {
		if p := l.slot(n); p.number == n {
			ring[n&int64(len(ring)-1)] = *p
		}
	}
	l.ring = ring
}

package sim

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

type sentState uint8

const (
	outstanding sentState = iota
	settled               // acknowledged, lost, or a number that was skipped
)

// sentPacket is what the sender remembers of a packet.
type sentPacket struct {
	state  sentState
	probe  bool // MTU probe
	quiet  bool // only an acknowledgement
	policy bool // has an ACK_FREQUENCY frame
	size   int32
	sentAt time.Duration
	stamp  cc.Stamp
	frames []frame
}

// repeats reports whether the packet has something that is sent again if it is
// lost.
func (p *sentPacket) repeats() bool {
	for i := range p.frames {
		if p.frames[i].stream != streamDatagram {
			return true
		}
	}
	return p.policy
}

// sentLog holds packets by number, from the lowest that is still outstanding.
type sentLog struct {
	buf  []sentPacket // length is a power of two
	low  int64        // lowest number that is not settled, or next
	next int64        // number of the next packet
}

func (l *sentLog) reset() { l.low, l.next = 0, 0 }

// at returns the packet with a number in [low, next).
func (l *sentLog) at(n int64) *sentPacket { return &l.buf[n&int64(len(l.buf)-1)] }

// add makes room for the next number. The slot keeps its frames' memory.
func (l *sentLog) add() (*sentPacket, int64) {
	if l.next-l.low >= int64(len(l.buf)) {
		l.grow()
	}
	p := l.at(l.next)
	*p = sentPacket{frames: p.frames[:0]}
	l.next++
	return p, l.next - 1
}

// skip leaves a number unused.
func (l *sentLog) skip() {
	p, _ := l.add()
	p.state = settled
	l.settle()
}

// settle moves low past what is settled.
func (l *sentLog) settle() {
	for l.low < l.next && l.at(l.low).state == settled {
		l.low++
	}
}

func (l *sentLog) grow() {
	buf := make([]sentPacket, max(64, 2*len(l.buf)))
	for n := l.low; n < l.next; n++ {
		buf[n&int64(len(buf)-1)] = *l.at(n)
	}
	l.buf = buf
}

package sim

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/sim/link"
)

// never is the time of what is not going to happen.
const never = link.Never

// Sizes on the wire, bytes of UDP payload, as the reference transport has them.
const (
	mtuInitial = 1252 // before path MTU discovery
	mtuMax     = 1440 // the size of the probe, and after it is acknowledged

	sizeInitial      = 1252 // client: Initial
	sizeFlightA      = 1252 // server: Initial and Handshake
	sizeFlightB      = 511  // server: Handshake and 1-RTT packet 0
	sizePacket0      = 222  // of it the 1-RTT packet
	sizeHandshakeAck = 53
	sizeRequest      = 715 // client: end of the handshake and the request
	sizeMediaRequest = 357
	sizeHandshakeEnd = 92 // of them the Handshake packet
	sizeAck          = 55
	sizeLaterRequest = 75
	sizeClose        = 60

	sizeLeast        = 55 // of a packet, by padding
	datagramOverhead = 3
	ackOverhead      = 8 // of an ACK frame in a packet with data
	policyOverhead   = 7 // of an ACK_FREQUENCY frame
	finOverhead      = 4
)

type packetKind uint8

const (
	kindInitial packetKind = iota
	kindFlightA
	kindFlightB
	kindHandshakeAck
	kindRequest
	kindClientProbe
	kindData
	kindAck
	kindClose
	kindCloseReply
	kindCross
)

// Stream numbers that are no streams.
const (
	streamDatagram int32 = -1 - iota // offset holds the frame's index
	streamAudioEnd                   // end of a datagram source
)

// frame is a STREAM or DATAGRAM frame.
type frame struct {
	stream int32
	length int32
	offset int64
	source int16 // of datagrams
	fin    bool
}

// packet is a datagram on the wire. It belongs to the pool.
type packet struct {
	conn   *conn
	kind   packetKind
	size   int32
	number int64
	frames []frame

	// what the sender asks of the receiver, if announces (ACK_FREQUENCY)
	policy    ackPolicy
	announces bool

	quiet bool // does not ask for an acknowledgement

	// acknowledgement
	ranges   []numberRange // ascending, of the server's packets; empty: none
	peerAck  int64         // highest number of the client's packets, -1: none
	ackDelay time.Duration
	ecn      ecnCounts

	connLimit   int64 // flow control, 0: not in this packet
	streamLimit int64
	requests    []request
}

// numberRange is from first to last packet number, inclusive.
type numberRange struct{ first, last int64 }

type ecnCounts struct{ ect0, ect1, ce int64 }

func (e *ecnCounts) add(c cc.Codepoint) {
	switch c {
	case cc.ECT0:
		e.ect0++
	case cc.ECT1:
		e.ect1++
	case cc.CE:
		e.ce++
	}
}

// request asks the server for a group of a source, or cancels it.
type request struct {
	source int16
	group  int32
	cancel bool
}

// packetOverhead returns the size of header and tag of the server's 1-RTT packets.
func packetOverhead(number int64) int32 {
	const header, tag = 9, 16
	switch {
	case number < 16:
		return header + 1 + tag
	case number < 1024:
		return header + 2 + tag
	}
	return header + 3 + tag
}

// streamOverhead returns the size of a STREAM frame without its data. The length
// field is left out if the frame fills the packet.
func streamOverhead(stream int32, offset int64, length bool) int32 {
	n := int32(2) // type, stream
	if stream > 15 {
		n++ // stream numbers are four times ours
	}
	switch {
	case offset == 0:
	case offset < 1<<6:
		n++
	case offset < 1<<14:
		n += 2
	case offset < 1<<30:
		n += 4
	default:
		n += 8
	}
	if length {
		n += 2
	}
	return n
}

// pool recycles packets.
type pool struct{ free []*packet }

func (p *pool) get(c *conn, kind packetKind, size int32) *packet {
	var k *packet
	if n := len(p.free); n > 0 {
		k = p.free[n-1]
		p.free = p.free[:n-1]
	} else {
		k = new(packet)
	}
	*k = packet{
		conn: c, kind: kind, size: size, peerAck: -1,
		frames: k.frames[:0], ranges: k.ranges[:0], requests: k.requests[:0],
	}
	return k
}

func (p *pool) put(k *packet) { p.free = append(p.free, k) }

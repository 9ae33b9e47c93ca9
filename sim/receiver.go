package sim

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// receiver is the client's side of a connection: it acknowledges, gives flow
// control credit, asks for media and measures its latency.
type receiver struct {
	sim  *Sim
	conn *conn

	// acknowledgement
	ranges    []numberRange // received numbers, ascending
	received  int           // QUIC packets of all kinds
	wire      int64         // bytes of 1-RTT packets
	highest   int64         // highest number, -1: none
	highestAt time.Duration
	ackedTo   int64 // highest number covered by the last acknowledgement
	waiting   bool  // something is not acknowledged yet
	waitSince time.Duration
	immediate bool
	policy    ackPolicy
	ecn       ecnCounts
	announced bool // the client's own policy

	// flow control
	connLimit, connGot int64
	newLimits          bool
	newStreamLimit     int64

	streams []*recvStream
	open    int // streams that are not complete, groups not asked for included
	media   mediaClient

	rtt        rttEstimator
	number     int64             // of the next packet
	sentAt     [64]time.Duration // of the latest packets, by number
	readyAt    time.Duration     // when the client completed the handshake
	ready      bool
	done       bool // everything has arrived
	closeTries uint

	helloTries uint
	flightAcks bool  // the server's first datagram has to be acknowledged
	flightCopy int64 // which copy of it
	haveA      bool
	haveB      bool // before the first
	numberB    int64
	early      []int64       // 1-RTT packets that came before the keys
	timer      time.Duration // handshake and close repetitions

	requests      []request // not yet sent
	unanswered    []askedRequest
	firstRequests []request // for the repetition of the first packet

	wake  time.Duration
	order uint64
}

// askedRequest is a request that nothing has come back for.
type askedRequest struct {
	request
	at time.Duration
}

const (
	maxAckRanges = 32

	// requestTimeout is when a request is repeated.
	requestTimeout = time.Second
)

func (r *receiver) reset(c *conn) {
	*r = receiver{
		sim: c.sim, conn: c,
		ranges: r.ranges[:0], streams: r.streams[:0], requests: r.requests[:0],
		early: r.early[:0], unanswered: r.unanswered[:0], firstRequests: r.firstRequests[:0],
		media:   r.media,
		highest: -1, policy: ackPolicy{gap: ackGapEarly, delay: ackDelayMin},
		connLimit: connLimitInitial,
		wake:      never, timer: never,
	}
	if r.sim.quicGo {
		// a gap in the numbers is a distance of two
		r.policy = ackPolicy{gap: ackGapEarly, delay: ackDelayQUICGo}
	}
	r.media.reset(c.flow.Sources)
}

func (r *receiver) setWake(t time.Duration) {
	r.wake = t
	r.order = r.sim.nextOrder()
}

// onData takes a packet of application data.
func (r *receiver) onData(now time.Duration, k *packet, ecn cc.Codepoint) {
	if r.done {
		return
	}
	if k.announces && !r.sim.quicGo {
		r.policy = k.policy
	}
	if ecn == cc.CE && r.sim.quicGo {
		r.immediate = true
	}
	if !r.announced && len(k.frames) > 0 {
		r.announced = true
		// the client announces its own policy as soon as it knows the path
		own := r.sim.pool.get(r.conn, kindAck, sizeAck)
		own.announces = true
		r.submit(now, own)
	}
	if n := k.peerAck; n >= 0 && n > r.number-int64(len(r.sentAt)) {
		r.rtt.add(r.rtt.adjust(now-r.sentAt[n%int64(len(r.sentAt))], k.ackDelay))
	}
	r.received++
	r.wire += int64(k.size)
	r.ecn.add(ecn)
	r.note(k.number)
	r.highestAt = now
	if !k.quiet && !r.waiting {
		r.waiting, r.waitSince = true, now
	}
	for i := range k.frames {
		r.onFrame(now, &k.frames[i])
	}
}

// note adds a number to the ranges. The link keeps packets in order, so it is
// above all the others.
func (r *receiver) note(n int64) {
	r.highest = n
	if i := len(r.ranges) - 1; i >= 0 && r.ranges[i].last == n-1 {
		r.ranges[i].last = n
		return
	}
	if len(r.ranges) == 2*maxAckRanges {
		r.ranges = append(r.ranges[:0], r.ranges[maxAckRanges:]...)
	}
	r.ranges = append(r.ranges, numberRange{n, n})
}

// prepare sends what is due and sets the next wake time.
func (r *receiver) prepare(now time.Duration) {
	if r.flightAcks {
		r.ackFlight(now)
	}
	if !r.ready || r.done {
		r.prepareHandshake(now)
		return
	}
	r.media.askDue(r, now)
	r.askAgain(now)
	if r.open == 0 {
		r.sendClose(now)
		return
	}
	if due := r.ackDue(now); due || r.newLimits || len(r.requests) > 0 {
		r.send(now, due)
	}
	wake := r.media.nextGroup
	if r.waiting {
		wake = min(wake, r.waitSince+r.policy.delay)
	}
	for _, q := range r.unanswered {
		wake = min(wake, q.at+requestTimeout)
	}
	r.setWake(wake)
}

// askAgain repeats requests that nothing has come back for.
func (r *receiver) askAgain(now time.Duration) {
	for i := range r.unanswered {
		if q := &r.unanswered[i]; now >= q.at+requestTimeout {
			q.at = now
			r.requests = append(r.requests, q.request)
		}
	}
}

// answered notes that something has come back for a request.
func (r *receiver) answered(source int16, group int32) {
	for i, q := range r.unanswered {
		if q.source == source && q.group == group {
			r.unanswered = append(r.unanswered[:i], r.unanswered[i+1:]...)
			return
		}
	}
}

// ackDue decides by the distance in packet numbers: lost and skipped numbers
// count. A gap in the numbers alone is no reason to hurry.
func (r *receiver) ackDue(now time.Duration) bool {
	if !r.waiting {
		return false
	}
	gap := r.policy.gap
	if r.received < ackGapPackets {
		gap = ackGapEarly
	}
	return r.immediate || r.highest >= r.ackedTo+gap || now >= r.waitSince+r.policy.delay
}

// send sends a packet with what there is to say, and an acknowledgement if it is
// due.
func (r *receiver) send(now time.Duration, ack bool) {
	k := r.sim.pool.get(r.conn, kindAck, sizeAck)
	k.quiet = !r.newLimits && len(r.requests) == 0
	if ack {
		first := max(0, len(r.ranges)-maxAckRanges)
		k.ranges = append(k.ranges, r.ranges[first:]...)
		k.ackDelay = (now - r.highestAt) / ackDelayUnit * ackDelayUnit
		k.ecn = r.ecn
		r.ackedTo = r.highest
		r.waiting, r.immediate = false, false
	}
	// limits are in each packet, lest a lost one blocks the sender for ever
	k.connLimit, k.streamLimit = r.connLimit, r.newStreamLimit
	r.newLimits = false
	if len(r.requests) > 0 {
		k.size = sizeLaterRequest
		k.requests = append(k.requests, r.requests...)
		r.requests = r.requests[:0]
	}
	r.submit(now, k)
}

// submit sends a 1-RTT packet.
func (r *receiver) submit(now time.Duration, k *packet) {
	r.sentAt[r.number%int64(len(r.sentAt))] = now
	r.number++
	r.conn.up(now, k)
}

// ackDelayUnit is the resolution of the delay field: an exponent of 3.
const ackDelayUnit = 8 * time.Microsecond

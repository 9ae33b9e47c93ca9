package link

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// DualQConfig configures the AQM. The zero value means the defaults.
type DualQConfig struct {
	// L4SMax is the sojourn time in the low-latency queue above which each
	// packet is marked. 0 means 1.2 ms.
	L4SMax time.Duration

	// ReferenceFault imitates a fault of the simulator that made the drafts'
	// tables: the classic drop probability is p'*p'_L instead of p'^2, and the
	// coupled probability does not mark the low-latency queue.
	ReferenceFault bool
}

// Constants of the AQM. RFC 9332 Appendix A.1, and Section 2.4 for the
// relations between them.
const (
	dualQTarget   = 15 * time.Millisecond
	dualQRTTMax   = 100 * time.Millisecond
	dualQUpdate   = min(dualQRTTMax/3, dualQTarget)
	dualQCoupling = 2.0
	dualQMaxDrop  = 1 / (dualQCoupling * dualQCoupling) // above it ECN is no protection in the classic queue
	dualQMinMark  = 800 * time.Microsecond
	dualQTurns    = 16 // the classic queue is first in one of so many turns

	dualQDefaultLimit = 31_250 // bytes, if the queue bound is not above the delay
)

// dualQ is the coupled AQM: a low-latency queue for packets marked ECT(1) or
// CE, marked early and served first, and a classic queue under PI2 control.
// RFC 9332
type dualQ[P any] struct {
	minMark, maxMark time.Duration
	fault            bool
	limit            int64 // bytes in both queues

	low, classic lane[P]
	bytes        int64
	turn         int

	updateAt  time.Duration
	prevDelay time.Duration
	base      float64 // p'
	native    float64 // p'_L
	coupled   float64 // p_CL
	drop      float64 // p_C
}

type lane[P any] struct {
	ring[item[P]]
	credit float64 // probability not yet spent, so that marks come evenly
}

type verdict uint8

const (
	passIt verdict = iota
	markIt
	dropIt
)

func newDualQ[P any](c DualQConfig, limit int64) *dualQ[P] {
	q := &dualQ[P]{
		minMark: dualQMinMark,
		maxMark: c.L4SMax,
		fault:   c.ReferenceFault,
		limit:   limit,
	}
	if q.maxMark == 0 {
		q.maxMark = 1200 * time.Microsecond
	} else if q.maxMark <= 1200*time.Microsecond {
		q.minMark = q.maxMark / 3
	}
	return q
}

func (q *dualQ[P]) pending() bool { return q.low.n+q.classic.n > 0 }

// enqueue reports false if the queue is full; it.at is the arrival.
func (q *dualQ[P]) enqueue(it item[P]) bool {
	if q.bytes+int64(it.size) > q.limit {
		return false
	}
	q.bytes += int64(it.size)
	if it.ecn == cc.ECT1 || it.ecn == cc.CE {
		q.low.push(it)
	} else {
		q.classic.push(it)
	}
	return true
}

// dequeue takes the next packet and says what becomes of it.
func (q *dualQ[P]) dequeue(now time.Duration) (it item[P], v verdict, ok bool) {
	if !q.pending() {
		return it, passIt, false
	}
	fromLow := q.turn != 0
	q.turn = (q.turn + 1) % dualQTurns
	if fromLow && q.low.n == 0 {
		fromLow = false
	} else if !fromLow && q.classic.n == 0 {
		fromLow = true
	}
	if fromLow {
		it = q.low.pop()
		v = q.judgeLow(now)
	} else {
		it = q.classic.pop()
		v = q.judgeClassic(it.ecn)
	}
	q.bytes -= int64(it.size)
	return it, v, true
}

// judgeLow marks by the queue's own delay or by coupling, whichever is more.
// RFC 9332 Section 2.4, Normative Requirements for a DualQ Coupled AQM
func (q *dualQ[P]) judgeLow(now time.Duration) verdict {
	if q.coupled < 1 {
		q.native = q.ramp(now)
		p := max(q.native, q.coupled)
		if q.fault {
			p = q.native
		}
		if q.low.recurs(p) {
			return markIt
		}
		return passIt
	}
	// overload: drop as the classic queue does, mark the rest
	if q.low.recurs(q.drop) {
		return dropIt
	}
	if q.low.recurs(q.coupled) {
		return markIt
	}
	return passIt
}

func (q *dualQ[P]) judgeClassic(ecn cc.Codepoint) verdict {
	switch {
	case !q.classic.recurs(q.drop):
		return passIt
	case ecn == cc.NotECT || q.drop >= dualQMaxDrop:
		return dropIt
	}
	return markIt
}

// ramp is p'_L: it rises linearly with the sojourn time of the packet that is
// now first in the low-latency queue. A single waiting packet is no queue.
func (q *dualQ[P]) ramp(now time.Duration) float64 {
	if q.low.n <= 1 {
		return 0
	}
	wait := now - q.low.at(0).at
	switch {
	case wait >= q.maxMark:
		return 1
	case wait > q.minMark:
		return float64(wait-q.minMark) / float64(q.maxMark-q.minMark)
	}
	return 0
}

// update runs the PI2 controller if it is time.
// RFC 9332 Appendix A.1, Pass #1: Core Concepts
func (q *dualQ[P]) update(now time.Duration) {
	if now < q.updateAt {
		return
	}
	q.updateAt = now + dualQUpdate
	delay := max(q.low.wait(now), q.classic.wait(now))
	const (
		us    = float64(time.Microsecond)
		alpha = 0.1 * (float64(dualQUpdate) / us) / ((float64(dualQRTTMax) / us) * (float64(dualQRTTMax) / us))
		beta  = 0.3 / (float64(dualQRTTMax) / us)
	)
	// the conversions forbid fused multiply-add, which would differ by platform
	q.base += float64(alpha * (float64(delay-dualQTarget) / us))
	q.base += float64(beta * (float64(delay-q.prevDelay) / us))
	q.base = min(max(q.base, 0), 1)
	q.coupled = min(dualQCoupling*q.base, 1)
	q.drop = q.base * q.base
	if q.fault {
		q.drop = q.base * q.native
	}
	q.prevDelay = delay
}

func (l *lane[P]) wait(now time.Duration) time.Duration {
	if l.n == 0 {
		return 0
	}
	return now - l.at(0).at
}

// recurs is true in a fraction p of the calls, evenly spread.
func (l *lane[P]) recurs(p float64) bool {
	l.credit += p
	if l.credit <= 1 {
		return false
	}
	l.credit--
	return true
}

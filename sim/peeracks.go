package sim

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// peerAcks decides when the server acknowledges the client's packets. It hardly
// matters for what the client sends, but an acknowledgement without data takes a
// packet number, and is acknowledged with the packets around it.
type peerAcks struct {
	highest   int64 // number received
	highestAt time.Duration
	acked     int64 // highest number covered by an acknowledgement
	ackedAt   time.Duration
	waiting   bool // something that asks for an acknowledgement is not acknowledged
	waitSince time.Duration
	delay     time.Duration // as the client asks for it

	bytes     int64 // received
	rateBytes int64 // by rateSince
	rateSince time.Duration
	rateMax   cc.Rate // highest rate of receiving, over a round trip each
}

const (
	peerAckGap = 2

	// packets that ask for nothing are acknowledged too, after so many
	peerAckQuiet = 8
)

func newPeerAcks() peerAcks {
	return peerAcks{highest: -1, acked: -peerAckGap, delay: ackDelayMin} // the first packet is acknowledged at once
}

// received notes a 1-RTT packet of the client.
func (a *peerAcks) received(now time.Duration, size int32, quiet bool, smoothed time.Duration) {
	a.bytes += int64(size)
	if d := now - a.rateSince; a.rateBytes == 0 {
		a.rateBytes, a.rateSince = a.bytes, now
	} else if d > smoothed && d > time.Millisecond {
		a.rateMax = max(a.rateMax, cc.RateOf(a.bytes-a.rateBytes, d))
		a.rateBytes, a.rateSince = a.bytes, now
	}
	a.highest++
	a.highestAt = now
	if !quiet && !a.waiting {
		a.waiting, a.waitSince = true, now
	}
}

func (a *peerAcks) due(now time.Duration) bool {
	if a.waiting {
		return a.highest >= a.acked+peerAckGap || now >= a.waitSince+a.delay
	}
	return a.highest >= a.acked+peerAckQuiet && now >= a.ackedAt+a.delay
}

// wake returns when an acknowledgement will be due.
func (a *peerAcks) wake() time.Duration {
	if a.waiting {
		return a.waitSince + a.delay
	}
	return never
}

// put adds the acknowledgement to a packet.
func (a *peerAcks) put(now time.Duration, k *packet) {
	k.peerAck = a.highest
	k.ackDelay = (now - a.highestAt) / ackDelayUnit * ackDelayUnit
	a.acked, a.ackedAt, a.waiting = a.highest, now, false
}

// ackDelayFor returns the acknowledgement delay that suits a path.
func ackDelayFor(minRTT time.Duration) time.Duration {
	return max(min(whole(minRTT/4), ackDelayMax), ackDelayMin)
}

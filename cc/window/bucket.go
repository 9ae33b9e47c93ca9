package window

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// bucket follows the transport's pacer: a leaky bucket, here of time, as deep as
// the quantum. A window that is full while the bucket is empty is not what holds
// the sender back. [Sender] knows no better way to tell the two apart.
type bucket struct {
	level  time.Duration // below 0: the last packet was sent on credit
	full   time.Duration
	packet time.Duration // of one packet
	mtu    int64
	at     time.Duration // of level
}

func (b *bucket) set(c cc.Control, mtu int64, smoothed time.Duration) {
	b.mtu = mtu
	if c.PacingRate <= 0 {
		b.packet, b.full = 0, smoothed
		return
	}
	b.packet = min(c.PacingRate.TimeFor(mtu), smoothed)
	b.full = c.PacingRate.TimeFor(c.Quantum)
	b.level = min(b.level, b.full)
}

func (b *bucket) fill(now time.Duration) {
	b.level = max(b.level, -b.packet)
	if now > b.at {
		b.level = min(b.level+now-b.at, b.full)
		b.at = now
	}
}

// spend pays for a packet of n bytes.
func (b *bucket) spend(now time.Duration, n int64) {
	b.fill(now)
	if b.mtu > 0 {
		b.level -= time.Duration(int64(b.packet) * n / b.mtu)
	}
}

// ready reports whether another packet may leave.
func (b *bucket) ready(now time.Duration) bool {
	b.fill(now)
	return b.level >= b.packet
}

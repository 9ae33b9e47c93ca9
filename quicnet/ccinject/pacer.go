package ccinject

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

const (
	// catchUp is how much of the time slept too long is made up for. Timers are
	// late by up to some milliseconds; what is lost of them is lost rate, which a
	// controller that looks for growth would take for the limit of the path.
	catchUp = 10 * time.Millisecond

	// wakeBurst is the time for which packets leave at once after waiting. It
	// delays a packet by half of it on average.
	wakeBurst = time.Millisecond
)

// pacer is a leaky bucket that holds time. A packet may go if the bucket holds
// the time of a full packet; what it costs depends on its size.
type pacer struct {
	bucket  time.Duration
	full    time.Duration // most that an idle sender saves up
	packet  time.Duration // time of a packet of mtu bytes
	mtu     int64
	at      time.Duration // when the bucket was last filled
	blocked bool          // the last packet that was asked for had to wait
}

// set puts a controller's wishes into force. Before there is a rate, packets go
// out as they come.
func (p *pacer) set(c cc.Control, mtu int64, smoothed time.Duration) {
	p.mtu = mtu
	if c.PacingRate <= 0 {
		p.packet, p.full, p.bucket = 0, 0, 0
		return
	}
	p.packet = max(1, min(c.PacingRate.TimeFor(mtu), smoothed))
	p.full = 16 * p.packet
	if c.Quantum > 0 {
		p.full = max(p.packet, time.Duration(float64(p.packet)*float64(c.Quantum)/float64(mtu)))
	}
}

// fill adds the time passed. Credit that was given before is not taken back.
func (p *pacer) fill(now time.Duration) {
	p.bucket = max(p.bucket, -p.packet)
	if now <= p.at {
		return
	}
	limit := p.full
	if p.blocked {
		limit = max(limit, catchUp)
	}
	p.bucket = max(p.bucket, min(p.bucket+now-p.at, limit))
	p.at = now
}

// need is what the bucket has to hold. Who waits, waits for a burst.
func (p *pacer) need() time.Duration {
	if p.blocked {
		return max(p.packet, min(wakeBurst, p.full))
	}
	return p.packet
}

// ready reports whether a packet may go at now.
func (p *pacer) ready(now time.Duration) bool {
	if p.packet == 0 {
		p.at, p.blocked = max(p.at, now), false
		return true
	}
	p.fill(now)
	p.blocked = p.bucket < p.need()
	return !p.blocked
}

// wake says when ready will be true. It uses the same threshold, or the
// connection would spin.
func (p *pacer) wake() time.Duration { return p.at + max(0, p.need()-p.bucket) }

// spend pays for a packet of n bytes.
func (p *pacer) spend(now time.Duration, n int64) {
	if p.packet == 0 {
		return
	}
	p.fill(now)
	p.bucket -= time.Duration((int64(p.packet)*n + p.mtu - 1) / p.mtu)
}

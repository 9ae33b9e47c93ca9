package sim

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// pacer is a leaky bucket that holds time. A packet may go if the bucket holds
// the time of a full packet; what it costs depends on its size.
type pacer struct {
	bucket time.Duration
	full   time.Duration // most that the bucket holds
	packet time.Duration // time of a packet of mtu bytes
	at     time.Duration // when the bucket was last filled
	mtu    int64
}

// Before anything is known packets go out as fast as they come.
const pacerFree = 16 * time.Nanosecond

func (p *pacer) reset(now time.Duration) {
	*p = pacer{bucket: pacerFree, full: pacerFree, packet: 1, at: now, mtu: mtuInitial}
}

// set puts a controller's wishes into force.
func (p *pacer) set(c cc.Control, mtu int64, smoothed time.Duration) {
	p.mtu = mtu
	if c.PacingRate <= 0 {
		p.packet, p.full = 1, smoothed
	} else {
		p.packet = min(max(c.PacingRate.TimeFor(mtu), 1), smoothed)
		p.full = c.PacingRate.TimeFor(c.Quantum)
		if p.full <= 0 {
			p.full = 16 * p.packet
		}
	}
	p.bucket = min(p.bucket, p.full)
}

func (p *pacer) fill(now time.Duration) {
	p.bucket = max(p.bucket, -p.packet)
	if now > p.at {
		p.bucket = min(p.bucket+now-p.at, p.full)
		p.at = now
	}
}

// ready reports whether a packet may go at now, and else when to ask again.
func (p *pacer) ready(now time.Duration) (ok bool, again time.Duration) {
	p.fill(now)
	if p.bucket >= p.packet {
		return true, now
	}
	return false, now + time.Microsecond + whole(p.packet-p.bucket)
}

// spend pays for a packet of n bytes.
func (p *pacer) spend(now time.Duration, n int64) {
	p.fill(now)
	p.bucket -= time.Duration((int64(p.packet)*n + p.mtu - 1) / p.mtu)
}

package window

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// Sender follows the packets of a connection and says what limits the sender.
// The zero value is ready. Handshake packets are left out: their numbers mean
// nothing, and they never fill a window.
type Sender struct {
	next    int64         // number after the last packet sent
	ackedTo int64         // number after the largest packet acknowledged
	ackedAt time.Duration // when the newest acknowledged packet had been sent
	dryAt   time.Duration // when the sender last ran dry
	dry     bool          // it ever did

	bucket  bucket
	sent    bool          // a packet since the last ACK
	ackTime time.Duration // of the last ACK
	acks    bool          // there was one
	blocked bool
}

// OnControl notes the limits that are in force from now on.
func (s *Sender) OnControl(c cc.Control, mtu int64, smoothed time.Duration) {
	s.bucket.set(c, mtu, smoothed)
}

// OnPacketSent notes a packet sent.
func (s *Sender) OnPacketSent(now time.Duration, p cc.Packet) {
	s.bucket.spend(now, p.Bytes)
	if p.Handshake {
		return
	}
	s.next = p.Number + 1
	s.sent = true
}

// OnAppLimited notes that the sender ran dry.
func (s *Sender) OnAppLimited(now time.Duration) { s.dry, s.dryAt = true, now }

// OnAck notes an ACK; window is the one that was in force when it arrived.
func (s *Sender) OnAck(now time.Duration, a *cc.Ack, window int64) {
	// ACKs that arrive together find the sender as it was before the first of
	// them: nothing could be sent in between.
	if s.sent || !s.acks || now > s.ackTime {
		s.blocked = a.PriorInFlight >= window && s.bucket.ready(now)
	}
	s.sent, s.acks, s.ackTime = false, true, now
	if a.Handshake {
		return
	}
	s.ackedTo = max(s.ackedTo, a.Newest.Number+1)
	s.ackedAt = max(s.ackedAt, a.Newest.SentAt)
}

// Blocked reports whether the window, rather than pacing or the application,
// held the sender back before the last ACK.
//
// "When bytes in flight is smaller than the congestion window and sending is not
// pacing limited, the congestion window is underutilized."
// RFC 9002 Section 7.8, Underutilizing the Congestion Window
func (s *Sender) Blocked() bool { return s.blocked }

// AppLimited reports whether the packets now being acknowledged were sent
// before the sender last ran dry: they do not show what the path can carry.
func (s *Sender) AppLimited() bool { return s.dry && s.ackedAt <= s.dryAt }

// DryAt returns when the sender last ran dry, 0 if it never did.
func (s *Sender) DryAt() time.Duration { return s.dryAt }

// Next returns the number after that of the last packet sent.
func (s *Sender) Next() int64 { return s.next }

// AckedTo returns the number after the largest one acknowledged.
func (s *Sender) AckedTo() int64 { return s.ackedTo }

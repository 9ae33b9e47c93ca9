package cc

import "time"

// SampleIntervalMin is the shortest interval over which a rate is measured.
// Shorter ones say more about bursts than about the path.
// [C4] Monitoring the nominal rate
const SampleIntervalMin = time.Millisecond

// Stamp is the state of the Sampler that a transport stores with each packet it
// sends, and gives back when the packet is acknowledged or lost.
type Stamp struct {
	// Delivered, AckedAt and SentAt belong to the last sample taken before the
	// packet was sent: bytes delivered by then, when the ACK arrived, and when
	// the packet that it acknowledged had been sent. All zero before the first.
	Delivered int64
	AckedAt   time.Duration
	SentAt    time.Duration

	// Total and Lost are all bytes delivered and lost when the packet was sent.
	Total int64
	Lost  int64

	// InFlight is the bytes in flight when the packet was sent, itself included.
	InFlight int64

	// AppLimited is set if the sender had run dry and not all data sent until
	// then was delivered yet.
	AppLimited bool
}

// Sample is the delivery rate as an ACK shows it.
type Sample struct {
	// Rate is the latest sample: bytes delivered since the stamp of the newest
	// packet, over the longer of the intervals in which they were sent and
	// acknowledged. If Fresh is false this ACK gave none, and the value is that
	// of an earlier ACK.
	Rate  Rate
	Fresh bool

	// Interval is the divisor of Rate, if Fresh.
	Interval time.Duration

	// Peak is the highest rate over a short interval (from one ACK to the next,
	// at least SampleIntervalMin) seen so far.
	Peak Rate

	// Delivered is all bytes delivered so far, this ACK included.
	// DeliveredSince is the part of it since Stamp.Delivered.
	Delivered      int64
	DeliveredSince int64

	// LostSince is the bytes lost since the newest packet was sent, without the
	// losses that this ACK reveals (Ack.LostBytes).
	LostSince int64

	// Stamp is the newest packet's.
	Stamp Stamp
}

// Sampler measures delivery rates for a transport. The zero value is ready.
//
// The state stamped on packets is that of the last sample taken, and is renewed
// only when a sample is taken. Packets of the first flight carry a zero stamp:
// their rate is measured from the epoch, which makes it cautiously low.
type Sampler struct {
	delivered int64
	lost      int64

	// reference for rate samples
	started    bool
	lastBytes  int64
	lastAcked  time.Duration
	lastSent   time.Duration
	rate       Rate
	limitUntil int64 // app limited until this much is delivered

	// reference for the peak
	peakStarted bool
	peakBytes   int64
	peakAcked   time.Duration
	peakSent    time.Duration
	peak        Rate
}

// Stamp returns what to store with a packet that is being sent; inFlight
// includes it.
func (s *Sampler) Stamp(inFlight int64) Stamp {
	return Stamp{
		Delivered:  s.lastBytes,
		AckedAt:    s.lastAcked,
		SentAt:     s.lastSent,
		Total:      s.delivered,
		Lost:       s.lost,
		InFlight:   inFlight,
		AppLimited: s.delivered < s.limitUntil,
	}
}

// OnAppLimited notes that the sender ran dry with inFlight bytes outstanding.
func (s *Sampler) OnAppLimited(inFlight int64) {
	s.limitUntil = max(s.limitUntil, s.delivered+max(inFlight, 1))
}

// OnLoss notes n bytes declared lost.
func (s *Sampler) OnLoss(n int64) { s.lost += n }

// Delivered returns all bytes delivered so far.
func (s *Sampler) Delivered() int64 { return s.delivered }

// OnHandshakeAck counts n bytes of handshake packets, the newest of which was
// sent at sentAt. The first such ACK is the first reference for rate samples. The
// one with which the handshake is complete (done) renews it, unless both came at
// the same instant.
func (s *Sampler) OnHandshakeAck(now, sentAt time.Duration, n int64, done bool) {
	s.delivered += n
	s.takePeak(now, sentAt)
	if !s.started || done && now > s.lastAcked {
		s.setReference(now, sentAt)
	}
}

// OnAck counts n newly acknowledged bytes and takes a sample. newest is the
// acknowledged packet with the highest number, stamp its stamp.
func (s *Sampler) OnAck(now time.Duration, n int64, newest Acked, stamp Stamp) Sample {
	s.delivered += n
	r := Sample{
		Delivered:      s.delivered,
		DeliveredSince: s.delivered - stamp.Delivered,
		LostSince:      s.lost - stamp.Lost,
		Stamp:          stamp,
	}
	if interval := now - stamp.AckedAt; interval > SampleIntervalMin && newest.SentAt >= s.lastSent {
		r.Fresh = true
		r.Interval = max(interval, newest.SentAt-stamp.SentAt)
		s.rate = RateOf(r.DeliveredSince, r.Interval)
		s.setReference(now, newest.SentAt)
	}
	s.takePeak(now, newest.SentAt)
	r.Rate, r.Peak = s.rate, s.peak
	return r
}

func (s *Sampler) setReference(now, sentAt time.Duration) {
	s.started = true
	s.lastBytes, s.lastAcked, s.lastSent = s.delivered, now, sentAt
}

// takePeak measures from one ACK to the next. Leaving out the send interval
// would overestimate by a multiple on paths that release packets in bursts.
func (s *Sampler) takePeak(now, sentAt time.Duration) {
	if s.peakStarted {
		if now-s.peakAcked <= SampleIntervalMin || sentAt < s.peakSent {
			return
		}
		interval := max(now-s.peakAcked, sentAt-s.peakSent)
		s.peak = max(s.peak, RateOf(s.delivered-s.peakBytes, interval))
	}
	s.peakStarted = true
	s.peakBytes, s.peakAcked, s.peakSent = s.delivered, now, sentAt
}

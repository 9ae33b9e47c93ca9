package ccinject

import "time"

const (
	// dryGrace is how long packets have to be allowed and not to come until the sender is taken
	// to have run dry. A writer that was blocked needs a moment to go on.
	dryGrace = time.Millisecond

	// dryGraceBlind is the same if it may be the socket that takes no more packets.
	dryGraceBlind = 8 * time.Millisecond

	// dryStride is after how many packets of a burst the clock is read. quic-go's time stands still
	// meanwhile; to read the clock for each packet costs 2 % of the processor time of a transfer.
	dryStride = 16
)

// dryness finds out when the application has nothing to send. quic-go does not tell: it
// asks whether a packet may be sent, and then sends one or not. It also sends none when the queue
// to the socket is full, or when packets have arrived, which it looks at first. With ECN the
// cases can be told apart, because quic-go asks for the mark of a packet before it looks for something
// to put into it. In a batch (GSO) it asks once more after each packet, to see whether the next
// one fits into the same batch.
type dryness struct {
	allowed bool          // a packet was allowed and has not come yet
	since   time.Duration // by the clock
	at      time.Duration // by the time that quic-go gave
	told    bool

	follows bool // the question came right after a packet
	marks   int  // questions for a mark since then
}

// loop is what is known of the present round of quic-go's loop, in which its time stands still.
type loop struct {
	at      time.Duration
	packets int           // questions for packets
	clock   time.Duration // when it was last read
	sent    bool          // the last call was that a packet was sent
	refused bool          // the last answer, right after a packet, was that none may follow
}

// asked notes that quic-go asked for a packet.
func (s *sender) asked(now time.Duration, allowed bool) {
	l, d := &s.loop, &s.dry
	follows := l.sent
	l.sent, l.refused = false, follows && !allowed
	if now != l.at {
		l.at, l.packets, l.clock = now, 0, now
	} else if l.packets++; l.packets%dryStride == 0 {
		l.clock = s.clock()
	}
	switch {
	case !allowed:
		s.checkDry()
		s.leave()
	case d.allowed && (d.told || s.empty()):
		s.checkDry()
	default: // or it had not looked for something to send
		*d = dryness{allowed: true, since: max(now, l.clock), at: now, follows: follows}
	}
}

// askedMark notes that quic-go asked for a mark.
func (s *sender) askedMark() {
	s.dry.marks++
	if s.loop.refused { // no packet will come, so that it was for a batch
		s.batches = true
	}
}

// empty reports whether quic-go has looked for something to send.
func (s *sender) empty() bool {
	switch {
	case s.ecn == nil: // it does not tell
		return true
	case s.dry.follows && s.batches:
		return s.dry.marks >= 2
	}
	return s.dry.marks >= 1
}

// checkDry tells the controller if the sender has been dry for long enough. The clock
// decides: the time that quic-go passes stands still during a burst.
//
// No packet was sent since, so that it does not matter that the controller learns a
// later time than that at which the sender ran dry.
func (s *sender) checkDry() {
	d := &s.dry
	if !d.allowed || d.told {
		return
	}
	grace := dryGrace
	if !s.empty() { // or a batch was just full
		grace = dryGraceBlind
	}
	if s.clock()-d.since <= grace {
		return
	}
	d.told = true
	s.dryAt = d.at
	s.vitals.setLimited(true, s.epoch.Add(d.since))
	s.sampler.OnAppLimited(s.log.open)
	s.ctl.OnAppLimited(s.advance(d.at))
}

// leaveDry is called before a packet is noted as sent at now. Mostly it is the one just asked for.
func (s *sender) leaveDry(now time.Duration) {
	if now != s.dry.at {
		s.checkDry()
	}
	s.leave()
	s.loop.sent = true
}

func (s *sender) leave() {
	if s.dry.told {
		s.vitals.setLimited(false, time.Now())
	}
	s.dry = dryness{}
}

package ccinject

import "time"

// dryGrace is how long packets have to be allowed and not to come until the sender is taken
// to have run dry. A writer that was blocked needs a moment to go on.
const dryGrace = time.Millisecond

// dryness finds out when the application has nothing to send. quic-go does not tell: it
// asks whether a packet may be sent, and then sends one or not.
type dryness struct {
	allowed bool          // a packet was allowed and has not come yet
	since   time.Duration // by the clock
	at      time.Duration // by the time that quic-go gave
	told    bool
}

// asked notes that quic-go asked for a packet.
func (s *sender) asked(now time.Duration, allowed bool) {
	s.checkDry()
	switch {
	case !allowed:
		s.leave()
	case !s.dry.allowed:
		s.dry = dryness{allowed: true, since: s.clock(), at: now}
	}
}

// checkDry tells the controller if the sender has been dry for long enough. The clock
// decides: the time that quic-go passes stands still during a burst.
//
// No packet was sent since, so that it does not matter that the controller learns a
// later time than that at which the sender ran dry.
func (s *sender) checkDry() {
	d := &s.dry
	if !d.allowed || d.told || s.clock()-d.since <= dryGrace {
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
}

func (s *sender) leave() {
	if s.dry.told {
		s.vitals.setLimited(false, time.Now())
	}
	s.dry = dryness{}
}

package ccinject

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// resume begins a path, with what is remembered of it.
func (s *sender) resume() {
	if s.in.cfg.Memory == nil || s.remote == nil || s.estimate == nil {
		s.vitals.start(s.epoch, nil, false)
		return
	}
	to := s.remote()
	seed, ok := s.in.cfg.Memory.take(to, s.epoch)
	s.vitals.start(s.epoch, to, ok)
	if ok {
		// The peer's address need not be checked: nothing is made of the seed before the first
		// sample of the round trip.
		s.ctl.OnSeed(0, seed)
	}
}

// remember is called when the path or the connection has ended, on any goroutine.
func (s *sender) remember() {
	m := s.in.cfg.Memory
	if m == nil {
		return
	}
	v := &s.vitals
	v.mu.Lock()
	rate, longest, to, ok := v.rate, v.maxRTT, v.remote, v.settled
	v.mu.Unlock()
	if to == nil || !ok {
		return
	}
	m.put(to, cc.Seed{Window: rate.Over(longest), RTT: time.Duration(s.rtt.minRTT.Load())}, time.Now())
}

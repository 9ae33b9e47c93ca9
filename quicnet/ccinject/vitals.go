package ccinject

import (
	"net"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// estimator is implemented by controllers that estimate the path as C4 does.
type estimator interface {
	NominalRate() cc.Rate
	NominalMaxRTT() time.Duration
}

// vitals are what a Monitor knows of one connection. The goroutine of the connection
// writes them once for each ACK, a Monitor reads them.
type vitals struct {
	mu      sync.Mutex
	totals  Totals
	state   State
	since   time.Time // when the state was entered
	limited bool
	idle    time.Time // since when it is limited
	begin   time.Time
	rate    cc.Rate
	maxRTT  time.Duration

	remote  net.Addr // of the present path; nil: not known
	settled bool     // the controller has an estimate that it stands by
}

// until returns the counters with the time that is still running.
func (v *vitals) until(now time.Time) Totals {
	t := v.totals
	t.InState[v.state] += max(0, now.Sub(v.since))
	t.Lifetime = max(0, now.Sub(v.begin))
	if v.limited {
		t.Limited += max(0, now.Sub(v.idle))
	}
	return t
}

// setLimited notes that there is nothing to send, or is again.
func (v *vitals) setLimited(limited bool, at time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if limited == v.limited {
		return
	}
	v.limited = limited
	if limited {
		v.idle = at
	} else {
		v.totals.Limited += max(0, at.Sub(v.idle))
	}
}

// start notes that a path begins.
func (v *vitals) start(at time.Time, to net.Addr, seeded bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.enter(StateInitial, at, false)
	v.rate, v.maxRTT, v.remote, v.settled = 0, 0, to, false
	if seeded {
		v.totals.SeedsOffered++
	}
}

// moved counts a change of path.
func (v *vitals) moved() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.totals.Reinstalled++
}

// enter notes a change of state. The caller holds v.mu.
func (v *vitals) enter(s State, at time.Time, inBurst bool) {
	if v.since.IsZero() {
		v.begin = at
	} else {
		v.totals.InState[v.state] += max(0, at.Sub(v.since))
	}
	v.state, v.since = s, at
	v.totals.Entered[s]++
	if inBurst {
		v.totals.EnteredInBurst[s]++
	}
}

// tally is what has happened since the last report. It belongs to the connection's goroutine.
type tally struct {
	bytesSent, bytesAcked                  int64
	acked, lost, givenUp, spurious, probes int64
	marked                                 int64

	state  string     // at the last report
	marks  int64      // latest count of CE
	events []cc.Event // reused
}

// report tells the Monitor what has happened. It comes once for each ACK or loss, not for each packet.
func (s *sender) report() {
	t := &s.tally
	t.events = s.ctl.Events(t.events[:0])
	if len(t.events) > 0 {
		s.trace.record(s.ctl, t.events)
	}
	state := s.ctl.State()
	rate, rtt := s.control.PacingRate, time.Duration(s.rtt.smoothedRTT.Load())
	if s.estimate != nil {
		rate, rtt = s.estimate.NominalRate(), s.estimate.NominalMaxRTT()
	}

	v := &s.vitals
	v.mu.Lock()
	defer v.mu.Unlock()
	v.rate, v.maxRTT = rate, rtt
	v.totals.BytesSent += uint64(t.bytesSent)
	v.totals.BytesAcked += uint64(t.bytesAcked)
	v.totals.PacketsAcked += uint64(t.acked)
	v.totals.PacketsLost += uint64(t.lost)
	v.totals.PacketsGivenUp += uint64(t.givenUp)
	v.totals.PacketsSpurious += uint64(t.spurious)
	v.totals.PacketsMarked += uint64(t.marked)
	v.totals.ProbeTimeouts += uint64(t.probes)
	*t = tally{state: t.state, marks: t.marks, events: t.events}
	for i := range t.events {
		switch e := &t.events[i]; e.Kind {
		case cc.EventState:
			to := stateOf(e.To)
			v.enter(to, s.epoch.Add(e.At), s.inBurst())
			switch {
			case to == StateResuming:
				v.totals.SeedsUsed++
			case to == StateCruising:
				v.settled = true // initial has ended, and its queue is drained
			}
		case cc.EventCongestion:
			v.totals.Congestion[causeOf(e.Cause)]++
		}
	}
	if state != t.state { // also of controllers without events
		t.state = state
		v.state = stateOf(state)
	}
}

// inBurst reports whether there is data to send and has been for a round trip: what was
// acknowledged last was sent after the sender had last run dry.
func (s *sender) inBurst() bool { return !s.dry.allowed && s.newestSent > s.dryAt }

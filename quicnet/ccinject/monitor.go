package ccinject

import (
	"slices"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// State is a state of C4, in numbers for tables. States of other controllers are StateOther.
type State uint8

// States. [C4-SPEC] Section 4, States and Transition
const (
	StateInitial State = iota
	StateRecovery
	StateCruising
	StateProbing
	StatePushing
	StateResuming
	StateOther
	NumStates
)

var stateNames = [NumStates]string{"initial", "recovery", "cruising", "probing", "pushing", "resuming", "other"}

// String returns the name in the drafts, which serves as a label.
func (s State) String() string {
	if s < NumStates {
		return stateNames[s]
	}
	return stateNames[StateOther]
}

func stateOf(name string) State {
	for s, n := range stateNames {
		if n == name {
			return State(s)
		}
	}
	return StateOther
}

// Cause is why congestion was noticed.
type Cause uint8

// Causes.
const (
	CauseDelay Cause = iota // round trips became too long
	CauseLoss               // too many packets were lost
	CauseECN                // too many packets were marked
	CauseOther
	NumCauses
)

var causeNames = [NumCauses]string{"delay", "loss", "ecn", "other"}

// String returns a name that serves as a label.
func (c Cause) String() string {
	if c < NumCauses {
		return causeNames[c]
	}
	return causeNames[CauseOther]
}

func causeOf(c cc.Cause) Cause {
	switch c {
	case cc.CauseDelay:
		return CauseDelay
	case cc.CauseLoss:
		return CauseLoss
	case cc.CauseECN:
		return CauseECN
	}
	return CauseOther
}

// Totals are counters: they only grow.
type Totals struct {
	// Connections that got a controller, that kept quic-go's because its layout is not the
	// known one, and paths that got another one because the peer had moved.
	Installed, Refused, Reinstalled uint64

	// Entered counts changes of state by the state entered, InState adds up the time in each.
	Entered [NumStates]uint64
	InState [NumStates]time.Duration

	// EnteredInBurst is the part of Entered for which there was data to send, and had been for
	// a round trip. Of StateProbing and StatePushing it is the share of coordinated
	// pushes: those that begin inside a burst, such as an I-frame, and can find something out.
	// [C4-DESIGN] Coordinated Pushing
	EnteredInBurst [NumStates]uint64

	// Congestion counts congestion signals that the controllers accepted, by cause.
	Congestion [NumCauses]uint64

	// Limited is the time for which connections had leave to send and nothing to send (or no
	// flow control credit), Lifetime that since they got their controller.
	Limited, Lifetime time.Duration

	// Bytes of UDP payload sent, and acknowledged without authentication tags.
	BytesSent, BytesAcked uint64

	// Packets that were acknowledged; that were found lost by later ones or by time; that a probe
	// timeout gave up; and that arrived though they had been found lost or were given up.
	PacketsAcked, PacketsLost, PacketsGivenUp, PacketsSpurious uint64

	// ProbeTimeouts counts them. RFC 9002 Section 6.2
	ProbeTimeouts uint64

	// PacketsMarked counts CE marks, if the path passed the validation.
	PacketsMarked uint64

	// Careful resume: connections to a destination that was remembered, and those of them
	// whose round trip agreed with the memory, so that it was used. RFC 9959
	SeedsOffered, SeedsUsed uint64
}

func (t *Totals) add(o *Totals) {
	t.Installed += o.Installed
	t.Refused += o.Refused
	t.Reinstalled += o.Reinstalled
	for s := range NumStates {
		t.Entered[s] += o.Entered[s]
		t.InState[s] += o.InState[s]
		t.EnteredInBurst[s] += o.EnteredInBurst[s]
	}
	for c := range NumCauses {
		t.Congestion[c] += o.Congestion[c]
	}
	t.Limited += o.Limited
	t.Lifetime += o.Lifetime
	t.BytesSent += o.BytesSent
	t.BytesAcked += o.BytesAcked
	t.PacketsAcked += o.PacketsAcked
	t.PacketsLost += o.PacketsLost
	t.PacketsGivenUp += o.PacketsGivenUp
	t.PacketsSpurious += o.PacketsSpurious
	t.ProbeTimeouts += o.ProbeTimeouts
	t.PacketsMarked += o.PacketsMarked
	t.SeedsOffered += o.SeedsOffered
	t.SeedsUsed += o.SeedsUsed
}

// Spread says how a value is spread over the live connections. All are 0 without connections.
type Spread[T ~int64] struct{ Min, Median, Max T }

func spreadOf[T ~int64](values []T) Spread[T] {
	if len(values) == 0 {
		return Spread[T]{}
	}
	slices.Sort(values)
	return Spread[T]{values[0], values[len(values)/2], values[len(values)-1]}
}

// Snapshot is what the controllers of a class of connections do now, and have done since the
// Monitor was made.
type Snapshot struct {
	// Live connections, in all and by state, and those that have nothing to send.
	Live        int
	LiveInState [NumStates]int
	LiveLimited int

	// NominalRate is the estimate of what the path delivers, and MaxRTT that of the longest round trip
	// without queues. Of controllers other than C4 they are pacing rate and smoothed RTT.
	// Connections that have no estimate yet are left out.
	NominalRate Spread[cc.Rate]
	MaxRTT      Spread[time.Duration]

	Totals
}

// Monitor adds up what controllers do. One can serve several injectors, and is the class of
// connections for which figures are wanted. The zero value is ready, methods may be called
// from any goroutine, and those of a nil Monitor do nothing.
type Monitor struct {
	mu   sync.Mutex
	live map[*vitals]struct{}
	gone Totals // of connections that have ended
}

// Snapshot takes some 100 ns per live connection.
func (m *Monitor) Snapshot() Snapshot {
	var s Snapshot
	if m == nil {
		return s
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s.Totals, s.Live = m.gone, len(m.live)
	rates := make([]cc.Rate, 0, len(m.live))
	rtts := make([]time.Duration, 0, len(m.live))
	now := time.Now()
	for v := range m.live {
		v.mu.Lock()
		t := v.until(now)
		s.LiveInState[v.state]++
		if v.limited {
			s.LiveLimited++
		}
		if v.rate > 0 {
			rates = append(rates, v.rate)
		}
		if v.maxRTT > 0 {
			rtts = append(rtts, v.maxRTT)
		}
		v.mu.Unlock()
		s.Totals.add(&t)
	}
	s.NominalRate, s.MaxRTT = spreadOf(rates), spreadOf(rtts)
	return s
}

func (m *Monitor) add(v *vitals) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.live == nil {
		m.live = make(map[*vitals]struct{})
	}
	m.live[v] = struct{}{}
	m.gone.Installed++
}

// remove takes the connection's counters over. It may be called twice.
func (m *Monitor) remove(v *vitals) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.live[v]; !ok {
		return
	}
	delete(m.live, v)
	v.mu.Lock()
	t := v.until(time.Now())
	v.mu.Unlock()
	m.gone.add(&t)
}

func (m *Monitor) refused() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone.Refused++
}

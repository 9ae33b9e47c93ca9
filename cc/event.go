package cc

import "time"

// EventKind says what happened.
type EventKind uint8

// Event kinds.
const (
	// EventState: From became To, because of Cause.
	EventState EventKind = iota
	// EventCongestion: a congestion signal was accepted, Cause says which.
	// Rate is the controller's rate estimate before it, NewRate after it.
	EventCongestion
	// EventRate: the rate estimate was lowered for another reason than a
	// congestion signal. Rate before, NewRate after.
	EventRate
	// EventViolation: the inputs broke the contract, for example time went
	// back. The controller went on as well as it could.
	EventViolation
)

// String returns the kind for traces.
func (k EventKind) String() string {
	switch k {
	case EventState:
		return "state"
	case EventCongestion:
		return "congestion"
	case EventRate:
		return "rate"
	case EventViolation:
		return "violation"
	}
	return "unknown"
}

// Cause says why something happened.
type Cause uint8

// Causes.
const (
	CauseNone       Cause = iota
	CauseDelay            // the RTT rose too far
	CauseLoss             // too many packets were lost
	CauseECN              // too many packets were marked
	CausePTO              // a probe timeout
	CausePersistent       // persistent congestion
	CauseGrowth           // the rate grew
	CauseNoGrowth         // the rate did not grow
	CauseRound            // the time of the state was over
	CauseJitter           // the path turned out to be jittery
	CauseSeed             // an earlier connection's knowledge was used
	CauseTrim             // the estimate was above what is measured now
)

var causeNames = [...]string{
	"none", "delay", "loss", "ecn", "pto", "persistent", "growth", "no_growth",
	"round", "jitter", "seed", "trim",
}

// String returns the cause for traces.
func (c Cause) String() string {
	if int(c) < len(causeNames) {
		return causeNames[c]
	}
	return "unknown"
}

// Event is something the shell may want to log, count or trace. The strings are
// constants of the controller.
type Event struct {
	At            time.Duration
	Kind          EventKind
	Cause         Cause
	From, To      string // EventState
	Rate, NewRate Rate   // EventCongestion, EventRate
}

// EventBuffer collects events for a controller's Events method. It holds
// the newest EventBufferSize; older ones are dropped if nobody asks for them.
type EventBuffer struct {
	ring  [EventBufferSize]Event
	first int
	n     int
}

// EventBufferSize bounds what an EventBuffer holds.
const EventBufferSize = 32

// Add appends e.
func (b *EventBuffer) Add(e Event) {
	b.ring[(b.first+b.n)%EventBufferSize] = e
	if b.n < EventBufferSize {
		b.n++
		return
	}
	b.first = (b.first + 1) % EventBufferSize
}

// Drain appends all events to dst, oldest first, and empties the buffer.
func (b *EventBuffer) Drain(dst []Event) []Event {
	for ; b.n > 0; b.n-- {
		dst = append(dst, b.ring[b.first])
		b.first = (b.first + 1) % EventBufferSize
	}
	b.first = 0
	return dst
}

package c4

import "github.com/moq-c4/moq-c4/cc"

// State is a state of the controller, see the diagram in the package
// documentation.
type State uint8

// States. [C4-SPEC] Section 4, States and Transition
const (
	// Initial doubles the rate each era until it stops growing.
	Initial State = iota
	// Recovery sends below the nominal rate for an era, drains what the state
	// before has queued, and then judges it.
	Recovery
	// Cruising sends at the nominal rate.
	Cruising
	// Probing sends slightly faster for an era.
	Probing
	// Pushing sends faster as long as the rate follows.
	Pushing
	// Resuming sends as an earlier connection to the same peer could.
	Resuming
)

var stateNames = [...]string{"initial", "recovery", "cruising", "probing", "pushing", "resuming"}

// String returns the state's name in the drafts.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

// setState is the only place where the state changes.
func (c *Controller) setState(s State, cause cc.Cause) {
	c.events.Add(cc.Event{
		At: c.now, Kind: cc.EventState, Cause: cause,
		From: c.state.String(), To: s.String(),
		Rate: c.nominalRate, NewRate: c.nominalRate,
	})
	c.state = s
}

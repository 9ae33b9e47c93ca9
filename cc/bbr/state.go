package bbr

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// state is BBR.state. [BBR] State Machine
type state uint8

const (
	startup        state = iota // find the bandwidth, doubling each round
	drain                       // let the queue that startup left run empty
	probeBWDown                 // send less than is delivered, to make room
	probeBWCruise               // send what is delivered
	probeBWRefill               // fill the pipe before probing
	probeBWUp                   // probe for more bandwidth
	probeRTT                    // send little, to see the path without a queue
	startupLongRTT              // slow start with HyStart, on long paths
	startupResume               // approach what an earlier connection or state knew
)

var stateNames = [...]string{
	"startup", "drain", "probe_bw_down", "probe_bw_cruise", "probe_bw_refill",
	"probe_bw_up", "probe_rtt", "startup_long_rtt", "startup_resume",
}

func (s state) String() string { return stateNames[s] }

// inProbeBW reports whether s is a phase of ProbeBW.
func (s state) inProbeBW() bool { return s >= probeBWDown && s <= probeBWUp }

// probing reports whether s tries to find more bandwidth, so that losses do not
// lower the short-term bounds. [BBR] When not Probing for Bandwidth
func (s state) probing() bool {
	switch s {
	case drain, probeBWDown, probeBWCruise, probeRTT:
		return false
	}
	return true
}

// setState changes the state and its gains.
func (c *Controller) setState(now time.Duration, to state, pacingGain, cwndGain float64, why cc.Cause) {
	if c.state != to {
		c.events.Add(cc.Event{At: now, Kind: cc.EventState, Cause: why, From: c.state.String(), To: to.String()})
	}
	c.state = to
	c.pacingGain, c.cwndGain = pacingGain, cwndGain
}

// ackPhase is BBR.ack_phase: what the packets now being acknowledged were sent
// for. [BBR] ProbeBW Algorithm Details
type ackPhase uint8

const (
	acksProbeStarting ackPhase = iota
	acksProbeStopping
	acksRefilling
	acksProbeFeedback
)

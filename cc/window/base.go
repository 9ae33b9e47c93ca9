package window

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// Base is what controllers that compute a window have in common, to embed: a
// state with a name, the events, and the inputs that most of them pass on or
// ignore. The methods that [cc.Controller] does not have are for the controller
// itself.
type Base struct {
	Sender Sender
	RTT    cc.RTT // the latest

	state  string
	lastCE int64
	events cc.EventBuffer
}

// NewBase returns a Base in the state with the given name.
func NewBase(state string) Base { return Base{state: state} }

// State implements [cc.Controller].
func (b *Base) State() string { return b.state }

// Events implements [cc.Controller].
func (b *Base) Events(dst []cc.Event) []cc.Event { return b.events.Drain(dst) }

// OnPacketSent implements [cc.Controller].
func (b *Base) OnPacketSent(now time.Duration, p cc.Packet) { b.Sender.OnPacketSent(now, p) }

// OnAppLimited implements [cc.Controller].
func (b *Base) OnAppLimited(now time.Duration) { b.Sender.OnAppLimited(now) }

// OnRTT implements [cc.Controller].
func (b *Base) OnRTT(_ time.Duration, r cc.RTT) { b.RTT = r }

// OnSpuriousLoss implements [cc.Controller]: there is no undo.
func (b *Base) OnSpuriousLoss(time.Duration, cc.Loss) {}

// OnPTO implements [cc.Controller]: what counts is the losses.
func (b *Base) OnPTO(time.Duration, int) {}

// OnSeed implements [cc.Controller]: there is no careful resume.
func (b *Base) OnSeed(time.Duration, cc.Seed) {}

// SetState changes the state, and tells of it if it is another one.
func (b *Base) SetState(now time.Duration, to string, cause cc.Cause) {
	if b.state == to {
		return
	}
	b.events.Add(cc.Event{At: now, Kind: cc.EventState, Cause: cause, From: b.state, To: to})
	b.state = to
}

// NoteCut tells that congestion has reduced the window, bytes.
func (b *Base) NoteCut(now time.Duration, before, after int64, cause cc.Cause) {
	b.events.Add(cc.Event{
		At: now, Kind: cc.EventCongestion, Cause: cause,
		Rate: cc.RateOf(before, b.RTT.Smoothed), NewRate: cc.RateOf(after, b.RTT.Smoothed),
	})
}

// Marked takes ECN counts and reports whether there are new CE marks.
func (b *Base) Marked(e cc.ECN) bool {
	if e.CE <= b.lastCE {
		return false
	}
	b.lastCE = e.CE
	return true
}

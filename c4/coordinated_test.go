package c4

import (
	"testing"

	"github.com/moq-c4/moq-c4/cc"
)

// "If it is [app limited], C4 will remain in cruising state until the application
// finally sends more data, and will only enter the pushing state when the last
// period was not application limited."
// [C4-DESIGN] Coordinated Pushing
func TestPushWaitsForData(tt *testing.T) {
	idle := func(t *c4Test) { // a lone packet, with nothing to follow
		t.send(1)
		t.c.OnAppLimited(t.now)
		t.advance(t.rtt)
		t.sample()
		t.ack(acked{rate: 200_000, sent: t.now - t.rtt, lowest: t.next})
	}
	start := func(cfg Config) *c4Test {
		t := newC4Test(tt, cfg)
		t.throughInitial(1_000_000)
		t.cruise(1_000_000)
		t.push(1_000_000, 1_024_000) // a probe found more, and then the data end
		return t
	}

	t := start(Default())
	pushes := 0
	for range Default().PushEras {
		idle(t)
	}
	t.wantState(Recovery)
	for range 40 {
		t.c.Events(nil)
		idle(t)
		for _, e := range t.c.Events(nil) {
			if e.Kind == cc.EventState && (e.To == "pushing" || e.To == "probing") {
				pushes++
			}
		}
	}
	t.wantState(Cruising)
	if pushes > 0 {
		t.Errorf("%d pushes without data", pushes)
	}
	// A burst comes: the push is made up for, at its own rate.
	t.fullRound(1_024_000)
	t.wantState(Pushing)
	t.wantVar("alpha_current", Default().AlphaPush.float())

	// The reference pushes every other round trip.
	t = start(Draft05())
	for range 40 {
		idle(t)
		if t.c.state == Pushing {
			pushes++
		}
	}
	if pushes < 15 {
		t.Errorf("%d pushes of the reference", pushes)
	}
}

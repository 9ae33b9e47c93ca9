package ccinject

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

func TestCoarse(t *testing.T) {
	for _, test := range []struct{ rate, want cc.Rate }{
		{0, 0}, {-1, -1}, {1, 1}, {1023, 1023}, {1025, 1024}, {247_212, 247_040}, {247_226, 247_040}, {1 << 40, 1 << 40}, {1<<40 + 1<<29, 1 << 40},
	} {
		if got := coarse(test.rate); got != test.want {
			t.Errorf("%d: got %d, want %d", test.rate, got, test.want)
		}
	}
}

// TestNoGrowthByNoise sends for a long time over a path that does not change. No push may follow the small probes.
func TestNoGrowthByNoise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := &link{rate: mbps(5), delay: 20 * time.Millisecond, queue: 100 * time.Millisecond}
		a, b := network(down, &link{delay: 20 * time.Millisecond})
		var m Monitor
		p := newPair(t, a, b, New(Config{Controller: newC4, Monitor: func([]string) *Monitor { return &m }}), nil)
		c, s := p.connect()
		transfer(t, s, c, 1e6)
		before := m.Snapshot()
		begin := time.Now()
		transfer(t, s, c, 5e6)
		took := time.Since(begin)
		after := m.Snapshot()
		p.close()
		time.Sleep(time.Minute)
		pushes, probes := after.Entered[StatePushing]-before.Entered[StatePushing], after.Entered[StateProbing]-before.Entered[StateProbing]
		if pushes > 0 || probes < 30 {
			t.Errorf("%d pushes, %d probes", pushes, probes)
		}
		if took > mbps(5).TimeFor(5e6)*105/100 {
			t.Errorf("took %v", took)
		}
	})
}

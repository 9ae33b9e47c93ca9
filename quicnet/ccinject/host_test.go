package ccinject

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// TestHostPath has a controller that takes the scheduling of processes for jitter and opens its window far.
// Between processes of one machine no more may be in flight than a receiver keeps.
func TestHostPath(t *testing.T) {
	for _, test := range []struct {
		delay time.Duration // one way
		bound bool
	}{
		{20 * time.Microsecond, true},
		{120 * time.Microsecond, true},
		{130 * time.Microsecond, false},
		{10 * time.Millisecond, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			server, client := network(&link{delay: test.delay}, &link{delay: test.delay})
			f := &fixed{rate: mbps(800), window: 4 << 20}
			widest := int64(0)
			in := New(Config{Controller: func(cc.Config) cc.Controller { return &flightRecorder{fixed: f, widest: &widest} }})
			p := newPair(t, server, client, in, nil)
			c, s := p.connect()
			transfer(t, s, c, 3e6)
			p.close()
			time.Sleep(time.Minute)
			limit := receiverHolds*int64(1280) + f.rate.Over(2*test.delay) + 1280 // as long as there is no pacing
			if !test.bound {
				limit = f.rate.Over(2*test.delay + catchUp)
			}
			if widest > limit {
				t.Errorf("%v one way: %d bytes in flight, limit %d", test.delay, widest, limit)
			}
		})
	}
}

type flightRecorder struct {
	*fixed
	widest *int64
}

func (r *flightRecorder) OnPacketSent(now time.Duration, p cc.Packet) {
	*r.widest = max(*r.widest, p.InFlight)
	r.fixed.OnPacketSent(now, p)
}

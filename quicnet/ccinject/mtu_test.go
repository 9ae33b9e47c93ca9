//go:build linux

package ccinject

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// TestMTU lets path MTU discovery find the largest packet. The controller hears of each step, and the loss
// of packets that were too large is none of the path.
func TestMTU(t *testing.T) {
	for _, most := range []int{0, 1400} {
		synctest.Test(t, func(t *testing.T) {
			down := &link{rate: mbps(20), delay: 10 * time.Millisecond, queue: 100 * time.Millisecond, most: most}
			server, client := oobNetwork(t, down, &link{delay: 10 * time.Millisecond})
			f := &fixed{rate: mbps(15), window: 1 << 20}
			p := newPair(t, server, client, New(Config{Controller: func(cc.Config) cc.Controller { return f }}), nil)
			c, s := p.connect()
			begin := time.Now()
			transfer(t, s, c, 3e6)
			took := time.Since(begin)
			settle()
			dropped := down.dropped
			p.close()
			time.Sleep(time.Minute)

			low, high := int64(1430), int64(1452)
			if most > 0 {
				low, high = 1350, 1400
			}
			if f.mtu < low || f.mtu > high || (most > 0) != (dropped > 0) {
				t.Errorf("most %d: the controller has %d, %d dropped", most, f.mtu, dropped)
			}
			if f.lost > 0 || f.ptos > 0 {
				t.Errorf("most %d: %d losses, %d timeouts", most, f.lost, f.ptos)
			}
			// The rate is of bytes, whatever the packets' size.
			if want := f.rate.TimeFor(3e6); took < want || took > want*107/100 {
				t.Errorf("most %d: took %v, want %v", most, took, want)
			}
		})
	}
}

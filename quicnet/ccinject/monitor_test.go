package ccinject

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/c4"
	"github.com/moq-c4/moq-c4/cc"
)

func newC4(c cc.Config) cc.Controller { return c4.New(c, c4.Default()) }

// TestMonitor looks at a connection while it transfers, while it is idle and after its end.
func TestMonitor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := &link{rate: mbps(20), delay: 20 * time.Millisecond, queue: 100 * time.Millisecond}
		server, client := network(down, &link{delay: 20 * time.Millisecond})
		var m Monitor
		in := New(Config{Controller: newC4, Monitor: func(protocols []string) *Monitor {
			if len(protocols) != 1 || protocols[0] != "test" {
				t.Errorf("protocols %q", protocols)
			}
			return &m
		}})
		p := newPair(t, server, client, in, nil)
		begin := time.Now()
		c, s := p.connect()
		transfer(t, s, c, 4e6)
		busy := m.Snapshot()
		time.Sleep(10 * time.Second)
		idle := m.Snapshot()
		p.close()
		synctest.Wait()
		over := m.Snapshot()
		lifetime := time.Since(begin)
		time.Sleep(time.Minute)

		if busy.Live != 1 || busy.Installed != 1 || busy.BytesSent < 4e6 || busy.PacketsAcked < 3000 || busy.Entered[StateCruising] == 0 {
			t.Errorf("busy: %+v", busy)
		}
		if r := busy.NominalRate; r.Min != r.Max || r.Median < mbps(18) || r.Median > mbps(21) {
			t.Errorf("nominal rate %+v", r)
		}
		if r := busy.MaxRTT; r.Median < 40*time.Millisecond || r.Median > 100*time.Millisecond {
			t.Errorf("max RTT %+v", r)
		}
		if busy.Limited > 200*time.Millisecond {
			t.Errorf("limited for %v in a bulk transfer", busy.Limited)
		}
		if idle.LiveLimited != 1 || idle.Limited-busy.Limited < 9*time.Second {
			t.Errorf("limited for %v when idle", idle.Limited-busy.Limited)
		}
		if over.Live != 0 || over.LiveInState != [NumStates]int{} || over.Lifetime > lifetime || over.Lifetime < lifetime-200*time.Millisecond {
			t.Errorf("over: %+v", over)
		}
		var sum time.Duration
		for _, d := range over.InState {
			sum += d
		}
		if sum != over.Lifetime {
			t.Errorf("%v in states of %v", sum, over.Lifetime)
		}
	})
}

// TestMonitorBurst has a bulk transfer, in which all probes begin with data to send, and single packets now and
// then, which no probe may count as a burst.
func TestMonitorBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := &link{rate: mbps(20), delay: 20 * time.Millisecond, queue: 100 * time.Millisecond}
		server, client := network(down, &link{delay: 20 * time.Millisecond})
		var m Monitor
		p := newPair(t, server, client, New(Config{Controller: newC4, Monitor: func([]string) *Monitor { return &m }}), nil)
		c, s := p.connect()
		transfer(t, s, c, 5e6)
		bulk := m.Snapshot()
		for range 100 {
			transfer(t, s, c, 1000)
			time.Sleep(100 * time.Millisecond)
		}
		drip := m.Snapshot()
		p.close()
		time.Sleep(time.Minute)

		probes := func(s Snapshot) (n, inBurst uint64) {
			return s.Entered[StateProbing] + s.Entered[StatePushing], s.EnteredInBurst[StateProbing] + s.EnteredInBurst[StatePushing]
		}
		n, in := probes(bulk)
		if n < 4 || in != n {
			t.Errorf("bulk: %d of %d probes with data", in, n)
		}
		if n2, in2 := probes(drip); in2 > in+1 {
			t.Errorf("drip: %d of %d probes with data", in2-in, n2-n)
		} else {
			t.Logf("drip: %d of %d probes with data", in2-in, n2-n)
		}
	})
}

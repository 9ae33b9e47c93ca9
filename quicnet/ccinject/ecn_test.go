//go:build linux

package ccinject

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

const (
	fieldECT1 = 1
	fieldECT0 = 2
	fieldCE   = 3
)

// TestECNValidation has paths that treat the ECN field in each way. What a controller hears has to be
// right, and after a failed validation packets carry no mark.
// RFC 9000 Section 13.4.2, ECN Validation
func TestECNValidation(t *testing.T) {
	one := func(from, to byte) func(byte) byte {
		return func(mark byte) byte {
			if mark == from {
				return to
			}
			return mark
		}
	}
	for name, test := range map[string]struct {
		path func(byte) byte
		ok   bool // the controller hears of marks
	}{
		"clean":                  {nil, true},
		"bleached":               {func(byte) byte { return 0 }, false},
		"all are CE":             {func(byte) byte { return fieldCE }, false},
		"ECT(1) becomes ECT(0)":  {one(fieldECT1, fieldECT0), false},
		"bleached after a while": {bleachAfter(500), true},
	} {
		synctest.Test(t, func(t *testing.T) {
			down := &link{rate: mbps(20), delay: 10 * time.Millisecond, queue: 200 * time.Millisecond}
			var seen [4]int // in the first packets, and in the last
			var last [4]int
			var sent int
			down.ecn = func(mark byte) byte {
				seen[mark]++
				if sent++; sent > 1000 {
					last[mark]++
				}
				if test.path != nil {
					return test.path(mark)
				}
				return mark
			}
			server, client := oobNetwork(t, down, &link{delay: 10 * time.Millisecond})
			f := &fixed{rate: mbps(15), window: 1 << 20, mark: cc.ECT1}
			p := newPair(t, server, client, New(Config{Controller: func(cc.Config) cc.Controller { return f }}), nil)
			c, s := p.connect()
			transfer(t, s, c, 2e6)
			p.close()
			time.Sleep(time.Minute)

			if seen[fieldECT0] > 0 || seen[fieldCE] > 0 || seen[fieldECT1] < 10 {
				t.Errorf("%s: sent %v", name, seen)
			}
			if heard := f.ect != [2]int64{}; heard != test.ok {
				t.Errorf("%s: the controller heard of %v", name, f.ect)
			}
			if f.lost > 0 {
				t.Errorf("%s: %d losses", name, f.lost)
			}
			switch {
			case name == "clean" && (f.ect[1] < 1000 || f.ect[0] > 0 || last[fieldECT1] < 100):
				t.Errorf("clean: counts %v, at the end %v", f.ect, last)
			case name != "clean" && last[fieldECT1] > 0:
				t.Errorf("%s: still marked at the end: %v", name, last)
			}
		})
	}
}

func bleachAfter(n int) func(byte) byte {
	return func(mark byte) byte {
		if n--; n < 0 {
			return 0
		}
		return mark
	}
}

// ceCounter counts CE as a controller hears of it.
type ceCounter struct {
	*fixed
	ce    int64
	calls int
}

func (c *ceCounter) OnECN(now time.Duration, e cc.ECN) {
	c.ce = e.CE
	c.calls++
	c.fixed.OnECN(now, e)
}

// TestMarksAreCounted has a queue that marks: each mark reaches the controller, and nothing is taken for a loss.
func TestMarksAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := &link{rate: mbps(20), delay: 10 * time.Millisecond, queue: time.Second, ce: 5 * time.Millisecond}
		server, client := oobNetwork(t, down, &link{delay: 10 * time.Millisecond})
		f := &ceCounter{fixed: &fixed{rate: mbps(25), window: 200_000, mark: cc.ECT1}}
		var m Monitor
		p := newPair(t, server, client, New(Config{
			Controller: func(cc.Config) cc.Controller { return f }, Monitor: func([]string) *Monitor { return &m },
		}), nil)
		c, s := p.connect()
		transfer(t, s, c, 3e6)
		time.Sleep(time.Second)
		p.close()
		time.Sleep(time.Minute)
		// The last packets are acknowledged together, out of order or not at all.
		if down.marks < 500 || f.ce > int64(down.marks) || f.ce < int64(down.marks)-3 {
			t.Errorf("%d marked, %d heard of", down.marks, f.ce)
		}
		if got := m.Snapshot(); got.PacketsMarked != uint64(f.ce) || f.lost > 0 || f.calls < 500 {
			t.Errorf("%d counted, %d losses, %d calls", got.PacketsMarked, f.lost, f.calls)
		}
	})
}

// TestC4ReactsToMarks compares a queue that marks early with one that only drops. Neither the mean round trip nor the
// transfer may be much longer for that.
func TestC4ReactsToMarks(t *testing.T) {
	run := func(ce time.Duration) (took, rtt time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			down := &link{rate: mbps(20), delay: 20 * time.Millisecond, queue: 100 * time.Millisecond, ce: ce}
			server, client := oobNetwork(t, down, &link{delay: 20 * time.Millisecond})
			var r recorder
			p := newPair(t, server, client, New(Config{Controller: newRecorder(&r)}), nil)
			c, s := p.connect()
			transfer(t, s, c, 3e6) // the start-up's queue is another matter
			settle()
			r.sum, r.samples = 0, 0
			begin := time.Now()
			transfer(t, s, c, 4e6)
			took = time.Since(begin)
			settle()
			rtt = r.mean()
			p.close()
			time.Sleep(time.Minute)
		})
		return took, rtt
	}
	took, rtt := run(0)
	tookCE, rttCE := run(5 * time.Millisecond)
	t.Logf("4 MB over 20 Mbit/s and 40 ms, after the start: %v, mean RTT %v; with marks above 5 ms %v, %v", took, rtt, tookCE, rttCE)
	if rttCE > rtt+2*time.Millisecond || tookCE > took*120/100 {
		t.Errorf("marks cost too much: %v, mean RTT %v; with marks %v, %v", took, rtt, tookCE, rttCE)
	}
}

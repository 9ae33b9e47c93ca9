package sim

import (
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// A paced sender sends at its rate, with bursts of the quantum at most.
func TestPacer(t *testing.T) {
	var p pacer
	p.reset(0)
	p.set(cc.Control{PacingRate: 1_000_000, Quantum: 4 * mtuMax}, mtuMax, 100*ms)
	now, sent, burst := time.Duration(0), int64(0), 0
	for now < time.Second {
		ok, again := p.ready(now)
		if !ok {
			if again <= now {
				t.Fatalf("asks again at %v at %v", again, now)
			}
			now, burst = again, 0
			continue
		}
		p.spend(now, mtuMax)
		sent += mtuMax
		if burst++; burst > 4 {
			t.Fatalf("%d packets at once", burst)
		}
	}
	if sent < 990_000 || sent > 1_010_000 {
		t.Errorf("sent %d bytes in a second at 1 MB/s", sent)
	}
	// an idle time is worth a quantum
	now += time.Minute
	burst = 0
	for ok := true; ok; burst++ {
		if ok, _ = p.ready(now); ok {
			p.spend(now, mtuMax)
		}
	}
	if burst != 5 { // four, and the one that did not go
		t.Errorf("%d packets after an idle time, want 4", burst-1)
	}
}

// Before a rate is known packets go out as they come.
func TestPacerFree(t *testing.T) {
	var p pacer
	p.reset(0)
	for range 12 {
		if ok, _ := p.ready(0); !ok {
			t.Fatal("the first packets wait")
		}
		p.spend(0, mtuInitial)
	}
}

package ccinject

import (
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// newPacer paces packets of 1000 bytes at one a millisecond, with a quantum of 4.
func newPacer() *pacer {
	p := &pacer{}
	p.set(cc.Control{PacingRate: 1e6, Quantum: 4000}, 1000, time.Second)
	return p
}

// drain sends as much as possible at now.
func drain(p *pacer, now time.Duration) (packets int) {
	for p.ready(now) {
		p.spend(now, 1000)
		packets++
	}
	return packets
}

func TestPacer(t *testing.T) {
	const ms = time.Millisecond
	p := newPacer()
	if n := drain(p, 100*ms); n != 4 {
		t.Errorf("%d packets after idling, want the quantum of 4", n)
	}
	for i, tt := range []struct {
		late time.Duration // after the pacer's wake time
		want int
	}{
		{0, 1}, {0, 1}, {5 * ms, 6}, {0, 1}, {30 * ms, 10}, {0, 1},
	} {
		wake := p.wake()
		if p.ready(wake - 1) {
			t.Fatalf("step %d: ready before the wake time", i)
		}
		if n := drain(p, wake+tt.late); n != tt.want {
			t.Errorf("step %d: woken %v late: %d packets, want %d", i, tt.late, n, tt.want)
		}
	}
}

// TestPacerBurst waits for a millisecond's worth of small packets.
func TestPacerBurst(t *testing.T) {
	p := &pacer{}
	p.set(cc.Control{PacingRate: 10e6, Quantum: 40000}, 1000, time.Second)
	drain(p, time.Second)
	if n := drain(p, p.wake()); n != 10 {
		t.Errorf("%d packets at once, want 10", n)
	}
}

// TestPacerCredit does not take back what a sender that was woken late may send, when it
// is interrupted.
func TestPacerCredit(t *testing.T) {
	p := newPacer()
	drain(p, time.Second)
	now := p.wake() + 8*time.Millisecond
	p.ready(now)
	p.spend(now, 1000)
	now += 10 * time.Microsecond
	if n := drain(p, now); n != 8 {
		t.Errorf("%d packets, want 8", n)
	}
}

func TestPacerSpecial(t *testing.T) {
	p := &pacer{}
	p.set(cc.Control{}, 1000, time.Second)
	for range 100 {
		if !p.ready(0) {
			t.Fatal("unpaced, and has to wait")
		}
		p.spend(0, 1000)
	}
	p.set(cc.Control{PacingRate: 1, Quantum: 1}, 1000, 50*time.Millisecond)
	if n := drain(p, time.Hour); n != 1 {
		t.Errorf("%d packets", n)
	}
	if wait := p.wake() - time.Hour; wait > 100*time.Millisecond {
		t.Errorf("a packet has to wait for %v; one per RTT is allowed at any rate", wait)
	}
	p.set(cc.Control{PacingRate: 1e6}, 1000, time.Second) // no quantum
	if n := drain(p, 2*time.Hour); n != 16 {
		t.Errorf("%d packets after idling, want 16", n)
	}
}

package ccinject

import (
	"math/rand/v2"
	"testing"
)

// TestSentLog compares with a map.
func TestSentLog(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var l sentLog
	open := map[int64]int64{}
	next := int64(5)
	for step := range 5000 {
		if rnd.IntN(3) > 0 && len(open) < 300 {
			next += int64(rnd.IntN(8) / 6)
			bytes := int64(rnd.IntN(1400) + 1)
			if !l.add(sentPacket{number: next, bytes: bytes}) {
				t.Fatalf("packet %d is refused", next)
			}
			open[next] = bytes
			next++
		} else {
			for n := range open { // any
				p := l.find(n)
				if p == nil || p.bytes != open[n] || !p.open {
					t.Fatalf("step %d: packet %d is %+v", step, n, p)
				}
				l.settle(p)
				delete(open, n)
				break
			}
		}
		sum, low := int64(0), next
		for n, b := range open {
			sum += b
			low = min(low, n)
		}
		if l.open != sum || l.low != low || l.next != next {
			t.Fatalf("step %d: open %d low %d next %d, want %d %d %d", step, l.open, l.low, l.next, sum, low, next)
		}
	}
	if l.add(sentPacket{number: next - 1, bytes: 1}) {
		t.Error("a number is used twice")
	}
	for _, n := range []int64{-1, 0, next, next + 1000} {
		if l.find(n) != nil {
			t.Errorf("found %d", n)
		}
	}
}

func TestSentLogIsBounded(t *testing.T) {
	var l sentLog
	for n := range int64(3 * maxSpan) {
		l.add(sentPacket{number: n, bytes: 1})
	}
	l.add(sentPacket{number: 100 * maxSpan, bytes: 1})
	if len(l.ring) > maxSpan || l.low != 100*maxSpan || l.open != 1 {
		t.Errorf("%d places, low %d, open %d", len(l.ring), l.low, l.open)
	}
}

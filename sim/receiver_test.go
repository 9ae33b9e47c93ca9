package sim

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Bytes may come in any order and more than once.
func TestRecvStreamInsert(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		const size = 400
		var st recvStream
		have := make([]bool, size)
		for range 60 {
			from := r.IntN(size)
			to := min(size, from+1+r.IntN(40))
			st.insert(int64(from), int64(to))
			for i := from; i < to; i++ {
				have[i] = true
			}
			n := slices.Index(have, false)
			if n < 0 {
				n = size
			}
			if st.contiguous != int64(n) {
				t.Fatalf("%d bytes contiguous, want %d", st.contiguous, n)
			}
			for i, sp := range st.spans {
				if sp.from >= sp.to || sp.from <= st.contiguous || i > 0 && st.spans[i-1].to >= sp.from {
					t.Fatalf("spans %v beyond %d", st.spans, st.contiguous)
				}
			}
		}
	}
}

func TestReceiverRanges(t *testing.T) {
	var r receiver
	for n := range int64(1000) {
		if n%5 != 4 {
			r.note(n)
		}
	}
	if len(r.ranges) > 2*maxAckRanges {
		t.Errorf("%d ranges are kept", len(r.ranges))
	}
	last := r.ranges[len(r.ranges)-1]
	if last != (numberRange{995, 998}) {
		t.Errorf("last range %v", last)
	}
	if !covers(r.ranges, 997) || covers(r.ranges, 994) || !covers(r.ranges, 993) {
		t.Error("covers is wrong")
	}
}

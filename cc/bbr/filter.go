package bbr

// maxFilter is a maximum over a window of rounds or cycles, one slot each.
// [BBR] BBR.max_bw Max Filter
type maxFilter struct {
	slots [extraAckedFilterLen]int64
	n     int // slots in use
	at    int // present slot
}

func newMaxFilter(n int) maxFilter { return maxFilter{n: n} }

// advance begins a new slot and forgets the oldest.
func (f *maxFilter) advance() {
	f.at = (f.at + 1) % f.n
	f.slots[f.at] = 0
}

// update adds a sample to the present slot and returns the maximum.
func (f *maxFilter) update(v int64) int64 {
	f.slots[f.at] = max(f.slots[f.at], v)
	for _, s := range f.slots[:f.n] {
		v = max(v, s)
	}
	return v
}

// current returns the maximum of the present slot.
func (f *maxFilter) current() int64 { return f.slots[f.at] }

// fill sets every slot to v.
func (f *maxFilter) fill(v int64) {
	for i := range f.n {
		f.slots[i] = v
	}
}

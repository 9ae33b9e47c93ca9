package moqt

// idWindowSize is how far apart request ids may arrive. One that comes later than
// that after its neighbours is taken for a duplicate.
const idWindowSize = 4096

// idWindow remembers which request ids the peer has used, in bounded memory.
// Requests are on different streams, so their ids may arrive in any order.
//
// "If an endpoint receives a Request ID where the least significant bit is
// incorrect for the sender, or a duplicate Request ID, it MUST close the session
// with INVALID_REQUEST_ID."
// [MOQT-18] Section 10.1, Request ID
type idWindow struct {
	parity uint64 // of the peer's ids: 0 of a client's, 1 of a server's
	low    uint64 // all ids below are used, or too old to tell; in steps of 2
	next   uint64 // after the largest one used
	used   [idWindowSize / 64]uint64
}

// use notes id as used. It returns false if the peer must not use it.
func (w *idWindow) use(id uint64) bool {
	if id&1 != w.parity {
		return false
	}
	i := id / 2
	if i < w.low {
		return false
	}
	if i >= w.low+idWindowSize {
		w.slide(i - idWindowSize + 1)
	}
	word, bit := w.at(i)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	w.next = max(w.next, i+1)
	for {
		word, bit := w.at(w.low)
		if *word&bit == 0 {
			return true
		}
		*word &^= bit
		w.low++
	}
}

// wasUsed reports whether id was used, or can no longer be.
func (w *idWindow) wasUsed(id uint64) bool {
	i := id / 2
	if i < w.low {
		return true
	}
	if i >= w.low+idWindowSize {
		return false
	}
	word, bit := w.at(i)
	return *word&bit != 0
}

// smallestUnused returns the id after the largest one used.
func (w *idWindow) smallestUnused() uint64 { return 2*w.next + w.parity }

func (w *idWindow) at(i uint64) (word *uint64, bit uint64) {
	i %= idWindowSize
	return &w.used[i/64], 1 << (i % 64)
}

// slide moves the lower end of the window up to low.
func (w *idWindow) slide(low uint64) {
	if low-w.low >= idWindowSize {
		clear(w.used[:])
		w.low = low
		return
	}
	for ; w.low < low; w.low++ {
		word, bit := w.at(w.low)
		*word &^= bit
	}
}

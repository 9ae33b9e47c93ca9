package priority

import (
	"cmp"
	"slices"
)

// Urgencies that a [Ranking] gives to streams. 0 is left to control and request
// streams.
//
// "Given the critical nature of control messages and their relatively small size,
// the control streams SHOULD be prioritized highest, followed by the bidi request
// streams and then all subscribed Objects."
// [MOQT-18] Section 7.2, Scheduling Algorithm
const (
	MinUrgency = 1
	MaxUrgency = 7

	levels = MaxUrgency - MinUrgency + 1
)

// Ranking keeps the live streams of a session in the draft's order and gives them
// urgencies.
//
// Streams of one class, which have the same two priorities, come before all
// streams of the next class. Within a class, the first stream of each request
// shares a turn, then the second of each, and so on, so that equal requests all
// get on. Each class has at least one urgency as long as there are enough; those
// left over are dealt out to the classes with several turns, the most urgent
// first, one at a time. The last turns of a class share its last urgency. Streams
// with equal urgencies are up to the transport, which serves them in the order of
// opening.
//
// Use: Add, Remove or Move, then Poll until it returns false.
type Ranking[T any] struct {
	entries []*Entry[T] // in order
	seq     uint64
	changed []*Entry[T]
}

// Entry is a stream in a [Ranking].
type Entry[T any] struct {
	Value T

	key     Key
	seq     uint64 // order of opening
	urgency uint8  // 0: none yet
	told    uint8  // what Poll returned last
	turn    int
	removed bool
}

// Key returns the key of the entry.
func (e *Entry[T]) Key() Key { return e.key }

// Len returns the number of streams.
func (r *Ranking[T]) Len() int { return len(r.entries) }

// Add adds a stream.
func (r *Ranking[T]) Add(k Key, value T) *Entry[T] {
	r.seq++
	e := &Entry[T]{Value: value, key: k, seq: r.seq}
	r.insert(e)
	r.rank()
	return e
}

// Remove takes a stream out. A second call does nothing.
func (r *Ranking[T]) Remove(e *Entry[T]) {
	if e.removed {
		return
	}
	e.removed = true
	r.cut(e)
	r.rank()
}

// Move gives a stream another key, as when the subscriber changes its priority.
func (r *Ranking[T]) Move(e *Entry[T], k Key) {
	if e.removed || e.key == k {
		return
	}
	r.cut(e)
	e.key = k
	r.insert(e)
	r.rank()
}

// Poll returns a stream whose urgency has changed since Poll last returned it.
func (r *Ranking[T]) Poll() (value T, urgency uint8, ok bool) {
	for n := len(r.changed); n > 0; n = len(r.changed) {
		e := r.changed[n-1]
		r.changed[n-1] = nil
		r.changed = r.changed[:n-1]
		if e.removed || e.told == e.urgency {
			continue
		}
		e.told = e.urgency
		return e.Value, e.urgency, true
	}
	var zero T
	return zero, 0, false
}

func (r *Ranking[T]) compare(a, b *Entry[T]) int {
	if c := a.key.class(&b.key); c != 0 {
		return c
	}
	if c := cmp.Compare(a.key.Request, b.key.Request); c != 0 {
		return c
	}
	if c := a.key.within(&b.key); c != 0 {
		return c
	}
	return cmp.Compare(a.seq, b.seq)
}

func (r *Ranking[T]) insert(e *Entry[T]) {
	i, _ := slices.BinarySearchFunc(r.entries, e, r.compare)
	r.entries = slices.Insert(r.entries, i, e)
}

func (r *Ranking[T]) cut(e *Entry[T]) {
	if i, ok := slices.BinarySearchFunc(r.entries, e, r.compare); ok {
		r.entries = slices.Delete(r.entries, i, i+1)
	}
}

// rank computes all urgencies anew. Its cost is linear.
func (r *Ranking[T]) rank() {
	// The number of turns of the most urgent classes. Those that get no urgency of
	// their own are counted with the last.
	var turns [levels]int
	class := -1
	for i, e := range r.entries {
		newClass := i == 0 || e.key.class(&r.entries[i-1].key) != 0
		if newClass {
			class++
		}
		e.turn = 0
		if !newClass && e.key.Request == r.entries[i-1].key.Request {
			e.turn = r.entries[i-1].turn + 1
		}
		c := min(class, levels-1)
		turns[c] = max(turns[c], e.turn+1)
	}
	share := dealLevels(turns, min(class+1, levels))

	class, first := -1, MinUrgency
	for i, e := range r.entries {
		if i == 0 || e.key.class(&r.entries[i-1].key) != 0 {
			if class >= 0 && class < levels-1 {
				first += share[class]
			}
			class++
		}
		c := min(class, levels-1)
		u := uint8(first + min(e.turn, share[c]-1))
		if u != e.urgency {
			e.urgency = u
			r.changed = append(r.changed, e)
		}
	}
}

// dealLevels returns how many urgencies each of the first n classes gets.
func dealLevels(turns [levels]int, n int) (share [levels]int) {
	spare := levels - n
	for i := range n {
		share[i] = 1
	}
	for dealt := true; dealt && spare > 0; {
		dealt = false
		for i := 0; i < n && spare > 0; i++ {
			if share[i] < turns[i] {
				share[i]++
				spare--
				dealt = true
			}
		}
	}
	return share
}

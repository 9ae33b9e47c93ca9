package priority

import (
	"cmp"
	"slices"
	"time"
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
)

// lingerTime is how long a stream counts as waiting after its last write, unless it is clear before that it has nothing
// left: longer than frames are apart, so that live streams keep their places.
const lingerTime = 100 * time.Millisecond

// maxClosed bounds the closed streams of which something may be left.
const maxClosed = 64

// Ranking keeps the streams of a session that have something to send in the draft's order and gives them
// urgencies.
//
// Streams of one class, which have the same two priorities, come before all
// streams of the next class. Within a class, the first stream of each request
// shares a turn, then the second of each, and so on, so that equal requests all
// get on. The turns of all classes get the urgencies in their order, and what is behind the last urgency shares it. Streams
// with equal urgencies are up to the transport, which serves them in the order of
// opening; before one of those that share the last is served, others have left and it has an urgency of its own.
//
// Only streams that wait count, so that the few urgencies do for any number of open ones. A stream waits from its
// opening or the start of a write until that has ended and
// either a less urgent stream was served, which shows that this one had nothing left, or lingerTime has passed. That it is
// not out at the end of the write is because transports take the last packet from the writer and keep it. Out of the order,
// a stream keeps the urgency it had last.
//
// Use: Add, Start, Stop, Remove or Move, then Poll until it returns false. now must not go back.
type Ranking[T any] struct {
	entries []*Entry[T] // those that wait, in order
	open    int         // added and not removed
	closed  int         // of entries, those that were removed
	forgot  time.Time   // when forget was last called
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
	waits   bool      // it is among Ranking.entries
	writing bool      // a write has begun and not ended
	since   time.Time // when it was opened, or the last write began or ended
	removed bool
}

// Key returns the key of the entry.
func (e *Entry[T]) Key() Key { return e.key }

// Len returns the number of open streams.
func (r *Ranking[T]) Len() int { return r.open }

// Add adds a stream.
func (r *Ranking[T]) Add(k Key, value T, now time.Time) *Entry[T] {
	r.seq++
	r.open++
	e := &Entry[T]{Value: value, key: k, seq: r.seq, since: now}
	r.forget(now)
	r.insert(e)
	r.rank()
	return e
}

// Start says that a write begins. It has to have been called, and Poll after it, before the transport gets the bytes.
func (r *Ranking[T]) Start(e *Entry[T], now time.Time) {
	e.writing, e.since = true, now
	if e.removed {
		return
	}
	if e.waits { // the usual case: nothing changes
		if now.Sub(r.forgot) > lingerTime {
			r.forget(now)
		}
		return
	}
	r.forget(now)
	r.insert(e)
	r.rank()
}

// Stop says that the write has ended. served tells that the transport has sent some of it: all streams that are more urgent
// and not in a write have nothing left.
func (r *Ranking[T]) Stop(e *Entry[T], served bool, now time.Time) {
	e.writing, e.since = false, now
	if !served || !e.waits {
		return
	}
	r.drop(func(o *Entry[T]) bool { return !o.writing && o.urgency < e.urgency })
}

// Remove takes a stream out: at once if it was abandoned, else when what is left of it has been sent. A second call does
// nothing.
func (r *Ranking[T]) Remove(e *Entry[T], abandoned bool) {
	if e.removed {
		return
	}
	e.removed, e.writing = true, false
	r.open--
	switch {
	case !e.waits:
	case abandoned:
		r.cut(e)
		r.rank()
	default:
		if r.closed++; r.closed > maxClosed {
			r.drop(func(o *Entry[T]) bool { return o.removed })
		}
	}
}

// Move gives a stream another key, as when the subscriber changes its priority.
func (r *Ranking[T]) Move(e *Entry[T], k Key) {
	if e.removed || e.key == k {
		return
	}
	if !e.waits {
		e.key = k
		return
	}
	r.cut(e)
	e.key = k
	r.insert(e)
	r.rank()
}

// forget drops those that have waited for nothing.
func (r *Ranking[T]) forget(now time.Time) {
	r.forgot = now
	r.drop(func(o *Entry[T]) bool { return !o.writing && now.Sub(o.since) > lingerTime })
}

// drop takes those out that match, and ranks the others anew if there were any.
func (r *Ranking[T]) drop(match func(*Entry[T]) bool) {
	if !slices.ContainsFunc(r.entries, match) {
		return
	}
	r.entries = slices.DeleteFunc(r.entries, func(o *Entry[T]) bool {
		if !match(o) {
			return false
		}
		o.waits = false
		if o.removed {
			r.closed--
		}
		return true
	})
	r.rank()
}

// Poll returns a stream whose urgency has changed since Poll last returned it.
func (r *Ranking[T]) Poll() (value T, urgency uint8, ok bool) {
	for n := len(r.changed); n > 0; n = len(r.changed) {
		e := r.changed[n-1]
		r.changed[n-1] = nil
		r.changed = r.changed[:n-1]
		if !e.waits || e.told == e.urgency {
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
	e.waits = true
}

func (r *Ranking[T]) cut(e *Entry[T]) {
	if i, ok := slices.BinarySearchFunc(r.entries, e, r.compare); ok {
		r.entries = slices.Delete(r.entries, i, i+1)
	}
	e.waits = false
}

// rank computes all urgencies anew. Its cost is linear.
func (r *Ranking[T]) rank() {
	base := 0  // turns of the classes before
	turns := 0 // of this class
	for i, e := range r.entries {
		switch {
		case i == 0 || e.key.class(&r.entries[i-1].key) != 0:
			base, turns = base+turns, 0
			e.turn = 0
		case e.key.Request == r.entries[i-1].key.Request:
			e.turn = r.entries[i-1].turn + 1
		default:
			e.turn = 0
		}
		turns = max(turns, e.turn+1)
		u := uint8(min(MinUrgency+base+e.turn, MaxUrgency))
		if u != e.urgency {
			e.urgency = u
			r.changed = append(r.changed, e)
		}
	}
}

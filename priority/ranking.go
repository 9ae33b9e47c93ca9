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
// get on; a stream with its last packet alone shares the turn of the one before. The turns of all classes get the urgencies in their order, and what is behind the last urgency shares it. Streams
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
	seq     uint64    // order of opening
	urgency uint8     // 0: none yet
	told    uint8     // what Poll returned last
	waits   bool      // it is among Ranking.entries
	writing bool      // a write has begun and not ended
	fresh   bool      // none has begun yet
	since   time.Time // when it was opened, or the last write began or ended
	removed bool
}

// Key returns the key of the entry.
func (e *Entry[T]) Key() Key { return e.key }

// busy reports whether there is more than a last packet.
func (e *Entry[T]) busy() bool { return e.writing || e.fresh }

// Len returns the number of open streams.
func (r *Ranking[T]) Len() int { return r.open }

// Add adds a stream.
func (r *Ranking[T]) Add(k Key, value T, now time.Time) *Entry[T] {
	r.seq++
	r.open++
	e := &Entry[T]{Value: value, key: k, seq: r.seq, since: now, fresh: true}
	r.forget(now)
	r.insert(e)
	r.rank()
	return e
}

// Start says that a write begins. It has to have been called, and Poll after it, before the transport gets the bytes.
func (r *Ranking[T]) Start(e *Entry[T], now time.Time) {
	was := e.busy()
	e.writing, e.fresh, e.since = true, false, now
	switch {
	case e.removed:
	case !e.waits:
		r.forget(now)
		r.insert(e)
		r.rank()
	case now.Sub(r.forgot) > lingerTime:
		r.forget(now)
		r.rank()
	case !was && len(r.entries) > 1:
		r.rank()
	}
}

// Stop says that the write has ended. served tells that the transport has sent some of it: all streams that are more urgent
// and not in a write have nothing left.
func (r *Ranking[T]) Stop(e *Entry[T], served bool, now time.Time) {
	e.writing, e.fresh, e.since = false, false, now
	switch {
	case !e.waits:
	case served:
		r.drop(func(o *Entry[T]) bool { return !o.writing && o.urgency < e.urgency })
		r.rank()
	case len(r.entries) > 1:
		r.rank()
	}
}

// Remove takes a stream out: at once if it was abandoned, else when what is left of it has been sent. A second call does
// nothing.
func (r *Ranking[T]) Remove(e *Entry[T], abandoned bool) {
	if e.removed {
		return
	}
	e.removed, e.writing, e.fresh = true, false, false
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
		r.rank()
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

// drop takes those out that match. The others have to be ranked anew.
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
	if len(r.entries) == 0 {
		return
	}
	if r.assign(false) > MaxUrgency-MinUrgency+1 {
		r.assign(true)
	}
	for _, e := range r.entries {
		if e.urgency != e.told {
			r.changed = append(r.changed, e)
		}
	}
}

// assign gives the urgencies and returns how many were needed. If there are not enough, lean says that a class or turn of
// nothing but last packets gets none: it shares that of the one before, so that at most those packets go out early.
func (r *Ranking[T]) assign(lean bool) (needed int) {
	level, base, top := 0, 0, 0 // of the entry, of the classes before, and so far
	if lean && !r.entries[0].busy() {
		top = 1 // there is none before
	}
	for i, e := range r.entries {
		newClass := i == 0 || e.key.class(&r.entries[i-1].key) != 0
		if newClass {
			base = top
		}
		switch {
		case newClass || e.key.Request != r.entries[i-1].key.Request:
			level = base
			if e.busy() || !lean {
				level++
			}
		case e.busy():
			level++
		}
		top = max(top, level)
		e.urgency = uint8(min(MinUrgency-1+level, MaxUrgency))
	}
	return top
}

package priority

import (
	"slices"
	"time"
)

// Queue holds datagrams until the transport takes them. It is bounded in number
// and in time: a new datagram pushes out the oldest of the least urgent class, and
// one that has waited past its deadline is not sent.
//
// Of the most urgent class it serves first the request whose datagram has waited
// longest, and of that request the datagram that comes first in the draft's order.
type Queue[T any] struct {
	items []queued[T] // in order of arrival
	max   int
}

type queued[T any] struct {
	value    T
	key      Key
	deadline time.Time
}

// NewQueue makes a queue of at most max datagrams; max must be above 0.
func NewQueue[T any](max int) *Queue[T] { return &Queue[T]{max: max} }

// Len returns the number of datagrams.
func (q *Queue[T]) Len() int { return len(q.items) }

// Push adds a datagram. If that was one too many, it returns the one that had to
// go, which can be the new one.
func (q *Queue[T]) Push(value T, k Key, deadline time.Time) (out T, full bool) {
	q.items = append(q.items, queued[T]{value, k, deadline})
	if len(q.items) <= q.max {
		return out, false
	}
	worst := 0
	for i := range q.items {
		if q.items[i].key.class(&q.items[worst].key) > 0 {
			worst = i
		}
	}
	return q.take(worst), true
}

// Pop returns the datagram to send next, expired or not.
func (q *Queue[T]) Pop() (value T, ok bool) {
	if len(q.items) == 0 {
		return value, false
	}
	best := 0
	for i := range q.items {
		if q.items[i].key.class(&q.items[best].key) < 0 {
			best = i
		}
	}
	for i := best + 1; i < len(q.items); i++ {
		k, b := &q.items[i].key, &q.items[best].key
		if k.class(b) == 0 && k.Request == b.Request && k.within(b) < 0 {
			best = i
		}
	}
	return q.take(best), true
}

// Expire returns a datagram whose deadline has passed.
func (q *Queue[T]) Expire(now time.Time) (value T, ok bool) {
	for i := range q.items {
		if !now.Before(q.items[i].deadline) {
			return q.take(i), true
		}
	}
	return value, false
}

// Remove returns a datagram of the given request.
func (q *Queue[T]) Remove(request uint64) (value T, ok bool) {
	for i := range q.items {
		if q.items[i].key.Request == request {
			return q.take(i), true
		}
	}
	return value, false
}

func (q *Queue[T]) take(i int) T {
	v := q.items[i].value
	q.items = slices.Delete(q.items, i, i+1)
	return v
}

package emu

// queue is a first-in first-out list.
type queue[T any] struct {
	items []T
	first int
}

func (q *queue[T]) n() int { return len(q.items) - q.first }

func (q *queue[T]) push(v T) { q.items = append(q.items, v) }

func (q *queue[T]) pop() T {
	v := q.items[q.first]
	var zero T
	q.items[q.first] = zero
	if q.first++; q.first == len(q.items) {
		q.items, q.first = q.items[:0], 0
	}
	return v
}

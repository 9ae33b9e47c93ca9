package moqt

// queue is a first-in first-out list that reuses its memory.
type queue[T any] struct {
	items []T
	head  int // items before it were taken
}

func (q *queue[T]) len() int { return len(q.items) - q.head }

func (q *queue[T]) push(v T) {
	if q.head > 0 && len(q.items) == cap(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, v)
}

// front returns the first item. The queue must not be empty.
func (q *queue[T]) front() *T { return &q.items[q.head] }

// pop takes the first item. The queue must not be empty.
func (q *queue[T]) pop() T {
	var zero T
	v := q.items[q.head]
	q.items[q.head] = zero
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return v
}

// clear drops everything.
func (q *queue[T]) clear() { *q = queue[T]{} }

package link

// ring is a queue that reuses its memory.
type ring[T any] struct {
	buf   []T // length is a power of two
	first int
	n     int
}

// at returns the i-th element from the front; the pointer is valid until the
// next push.
func (r *ring[T]) at(i int) *T { return &r.buf[(r.first+i)&(len(r.buf)-1)] }

func (r *ring[T]) push(v T) {
	if r.n == len(r.buf) {
		r.grow()
	}
	r.buf[(r.first+r.n)&(len(r.buf)-1)] = v
	r.n++
}

func (r *ring[T]) pop() T {
	p := &r.buf[r.first]
	v := *p
	var zero T
	*p = zero
	r.first = (r.first + 1) & (len(r.buf) - 1)
	r.n--
	return v
}

// truncate keeps the first n elements.
func (r *ring[T]) truncate(n int) {
	var zero T
	for i := n; i < r.n; i++ {
		*r.at(i) = zero
	}
	r.n = n
}

func (r *ring[T]) grow() {
	buf := make([]T, max(16, 2*len(r.buf)))
	for i := range r.n {
		buf[i] = *r.at(i)
	}
	r.buf, r.first = buf, 0
}

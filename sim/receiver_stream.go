package sim

import "time"

// Flow control limits at the start, bytes.
const (
	connLimitInitial   = 1 << 20
	streamLimitInitial = 2 << 20
)

// recvStream puts a stream together.
type recvStream struct {
	id         int32
	limit      int64
	highest    int64
	contiguous int64
	final      int64  // size, -1: not known
	spans      []span // received beyond contiguous, ascending, apart
	done       bool

	// group of a source
	source int16
	group  int32
	start  time.Duration
	frame  int64 // frames complete
	frames int64
}

type span struct{ from, to int64 }

func (r *receiver) addStream(id int32) *recvStream {
	st := &recvStream{id: id, limit: streamLimitInitial, final: -1}
	r.streams = append(r.streams, st)
	r.open++
	return st
}

func (r *receiver) stream(id int32) *recvStream {
	for _, st := range r.streams {
		if st.id == id {
			return st
		}
	}
	return nil
}

// onFrame takes a frame. The end of a stream is acknowledged at once.
func (r *receiver) onFrame(now time.Duration, f *frame) {
	if f.fin {
		r.immediate = true
	}
	switch f.stream {
	case streamDatagram:
		r.media.onDatagram(r, now, f)
		return
	case streamAudioEnd:
		r.answered(f.source, 0)
		if r.media.end(f.source) {
			r.open--
		}
		return
	}
	st := r.stream(f.stream)
	if st == nil || st.done {
		return
	}
	if st.highest == 0 {
		r.answered(st.source, st.group)
	}
	end := f.offset + int64(f.length)
	if f.fin {
		st.final = end
	}
	if end > st.highest {
		r.connGot += end - st.highest
		st.highest = end
	}
	st.insert(f.offset, end)
	if len(r.conn.flow.Sources) > 0 {
		r.media.onProgress(r, now, st)
	}
	if !st.done && st.final >= 0 && st.contiguous >= st.final {
		r.complete(st)
	}
	r.creditFlow(st)
}

// complete forgets a stream.
func (r *receiver) complete(st *recvStream) {
	st.done = true
	r.open--
	for i, o := range r.streams {
		if o == st {
			r.streams = append(r.streams[:i], r.streams[i+1:]...)
			return
		}
	}
}

// insert adds received bytes.
func (st *recvStream) insert(from, to int64) {
	if from <= st.contiguous {
		st.contiguous = max(st.contiguous, to)
		n := 0
		for n < len(st.spans) && st.spans[n].from <= st.contiguous {
			st.contiguous = max(st.contiguous, st.spans[n].to)
			n++
		}
		if n > 0 {
			st.spans = append(st.spans[:0], st.spans[n:]...)
		}
		return
	}
	// most often behind the last, or its continuation
	i := len(st.spans)
	for i > 0 && st.spans[i-1].from > from {
		i--
	}
	if i > 0 && st.spans[i-1].to >= from {
		i--
		st.spans[i].to = max(st.spans[i].to, to)
	} else {
		st.spans = append(st.spans, span{})
		copy(st.spans[i+1:], st.spans[i:])
		st.spans[i] = span{from, to}
	}
	j := i + 1
	for j < len(st.spans) && st.spans[j].from <= st.spans[i].to {
		st.spans[i].to = max(st.spans[i].to, st.spans[j].to)
		j++
	}
	st.spans = append(st.spans[:i+1], st.spans[j:]...)
}

// creditFlow raises the limits when more than half is used.
func (r *receiver) creditFlow(st *recvStream) {
	if 2*r.connGot > r.connLimit {
		r.connLimit += r.raise(r.connLimit)
		r.newLimits = true
	}
	download := len(r.conn.flow.Sources) == 0
	if download && !st.done && st.final < 0 && 2*st.contiguous > st.limit {
		st.limit += r.raise(st.limit)
		r.newStreamLimit = st.limit
		r.newLimits = true
	}
}

// raise returns by how much a limit grows: more on long paths.
func (r *receiver) raise(limit int64) int64 {
	const (
		near = 100 * time.Millisecond
		far  = 610 * time.Millisecond
	)
	if r.rtt.min <= near {
		return 2 * limit
	}
	return limit * int64(min(r.rtt.min, far)/time.Microsecond) / int64(near/time.Microsecond)
}

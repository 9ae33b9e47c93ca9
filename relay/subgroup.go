package relay

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// Slab sizes of a subgroup's log in bytes. A slab is allocated once and filled from the front, so that
// readers can hold slices of it while it grows. A new slab holds the object at hand or a quarter of
// what is there, so that an 80-byte audio group costs little, an I-frame is one piece and at most a
// fifth is unused.
const (
	slabMin = 256
	slabMax = 64 << 10
)

// What the cache's books charge for an empty subgroup and for each object beside the bytes of the log.
const (
	subgroupOverhead = 640
	objectOverhead   = 96 // an objectRef, with the slice's slack
)

// subgroup is the append-only log of one subgroup: its objects, encoded once as they stand on a subgroup
// stream after the header. One ingest goroutine appends while any number of cursors read; bytes that were
// appended never change.
type subgroup struct {
	// Fixed after newSubgroup.
	header  moqt.SubgroupHeader
	seq     uint64 // its place in the track's order of arrivals
	arrived time.Time

	// Fixed once it is in the log of a track.
	maxCache wire.Opt[time.Duration] // MAX_CACHE_DURATION

	mu      sync.Mutex // guards what follows
	slabs   []slab
	size    int // bytes in all slabs
	cost    int // what the cache's books say
	encoder wire.SubgroupCursor
	objects []objectRef
	end     endState
	code    wire.StreamCode // why, if end is endReset
	cursors map[*cursor]struct{}
	changed signal
}

// logVersion is the draft in whose form the log holds the headers of objects.
const logVersion = wire.Draft18

// slab is one piece of the log: data[:len] holds the bytes from offset on.
type slab struct {
	offset int
	data   []byte
}

// objectRef says where one object stands in the log.
type objectRef struct {
	id      uint64
	start   int // offset of the object's header
	payload int // offset of its payload
	length  int // payload length in bytes
	props   wire.Properties
	status  wire.ObjectStatus
	arrived time.Time // first byte
	done    time.Time // last byte, if there is an observer
}

func (o objectRef) end() int { return o.payload + o.length }

func (o objectRef) header() wire.ObjectHeader {
	return wire.ObjectHeader{ID: o.id, Properties: o.props, PayloadLen: uint64(o.length), Status: o.status}
}

// endState says whether more will be appended.
type endState uint8

const (
	endOpen     endState = iota // more may come
	endFinished                 // FIN: the subgroup is complete
	endReset                    // the publisher reset it, or its session ended
	endEvicted                  // dropped from the cache: readers are too far behind
)

func newSubgroup(h moqt.SubgroupHeader, seq uint64, now time.Time) *subgroup {
	return &subgroup{
		header: h, seq: seq, arrived: now, cost: subgroupOverhead, cursors: make(map[*cursor]struct{}),
		encoder: wire.SubgroupCursor{HasProperties: h.Properties},
	}
}

// beginObject appends an object's header. The payload follows through append.
// It returns by how much the log's cost grew, or why the object cannot be sent on.
func (s *subgroup) beginObject(h moqt.ObjectHeader, now time.Time) (grown int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != endOpen {
		return 0, nil
	}
	before := s.cost
	// The properties are kept apart too: FETCH needs them without decoding the log again.
	h.Properties = h.Properties.Clone()
	var scratch [64]byte
	o := wire.ObjectHeader(h)
	b, err := s.encoder.Append(scratch[:0], &o, logVersion)
	if err != nil {
		return 0, err
	}
	start := s.size
	s.write(b, len(b)+int(min(h.PayloadLen, slabMax)))
	s.objects = append(s.objects, objectRef{
		id: h.ID, start: start, payload: s.size, length: int(h.PayloadLen),
		props: h.Properties, status: h.Status, arrived: now,
	})
	s.cost += objectOverhead + len(h.Properties)
	// No wake-up for a header alone: the payload is on its heels, and an object
	// without payload is announced by finish or by the next object.
	if h.PayloadLen == 0 {
		s.changed.fire()
	}
	return s.cost - before, nil
}

// append adds payload bytes of the current object and returns by how much the log's cost grew.
func (s *subgroup) append(b []byte) (grown int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != endOpen {
		return 0
	}
	before := s.cost
	s.write(b, len(b))
	s.changed.fire()
	return s.cost - before
}

// write adds b; need is how many bytes are known to come, b included.
func (s *subgroup) write(b []byte, need int) {
	s.size += len(b)
	for len(b) > 0 {
		n := len(s.slabs)
		if n == 0 || len(s.slabs[n-1].data) == cap(s.slabs[n-1].data) {
			offset := 0
			if n > 0 {
				offset = s.slabs[n-1].offset + len(s.slabs[n-1].data)
			}
			size := min(max(need, offset/4, slabMin), slabMax)
			s.cost += size
			s.slabs = append(s.slabs, slab{offset: offset, data: make([]byte, 0, size)})
			n++
		}
		last := &s.slabs[n-1]
		k := min(len(b), cap(last.data)-len(last.data))
		last.data = append(last.data, b[:k]...)
		b, need = b[k:], need-k
	}
}

// finish ends the log: end is endFinished, or endReset with the code for downstream.
// Only the first call has an effect.
func (s *subgroup) finish(end endState, code wire.StreamCode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != endOpen {
		return
	}
	s.end, s.code = end, code
	if end == endFinished {
		for c := range s.cursors {
			c.finished()
		}
	}
	s.changed.fire()
}

// evict drops the log's bytes and returns what they cost. Readers that have not finished are cut off; the
// caller resets their streams, since some may be blocked in a write.
func (s *subgroup) evict() (readers []*cursor, cost int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cost = s.cost
	s.end, s.cost = endEvicted, 0
	s.slabs, s.objects = nil, nil
	s.changed.fire()
	return s.live(), cost
}

// stragglers returns the cursors that are still reading.
func (s *subgroup) stragglers() []*cursor {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live()
}

func (s *subgroup) live() []*cursor {
	if len(s.cursors) == 0 {
		return nil
	}
	cs := make([]*cursor, 0, len(s.cursors))
	for c := range s.cursors {
		cs = append(cs, c)
	}
	return cs
}

// read returns the bytes of the log from offset on, as far as they are contiguous. With none at hand it returns
// how the log ended or, while it is open, a channel that is closed when that changes.
func (s *subgroup) read(offset int) (b []byte, end endState, code wire.StreamCode, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end == endEvicted {
		return nil, s.end, s.code, nil
	}
	if offset < s.size {
		for i := len(s.slabs) - 1; i >= 0; i-- {
			if l := s.slabs[i]; offset >= l.offset {
				return l.data[offset-l.offset : len(l.data) : len(l.data)], endOpen, 0, nil
			}
		}
	}
	if s.end != endOpen {
		return nil, s.end, s.code, nil
	}
	return nil, endOpen, 0, s.changed.wait()
}

// charged is what the subgroup costs in the cache's books, in bytes.
func (s *subgroup) charged() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cost
}

// object returns the i-th object of the log and whether all its bytes are in.
func (s *subgroup) object(i int) (o objectRef, complete, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i >= len(s.objects) {
		return objectRef{}, false, false
	}
	o = s.objects[i]
	return o, o.end() <= s.size, true
}

// firstAtOrAfter returns the index of the first object with at least this id;
// it equals the number of objects if there is none yet.
func (s *subgroup) firstAtOrAfter(id uint64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	lo, hi := 0, len(s.objects)
	for lo < hi {
		mid := (lo + hi) / 2
		if s.objects[mid].id < id {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// arrivedAt returns when the object that holds this offset began to arrive.
func (s *subgroup) arrivedAt(offset int) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.objects) - 1; i >= 0; i-- {
		if s.objects[i].start <= offset {
			return s.objects[i].arrived
		}
	}
	return s.arrived
}

// expired reports whether an object begins at this offset that must no longer be sent from the cache.
//
// "... the relay MUST NOT start forwarding any individual Object received through this subscription or fetch after the
// specified number of milliseconds has elapsed since the beginning of the Object was received."
// [MOQT-18] Section 12.3, MAX CACHE DURATION
func (s *subgroup) expired(offset int, now time.Time) bool {
	age, limited := s.maxCache.Get()
	if !limited {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i, found := slices.BinarySearchFunc(s.objects, offset, func(o objectRef, offset int) int { return cmp.Compare(o.start, offset) })
	return found && now.Sub(s.objects[i].arrived) > age
}

// freshFrom returns the id of the first object from some id on that may be sent from the cache, now or when it comes.
func (s *subgroup) freshFrom(id uint64, now time.Time) uint64 {
	age, limited := s.maxCache.Get()
	if !limited {
		return id
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range slices.Backward(s.objects) {
		if o.id < id {
			break
		}
		if now.Sub(o.arrived) > age {
			return o.id + 1
		}
	}
	return id
}

// length returns how many bytes are in the log.
func (s *subgroup) length() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size
}

// join registers a reader. It fails if the log is gone already.
func (s *subgroup) join(c *cursor) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end == endEvicted {
		return false
	}
	s.cursors[c] = struct{}{}
	if s.end == endFinished {
		c.finished()
	}
	return true
}

// gone reports whether the log was dropped from the cache.
func (s *subgroup) gone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end == endEvicted
}

// wasReset reports whether the log ended without being complete.
func (s *subgroup) wasReset() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end == endReset
}

func (s *subgroup) leave(c *cursor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.cursors, c)
}

package sim

import (
	"slices"
	"time"
)

// sendStream is a stream of the server: a download, or a group of a source.
type sendStream struct {
	id       int32
	priority int
	offset   int64 // of the next new byte
	limit    int64 // flow control
	finSent  bool
	closed   bool
	repeats  []frame // lost, oldest first
	last     int64   // number of the last packet with a frame of the stream

	total int64 // download: its size

	// group of a source
	source    int16
	start     time.Duration
	frame     int64 // frames begun
	frames    int64
	frameLeft int64 // bytes of the present frame not yet sent
	active    bool  // the application has said that there is a frame
	nextAt    time.Duration
}

// datagram is an audio frame that waits to be sent.
type datagram struct {
	source   int16
	priority int
	index    int64
}

// addStream inserts a stream behind those of the same priority.
func (s *sender) addStream(id int32, priority int) *sendStream {
	s.dropStreams()
	st := &sendStream{id: id, priority: priority, limit: streamLimitInitial}
	i := len(s.streams)
	s.streams = append(s.streams, st)
	for ; i > 0 && s.streams[i-1].priority > priority; i-- {
		s.streams[i] = s.streams[i-1]
	}
	s.streams[i] = st
	return st
}

// dropStreams forgets the streams of which nothing can be lost any more.
func (s *sender) dropStreams() {
	s.streams = slices.DeleteFunc(s.streams, func(st *sendStream) bool {
		return st.closed || st.finSent && len(st.repeats) == 0 && st.last < s.log.low
	})
}

// repeat queues a lost frame again. Datagrams are not repeated.
func (s *sender) repeat(f frame) {
	switch f.stream {
	case streamDatagram:
	case streamAudioEnd:
		s.media.endsDue = append(s.media.endsDue, f.source)
	default:
		if st := s.stream(f.stream); st != nil && !st.closed {
			st.repeats = append(st.repeats, f)
		}
	}
}

func (s *sender) stream(id int32) *sendStream {
	for _, st := range s.streams {
		if st.id == id {
			return st
		}
	}
	return nil
}

// fill adds frames to a packet that has room for so many bytes, most urgent
// first, and returns what room is left.
func (s *sender) fill(now time.Duration, k *packet, room int32) int32 {
	for n := len(s.media.endsDue); n > 0 && room > finOverhead; n-- {
		k.frames = append(k.frames, frame{stream: streamAudioEnd, source: s.media.endsDue[n-1], fin: true})
		s.media.endsDue = s.media.endsDue[:n-1]
		room -= finOverhead
	}
	for _, st := range s.streams {
		if len(s.datagrams) > 0 {
			room = s.fillDatagrams(k, room, st.priority)
		}
		if room < roomLeast {
			return room
		}
		room = s.fillStream(now, k, st, room)
	}
	if len(s.datagrams) > 0 {
		room = s.fillDatagrams(k, room, int(^uint(0)>>1))
	}
	return room
}

func (s *sender) fillDatagrams(k *packet, room int32, priority int) int32 {
	n := 0
	for _, d := range s.datagrams {
		size := int32(s.conn.flow.Sources[d.source].Size)
		if d.priority > priority || room < size+datagramOverhead {
			break
		}
		k.frames = append(k.frames, frame{stream: streamDatagram, source: d.source, offset: d.index, length: size})
		room -= size + datagramOverhead
		n++
	}
	s.datagrams = append(s.datagrams[:0], s.datagrams[n:]...)
	return room
}

// fillStream adds lost frames of the stream first, then new ones.
func (s *sender) fillStream(now time.Duration, k *packet, st *sendStream, room int32) int32 {
	before := room
	done := 0
	for done < len(st.repeats) && room >= roomLeast {
		f := &st.repeats[done]
		n, used := frameRoom(st.id, f.offset, int64(f.length), room)
		part := *f
		part.length, part.fin = n, f.fin && n == f.length
		k.frames = append(k.frames, part)
		room -= used
		f.offset += int64(n)
		f.length -= n
		if f.length == 0 {
			done++
		}
	}
	if done > 0 {
		st.repeats = append(st.repeats[:0], st.repeats[done:]...)
	}
	for room >= roomLeast {
		left := s.available(st)
		if left <= 0 {
			break
		}
		n, used := frameRoom(st.id, st.offset, left, room)
		f := frame{stream: st.id, offset: st.offset, length: n}
		st.offset += int64(n)
		s.connSent += int64(n)
		s.advance(now, st, int64(n))
		f.fin = st.finSent
		k.frames = append(k.frames, f)
		room -= used
	}
	if room < before {
		st.last = s.log.next // the packet's number to be
	}
	return room
}

// roomLeast is the least room in which a STREAM frame is begun.
const roomLeast = 9

// frameRoom returns how many of left bytes of a stream fit into a frame, and the
// frame's size.
func frameRoom(id int32, offset, left int64, room int32) (n, used int32) {
	overhead := streamOverhead(id, offset, false)
	if left >= int64(room-overhead) {
		return room - overhead, room
	}
	overhead = streamOverhead(id, offset, true)
	n = int32(min(left, int64(room-overhead)))
	return n, n + overhead
}

// available returns how many new bytes of a stream may be sent.
func (s *sender) available(st *sendStream) int64 {
	if st.finSent || st.closed {
		return 0
	}
	n := st.total - st.offset
	if st.total == 0 {
		n = s.frameBytes(st)
	}
	return min(n, st.limit-st.offset, s.connLimit-s.connSent)
}

// advance notes that n new bytes of a stream were sent.
func (s *sender) advance(now time.Duration, st *sendStream, n int64) {
	if st.total > 0 {
		st.finSent = st.offset == st.total
		return
	}
	s.advanceMedia(now, st, n)
}

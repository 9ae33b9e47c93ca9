package relay

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// logReader reads one subgroup's log, as a cursor does, and compares it with what was appended.
type logReader struct {
	log  *subgroup
	read int
	over bool
}

// logModel is what a log should hold: every byte that was appended to each subgroup.
type logModel struct {
	*logTest
	open    []*subgroup // those that may still grow, by index of the operation
	left    map[*subgroup]int
	bytes   map[*subgroup][]byte
	encoder map[*subgroup]*wire.SubgroupCursor
	nextID  map[*subgroup]uint64
	ended   map[*subgroup]endState
	readers []*logReader
	pos     position
	seen    map[*subgroup]bool
	dgSeen  uint64 // datagrams the subscriber got or was told that it missed
	dgTotal uint64
	cleared bool
}

// FuzzLog does operations on a track's log as publishers, subscribers and the housekeeping do, and holds: the books say
// what is there, bounds hold, a reader sees exactly the bytes that were appended, or that the log was evicted, and a
// subscriber is handed each subgroup once.
func FuzzLog(f *testing.F) {
	f.Add([]byte{0, 1, 0, 1, 0, 40, 2, 0, 200, 5, 0, 6, 0, 3, 0, 0, 2, 0, 7, 8})
	f.Add(bytes.Repeat([]byte{0, 0, 1, 1, 0, 255, 2, 0, 255, 6, 0, 4, 200}, 20))
	f.Add(bytes.Repeat([]byte{9, 3, 200, 7, 4, 250}, 60))
	f.Add([]byte{0, 255, 0, 0, 0, 0, 0, 1, 0, 4, 255, 4, 255, 6, 0, 8, 7, 10, 0, 1, 0})
	f.Fuzz(func(t *testing.T, ops []byte) {
		m := &logModel{
			logTest: newLogTest(t, 60_000, 40_000),
			left:    make(map[*subgroup]int), bytes: make(map[*subgroup][]byte),
			encoder: make(map[*subgroup]*wire.SubgroupCursor), nextID: make(map[*subgroup]uint64),
			ended: make(map[*subgroup]endState), seen: make(map[*subgroup]bool),
		}
		m.pos = m.track.start(0)
		for len(ops) > 0 {
			ops = m.step(ops)
			m.check()
		}
		for _, r := range m.readers {
			m.advance(r, math.MaxInt)
		}
		m.track.clear()
		m.wantBooks()
		if n := m.cache.total.Load(); n != 0 {
			t.Errorf("%d bytes are on the books after all was cleared", n)
		}
	})
}

// step does one operation and returns what is left.
func (m *logModel) step(ops []byte) []byte {
	arg := func() int {
		if len(ops) == 0 {
			return 0
		}
		b := ops[0]
		ops = ops[1:]
		return int(b)
	}
	pick := func() *subgroup {
		if len(m.open) == 0 {
			arg()
			return nil
		}
		return m.open[arg()%len(m.open)]
	}
	switch op := arg() % 11; op {
	case 0: // a stream is opened
		group, sub := uint64(arg()), uint64(arg()%3)
		if group == 255 {
			group = math.MaxUint64
		}
		floor := m.track.floor
		if s := m.logTest.open(nil, group, sub); s != nil {
			if m.cleared || group < floor {
				m.Fatalf("group %d was taken; the floor is %d, cleared: %v", group, floor, m.cleared)
			}
			m.open = append(m.open, s)
			m.encoder[s] = &wire.SubgroupCursor{}
		}
	case 1: // an object begins
		s := pick()
		size := arg() * 17
		if s == nil || m.left[s] > 0 || m.ended[s] != endOpen {
			break
		}
		o := wire.ObjectHeader{ID: m.nextID[s], PayloadLen: uint64(size)}
		alive := !s.gone()
		n, err := s.beginObject(moqt.ObjectHeader(o), m.now)
		if err != nil {
			m.Fatal(err)
		}
		m.track.objectBegan(wire.Location{Group: s.header.Group, Object: o.ID}, n)
		if alive {
			m.bytes[s], _ = m.encoder[s].Append(m.bytes[s], &o, logVersion)
			m.left[s] = size
			m.nextID[s] += 1 + uint64(size%3)
		}
	case 2: // payload arrives
		s := pick()
		n := arg() * 13
		if s == nil || m.ended[s] != endOpen {
			break
		}
		n = min(n, m.left[s])
		b := bytes.Repeat([]byte{byte(len(m.bytes[s]))}, n)
		alive := !s.gone()
		m.track.grew(s.append(b))
		if alive {
			m.bytes[s] = append(m.bytes[s], b...)
			m.left[s] -= n
		}
	case 3: // the stream ends
		s := pick()
		if s == nil || m.ended[s] != endOpen {
			break
		}
		m.ended[s] = endFinished
		if m.left[s] > 0 {
			m.ended[s] = endReset
		}
		s.finish(m.ended[s], wire.StreamCancelled)
	case 4: // time goes by
		m.now = m.now.Add(time.Duration(arg()) * 100 * time.Millisecond)
		m.track.expire(m.now, 10*time.Second, 2*time.Second)
	case 5: // a reader joins
		if s := pick(); s != nil && len(m.readers) < 50 {
			m.readers = append(m.readers, &logReader{log: s})
		}
	case 6: // all readers read a little
		n := 1 + arg()*7
		for _, r := range m.readers {
			m.advance(r, n)
		}
	case 7: // the subscriber looks for what is new
		m.look()
	case 8: // the cache is full
		m.track.evict()
	case 9: // a datagram arrives
		d := moqt.Datagram{Group: uint64(arg()), Payload: make([]byte, 4*arg())}
		ok := m.track.addDatagram(d, nil, m.now) == taken
		if ok == m.cleared {
			m.Fatalf("datagram taken: %v, cleared: %v", ok, m.cleared)
		}
		if ok {
			m.dgTotal++
		}
	case 10: // rarely, the track ends
		if arg() == 1 {
			m.track.clear()
			m.cleared = true
		}
	}
	return ops
}

// advance reads up to n bytes.
func (m *logModel) advance(r *logReader, n int) {
	for n > 0 && !r.over {
		b, end, _, changed := r.log.read(r.read)
		if len(b) == 0 {
			switch {
			case end == endOpen && changed == nil:
				m.Fatal("nothing to read, and nothing to wait for")
			case end == endFinished && r.read != len(m.bytes[r.log]):
				m.Fatalf("the log ended after %d bytes of %d", r.read, len(m.bytes[r.log]))
			}
			r.over = end != endOpen
			return
		}
		b = b[:min(n, len(b))]
		want := m.bytes[r.log][r.read:]
		if len(b) > len(want) || !bytes.Equal(b, want[:len(b)]) {
			m.Fatalf("at %d a reader gets %d bytes that were not appended there", r.read, len(b))
		}
		r.read += len(b)
		n -= len(b)
	}
}

// look takes what is new, as a subscriber does.
func (m *logModel) look() {
	subs, dgs, missed, ended, _ := m.track.after(&m.pos, nil, nil)
	for _, s := range subs {
		if m.seen[s] {
			m.Fatal("a subgroup was handed out twice")
		}
		m.seen[s] = true
	}
	m.dgSeen += missed + uint64(len(dgs))
	if m.dgSeen != m.dgTotal {
		m.Fatalf("%d datagrams were seen or missed, want %d", m.dgSeen, m.dgTotal)
	}
	if (ended != nil) != m.cleared {
		m.Fatalf("ended: %v, want %v", ended, m.cleared)
	}
	for _, s := range m.track.arrivals {
		if !m.seen[s] {
			m.Fatal("a subgroup that is there was not handed out")
		}
	}
}

// check looks at what must hold at all times.
func (m *logModel) check() {
	m.wantBooks()
	t := m.track
	if t.cost > 40_000 || len(t.arrivals) > maxSubgroups || len(t.datagrams) > maxDatagrams {
		m.Fatalf("over a bound: %d bytes, %d subgroups, %d datagrams", t.cost, len(t.arrivals), len(t.datagrams))
	}
	n := 0
	for i, g := range t.groups {
		n += len(g.subgroups)
		if i > 0 && t.groups[i-1].id >= g.id {
			m.Fatal("groups are out of order")
		}
		if newest := i == len(t.groups)-1; newest != g.superseded.IsZero() {
			m.Fatalf("group %d of %d: superseded %v", i, len(t.groups), g.superseded)
		}
	}
	if n != len(t.arrivals) {
		m.Fatalf("%d subgroups in groups, %d in order of arrival", n, len(t.arrivals))
	}
}

package relay

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// logTest drives the log of one track by hand.
type logTest struct {
	*testing.T
	track *track
	cache *cache
	stats *Stats
	now   time.Time
}

func newLogTest(t *testing.T, max int64, maxTrack int) *logTest {
	t.Helper()
	lt := &logTest{T: t, stats: &Stats{}, now: start}
	lt.cache = &cache{max: max, maxTrack: maxTrack, tracks: func() []*track { return []*track{lt.track} }}
	lt.track = newTrack(wire.FullTrackName{Namespace: wire.MustNamespace("live"), Name: "video"}, lt.cache, lt.stats)
	return lt
}

func (lt *logTest) open(by *link, group, sub uint64) *subgroup {
	lt.Helper()
	s, _ := lt.track.openSubgroup(moqt.SubgroupHeader{Group: group, Subgroup: sub}, by, lt.now)
	return s
}

// object appends a whole object.
func (lt *logTest) object(s *subgroup, id uint64, payload []byte) {
	lt.Helper()
	n, err := s.beginObject(moqt.ObjectHeader{ID: id, PayloadLen: uint64(len(payload))}, lt.now)
	if err != nil {
		lt.Fatal(err)
	}
	lt.track.objectBegan(wire.Location{Group: s.header.Group, Object: id}, n)
	lt.track.grew(s.append(payload))
}

func (lt *logTest) wantGroups(want ...uint64) {
	lt.Helper()
	var got []uint64
	for _, g := range lt.track.groups {
		got = append(got, g.id)
	}
	if len(got) != len(want) {
		lt.Fatalf("groups in the log: %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			lt.Fatalf("groups in the log: %v, want %v", got, want)
		}
	}
}

// wantBooks compares the books with what the log really holds.
func (lt *logTest) wantBooks() {
	lt.Helper()
	sum := 0
	for _, g := range lt.track.groups {
		for _, s := range g.subgroups {
			sum += s.charged()
		}
	}
	for _, d := range lt.track.datagrams {
		sum += d.charged()
	}
	if lt.track.cost != sum || lt.cache.total.Load() != int64(sum) {
		lt.Fatalf("books say track %d, cache %d; the log holds %d", lt.track.cost, lt.cache.total.Load(), sum)
	}
}

// contents reads the log of a subgroup that has ended.
func contents(t *testing.T, s *subgroup) []byte {
	t.Helper()
	var all []byte
	for {
		b, end, _, _ := s.read(len(all))
		if len(b) == 0 {
			if end != endFinished {
				t.Fatalf("log ended as %d, want finished", end)
			}
			return all
		}
		all = append(all, b...)
	}
}

func TestLogHoldsWhatWasAppended(t *testing.T) {
	lt := newLogTest(t, 1<<30, 1<<30)
	s := lt.open(nil, 7, 0)
	rng := rand.New(rand.NewPCG(1, 2))
	var want []byte
	var enc wire.SubgroupCursor
	for id := range uint64(60) {
		payload := make([]byte, rng.IntN(100_000))
		for i := range payload {
			payload[i] = byte(rng.Uint32())
		}
		want, _ = enc.Append(want, &wire.ObjectHeader{ID: 3 * id, PayloadLen: uint64(len(payload))}, wire.Draft18)
		want = append(want, payload...)
		n, err := s.beginObject(moqt.ObjectHeader{ID: 3 * id, PayloadLen: uint64(len(payload))}, lt.now)
		if err != nil {
			t.Fatal(err)
		}
		lt.track.objectBegan(wire.Location{Group: 7, Object: 3 * id}, n)
		for len(payload) > 0 { // in pieces, as they arrive
			n := min(len(payload), 1+rng.IntN(20_000))
			lt.track.grew(s.append(payload[:n]))
			payload = payload[n:]
		}
	}
	s.finish(endFinished, 0)
	if got := contents(t, s); !bytes.Equal(got, want) {
		t.Fatalf("log holds %d bytes that differ from the %d appended", len(got), len(want))
	}
	if waste := s.charged() - len(want); waste > len(want)/3 {
		t.Errorf("log of %d bytes costs %d", len(want), s.charged())
	}
	lt.wantBooks()
}

// An object of a few bytes alone in its group must stay cheap: audio makes 50 groups a second.
func TestSmallGroupIsCheap(t *testing.T) {
	lt := newLogTest(t, 1<<30, 1<<30)
	s := lt.open(nil, 1, 0)
	lt.object(s, 0, make([]byte, 80))
	if got := s.charged(); got > 1100 {
		t.Errorf("a group of one 80-byte object costs %d bytes", got)
	}
}

func TestReadersSeeBytesBeforeTheObjectIsComplete(t *testing.T) {
	lt := newLogTest(t, 1<<30, 1<<30)
	s := lt.open(nil, 1, 0)
	s.beginObject(moqt.ObjectHeader{ID: 0, PayloadLen: 1 << 20}, lt.now)
	_, _, _, changed := s.read(s.length())
	s.append([]byte("first"))
	select {
	case <-changed:
	default:
		t.Fatal("readers were not told of the first bytes")
	}
	b, _, _, _ := s.read(0)
	if !bytes.HasSuffix(b, []byte("first")) {
		t.Fatalf("read %q", b)
	}
}

func TestConcurrentReadersGetTheSameBytes(t *testing.T) {
	lt := newLogTest(t, 1<<30, 1<<30)
	s := lt.open(nil, 1, 0)
	var readers sync.WaitGroup
	got := make([][]byte, 8)
	for i := range got {
		readers.Go(func() {
			for {
				b, end, _, changed := s.read(len(got[i]))
				if len(b) > 0 {
					got[i] = append(got[i], b...)
					continue
				}
				if end != endOpen {
					return
				}
				<-changed
			}
		})
	}
	for id := range uint64(200) {
		lt.object(s, id, bytes.Repeat([]byte{byte(id)}, int(id)*37))
	}
	s.finish(endFinished, 0)
	readers.Wait()
	want := contents(t, s)
	for i := range got {
		if !bytes.Equal(got[i], want) {
			t.Errorf("reader %d got %d bytes, want %d", i, len(got[i]), len(want))
		}
	}
}

func TestSecondPublisherOfASubgroupIsRefused(t *testing.T) {
	lt := newLogTest(t, 1<<30, 1<<30)
	a, b := &link{}, &link{}
	first := lt.open(a, 5, 0)
	if lt.open(b, 5, 0) != nil {
		t.Error("the same subgroup was taken twice")
	}
	if lt.open(b, 5, 1) == nil {
		t.Error("another subgroup of the group was refused")
	}
	first.finish(endReset, wire.StreamCancelled)
	if lt.open(b, 5, 0) == nil {
		t.Error("a subgroup whose first publisher was lost cannot be brought by another")
	}
}

func TestPublisherThatBeganAnew(t *testing.T) {
	for _, tt := range []struct {
		name               string
		oldGone, hadBrough bool
		group              uint64
		want               refusal
	}{
		{"older group while the leader lives", false, false, 3, notTaken},
		{"newer group while the leader lives", false, false, 11, taken},
		{"older group after the leader left", true, false, 3, newIfAlone},
		{"older group of one that has brought some", true, true, 3, notTaken},
		{"newer group after the leader left", true, false, 11, taken},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lt := newLogTest(t, 1<<30, 1<<30)
			leader, other := &link{}, &link{}
			lt.object(lt.open(leader, 10, 0), 0, []byte("x"))
			leader.gone.Store(tt.oldGone)
			other.brought.Store(tt.hadBrough)
			s, why := lt.track.openSubgroup(moqt.SubgroupHeader{Group: tt.group}, other, lt.now)
			if (s != nil) != (tt.want == taken) || why != tt.want {
				t.Errorf("taken %v, refusal %v; want %v", s != nil, why, tt.want)
			}
			if !tt.oldGone || tt.want == taken {
				return
			}
			lt.now = lt.now.Add(orphanTime)
			if _, why := lt.track.openSubgroup(moqt.SubgroupHeader{Group: tt.group + 1}, other, lt.now); why != newForSure {
				t.Errorf("refusal %v after the leader was not followed for a while, want %v", why, newForSure)
			}
		})
	}
}

func TestEvictionByAgeKeepsTheNewestGroup(t *testing.T) {
	lt := newLogTest(t, 1<<30, 1<<30)
	for g := range uint64(3) {
		s := lt.open(nil, g, 0)
		lt.object(s, 0, make([]byte, 1000))
		s.finish(endFinished, 0)
		lt.now = lt.now.Add(time.Second)
	}
	lt.track.expire(lt.now.Add(time.Minute), 10*time.Second, 2*time.Second)
	lt.wantGroups(2)
	lt.track.expire(lt.now.Add(time.Hour), 10*time.Second, 2*time.Second)
	lt.wantGroups(2) // a catalog written once stays
	if got := lt.stats.CacheEvictions[EvictAge].Load(); got != 2 {
		t.Errorf("%d groups counted as evicted by age, want 2", got)
	}
	lt.wantBooks()
	if s := lt.open(nil, 0, 0); s != nil {
		t.Error("a late stream of an evicted group was taken")
	}
}

func TestEvictionByBytes(t *testing.T) {
	lt := newLogTest(t, 1<<30, 100_000)
	for g := range uint64(20) {
		s := lt.open(nil, g, 0)
		lt.object(s, 0, make([]byte, 20_000))
		s.finish(endFinished, 0)
		if lt.track.cost > 100_000 {
			t.Fatalf("track costs %d after group %d", lt.track.cost, g)
		}
	}
	lt.wantGroups(16, 17, 18, 19)
	lt.wantBooks()
}

// A group that never ends must not eat the memory: it is dropped, and the publisher's stream with it.
func TestGroupLargerThanTheCacheIsDropped(t *testing.T) {
	lt := newLogTest(t, 1<<30, 100_000)
	s := lt.open(nil, 1, 0)
	for id := range uint64(20) {
		lt.object(s, id, make([]byte, 10_000))
	}
	if !s.gone() {
		t.Fatal("the group is still there")
	}
	lt.wantGroups()
	lt.wantBooks()
	if lt.open(nil, 2, 0) == nil {
		t.Error("the next group was refused")
	}
}

func TestCacheBoundOverAllTracks(t *testing.T) {
	var tracks []*track
	c := &cache{max: 200_000, maxTrack: 1 << 30, tracks: func() []*track { return tracks }}
	now := start
	for i := range 4 {
		tracks = append(tracks, newTrack(wire.FullTrackName{Name: string(rune('a' + i))}, c, &Stats{}))
	}
	for g := range uint64(10) {
		for _, tr := range tracks {
			lt := &logTest{T: t, track: tr, cache: c, now: now}
			lt.object(lt.open(nil, g, 0), 0, make([]byte, 10_000))
		}
		now = now.Add(time.Second)
		if got := c.total.Load(); got > 200_000 {
			t.Fatalf("cache holds %d bytes after group %d", got, g)
		}
	}
	for _, tr := range tracks {
		if n := len(tr.groups); n < 3 || tr.groups[n-1].id != 9 {
			t.Errorf("track %s kept %d groups", tr.name.Name, n)
		}
		tr.clear()
	}
	if got := c.total.Load(); got != 0 {
		t.Errorf("cache holds %d bytes after everything was cleared", got)
	}
}

// Many tracks with one large group each must not get past the bound either.
func TestCacheBoundWithNewestGroupsOnly(t *testing.T) {
	var tracks []*track
	c := &cache{max: 200_000, maxTrack: 1 << 30, tracks: func() []*track { return tracks }}
	for i := range 50 {
		tr := newTrack(wire.FullTrackName{Name: string(rune('a' + i))}, c, &Stats{})
		tracks = append(tracks, tr)
		lt := &logTest{T: t, track: tr, cache: c, now: start}
		lt.object(lt.open(nil, 1, 0), 0, make([]byte, 30_000))
		if got := c.total.Load(); got > 200_000 {
			t.Fatalf("cache holds %d bytes with %d tracks", got, i+1)
		}
	}
}

func TestManySmallSubgroupsAreBounded(t *testing.T) {
	lt := newLogTest(t, 1<<40, 1<<40)
	for g := range uint64(maxSubgroups + 500) {
		s := lt.open(nil, g, 0)
		lt.object(s, 0, []byte("x"))
		s.finish(endFinished, 0)
	}
	if n := len(lt.track.arrivals); n > maxSubgroups {
		t.Errorf("%d subgroups are kept, want at most %d", n, maxSubgroups)
	}
	lt.wantBooks()
}

// A publisher that once sends a group id far ahead and then goes on as before: the groups below are carried, and leave
// nothing behind.
func TestGroupsBelowOneThatStays(t *testing.T) {
	lt := newLogTest(t, 1<<30, 1<<30)
	lt.object(lt.open(nil, 1<<40, 0), 0, []byte("x"))
	p := lt.track.start(0)
	for g := range uint64(maxSubgroups + 500) {
		s := lt.open(nil, g, 0)
		if s == nil {
			t.Fatalf("group %d was refused", g)
		}
		lt.object(s, 0, []byte("x"))
		s.finish(endFinished, 0)
		if subs, _, _, _, _ := lt.track.after(&p, nil, nil); len(subs) == 0 || subs[len(subs)-1].gone() {
			t.Fatalf("group %d is not handed out", g)
		}
		lt.now = lt.now.Add(20 * time.Millisecond)
		lt.track.expire(lt.now, time.Second, time.Second)
	}
	if n := len(lt.track.arrivals); n > 60 {
		t.Errorf("%d entries are left in the order of arrival", n)
	}
	lt.wantBooks()
}

// A track that has one group for ever, with a stream for each object, goes on: the oldest streams leave the cache.
func TestOneGroupForEver(t *testing.T) {
	lt := newLogTest(t, 1<<30, 1<<30)
	for sub := range uint64(maxSubgroups + 500) {
		s := lt.open(nil, 0, sub)
		if s == nil {
			t.Fatalf("subgroup %d was refused", sub)
		}
		lt.object(s, sub, []byte("x"))
		s.finish(endFinished, 0)
	}
	if n := len(lt.track.arrivals); n != maxSubgroups {
		t.Errorf("%d subgroups are kept, want %d", n, maxSubgroups)
	}
	lt.wantBooks()
}

func TestDatagramsAreDroppedWithAge(t *testing.T) {
	lt := newLogTest(t, 1<<30, 1<<30)
	for i := range uint64(10) {
		lt.track.addDatagram(moqt.Datagram{Object: i}, nil, lt.now)
		lt.now = lt.now.Add(time.Second)
	}
	lt.track.expire(lt.now, 5*time.Second, time.Second)
	if n := len(lt.track.datagrams); n != 5 {
		t.Errorf("%d datagrams are left, want 5", n)
	}
	lt.wantBooks()
}

func TestDatagramsThatASubscriberMissed(t *testing.T) {
	lt := newLogTest(t, 1<<30, 1<<30)
	p := lt.track.start(0)
	for id := range uint64(maxDatagrams + 10) {
		lt.track.addDatagram(moqt.Datagram{Object: id, Payload: []byte{byte(id)}}, nil, lt.now)
	}
	_, dgs, missed, _, _ := lt.track.after(&p, nil, nil)
	if missed != 10 || len(dgs) != maxDatagrams || dgs[0].object.Object != 10 {
		t.Errorf("missed %d, got %d beginning with %d; want 10, %d, 10", missed, len(dgs), dgs[0].object.Object, maxDatagrams)
	}
	lt.wantBooks()
	lt.track.clear()
	lt.wantBooks()
}

func TestPositionSurvivesEviction(t *testing.T) {
	lt := newLogTest(t, 1<<30, 1<<30)
	p := lt.track.start(0)
	for g := range uint64(5) {
		lt.open(nil, g, 0)
	}
	lt.track.mu.Lock()
	lt.track.evictOldest()
	lt.track.evictOldest()
	lt.track.mu.Unlock()
	subs, _, _, _, _ := lt.track.after(&p, nil, nil)
	if len(subs) != 3 || subs[0].header.Group != 2 {
		t.Fatalf("got %d subgroups, want those of groups 2 to 4", len(subs))
	}
	lt.open(nil, 5, 0)
	subs, _, _, _, _ = lt.track.after(&p, nil, nil)
	if len(subs) != 1 || subs[0].header.Group != 5 {
		t.Errorf("got %d subgroups after group 5, want that one", len(subs))
	}
}

func TestStartIsTheCurrentGroup(t *testing.T) {
	lt := newLogTest(t, 1<<30, 1<<30)
	for g := range uint64(4) {
		lt.open(nil, g, 0)
		lt.open(nil, g, 1)
	}
	p := lt.track.start(3)
	subs, _, _, _, _ := lt.track.after(&p, nil, nil)
	if len(subs) != 2 || subs[0].header.Group != 3 || subs[1].header.Group != 3 {
		t.Errorf("a late subscriber starts with %d subgroups, want both of group 3", len(subs))
	}
}

func BenchmarkAppendAndRead(b *testing.B) {
	c := &cache{max: 1 << 40, maxTrack: 1 << 30, tracks: func() []*track { return nil }}
	tr := newTrack(wire.FullTrackName{}, c, &Stats{})
	payload := make([]byte, 6250)
	b.SetBytes(int64(len(payload)))
	b.ReportAllocs()
	g := uint64(0)
	var s *subgroup
	for i := 0; b.Loop(); i++ {
		if i%30 == 0 {
			if s != nil {
				s.finish(endFinished, 0)
			}
			g++
			s, _ = tr.openSubgroup(moqt.SubgroupHeader{Group: g}, nil, start)
			tr.expire(start.Add(time.Duration(g)*time.Second), 5*time.Second, time.Second)
		}
		n, _ := s.beginObject(moqt.ObjectHeader{ID: uint64(i % 30), PayloadLen: uint64(len(payload))}, start)
		tr.objectBegan(wire.Location{Group: g, Object: uint64(i % 30)}, n)
		tr.grew(s.append(payload))
	}
}

// A publisher whose group ids begin anew within its subscription is followed, but a straggler does not make it so.
func TestGroupsBeginAnew(t *testing.T) {
	lt := newLogTest(t, 1<<20, 1<<20)
	by := &link{}
	lt.object(lt.open(by, 100, 0), 0, []byte("x"))
	lt.object(lt.open(by, 101, 0), 0, []byte("x"))
	lt.now = lt.now.Add(time.Minute)
	lt.track.expire(lt.now, 10*time.Second, 2*time.Second)
	lt.wantGroups(101)
	refused := func(group uint64, want refusal) {
		t.Helper()
		if s, why := lt.track.openSubgroup(moqt.SubgroupHeader{Group: group}, by, lt.now); s != nil || why != want {
			t.Errorf("group %d: %v, refusal %v, want %v", group, s, why, want)
		}
	}
	refused(99, notTaken)
	lt.now = lt.now.Add(time.Second)
	lt.object(lt.open(by, 102, 0), 0, []byte("x"))
	lt.now = lt.now.Add(5 * time.Second)
	refused(100, notTaken) // a straggler
	for g := range uint64(2) {
		lt.now = lt.now.Add(orphanTime/2 - 1)
		refused(g, notTaken)
	}
	lt.now = lt.now.Add(2)
	refused(2, newForSure)
}

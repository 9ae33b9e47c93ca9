package priority

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// rankTest drives a Ranking and remembers what Poll said, as a transport would.
type rankTest struct {
	t       *testing.T
	r       Ranking[string]
	entries map[string]*Entry[string]
	got     map[string]uint8
	polled  int
}

func newRankTest(t *testing.T) *rankTest {
	return &rankTest{t: t, entries: map[string]*Entry[string]{}, got: map[string]uint8{}}
}

func (rt *rankTest) poll() {
	for {
		name, u, ok := rt.r.Poll()
		if !ok {
			return
		}
		rt.polled++
		rt.got[name] = u
	}
}

func (rt *rankTest) add(name string, k Key) {
	rt.entries[name] = rt.r.Add(k, name, t0)
	rt.poll()
}

func (rt *rankTest) remove(name string) {
	rt.r.Remove(rt.entries[name], true)
	delete(rt.got, name)
	rt.poll()
}

func (rt *rankTest) want(why string, want map[string]uint8) {
	rt.t.Helper()
	if fmt.Sprint(rt.got) != fmt.Sprint(want) {
		rt.t.Errorf("%s:\n got %v\nwant %v", why, rt.got, want)
	}
}

func TestRankingClasses(t *testing.T) {
	rt := newRankTest(t)
	rt.add("video6", Key{Subscriber: 128, Publisher: 6, Request: 3})
	rt.want("alone", map[string]uint8{"video6": 1})
	rt.add("audio2", Key{Subscriber: 128, Publisher: 2, Request: 1})
	rt.add("video4", Key{Subscriber: 128, Publisher: 4, Request: 2})
	rt.want("publisher priority", map[string]uint8{"audio2": 1, "video4": 2, "video6": 3})
	rt.add("other", Key{Subscriber: 127, Publisher: 255, Request: 4})
	rt.want("subscriber priority comes first", map[string]uint8{"other": 1, "audio2": 2, "video4": 3, "video6": 4})
	rt.remove("audio2")
	rt.want("those behind move up", map[string]uint8{"other": 1, "video4": 2, "video6": 3})
}

func TestRankingGroupOrder(t *testing.T) {
	for _, descending := range []bool{false, true} {
		rt := newRankTest(t)
		k := func(group, subgroup uint64) Key {
			return Key{Subscriber: 128, Publisher: 128, Descending: descending, Group: group, Subgroup: subgroup}
		}
		rt.add("g7", k(7, 0))
		rt.add("g8", k(8, 0))
		rt.add("g8s1", k(8, 1))
		rt.add("g6", k(6, 0))
		want := map[string]uint8{"g6": 1, "g7": 2, "g8": 3, "g8s1": 4}
		if descending {
			want = map[string]uint8{"g8": 1, "g8s1": 2, "g7": 3, "g6": 4}
		}
		rt.want(fmt.Sprintf("descending %v", descending), want)
	}
}

func TestRankingEqualRequestsShare(t *testing.T) {
	rt := newRankTest(t)
	rt.add("a1", Key{Publisher: 4, Request: 1, Group: 100})
	rt.add("a2", Key{Publisher: 4, Request: 1, Group: 101})
	rt.add("b1", Key{Publisher: 4, Request: 2, Group: 5})
	rt.add("b2", Key{Publisher: 4, Request: 2, Group: 6})
	rt.want("the first streams of both requests come before the second ones",
		map[string]uint8{"a1": 1, "b1": 1, "a2": 2, "b2": 2})
}

func TestRankingMoreThanUrgencies(t *testing.T) {
	rt := newRankTest(t)
	for g := range 10 {
		rt.add(fmt.Sprintf("a%d", g), Key{Publisher: 4, Request: 1, Group: uint64(g)})
		rt.add(fmt.Sprintf("b%d", g), Key{Publisher: 6, Request: 2, Group: uint64(g)})
	}
	for g := range 10 {
		a, b := rt.got[fmt.Sprintf("a%d", g)], rt.got[fmt.Sprintf("b%d", g)]
		if want := uint8(min(g, 6) + 1); a != want {
			t.Errorf("a%d: urgency %d, want %d", g, a, want)
		}
		if b != MaxUrgency {
			t.Errorf("b%d: urgency %d, want %d", g, b, MaxUrgency)
		}
	}

	rt = newRankTest(t)
	for p := range 12 {
		rt.add(fmt.Sprintf("p%d", p), Key{Publisher: uint8(p)})
	}
	for p := range 12 {
		if got, want := rt.got[fmt.Sprintf("p%d", p)], uint8(min(p, 6)+1); got != want {
			t.Errorf("class %d: urgency %d, want %d", p, got, want)
		}
	}
}

func TestRankingMove(t *testing.T) {
	rt := newRankTest(t)
	rt.add("a", Key{Subscriber: 10})
	rt.add("b", Key{Subscriber: 20})
	rt.r.Move(rt.entries["b"], Key{Subscriber: 5})
	rt.poll()
	rt.want("b overtakes", map[string]uint8{"a": 2, "b": 1})
	before := rt.polled
	rt.r.Move(rt.entries["b"], Key{Subscriber: 6})
	rt.poll()
	if rt.polled != before {
		t.Errorf("a move that changes no urgency was reported")
	}
	rt.r.Remove(rt.entries["a"], true)
	rt.r.Remove(rt.entries["a"], true)
	rt.r.Move(rt.entries["a"], Key{})
	if rt.r.Len() != 1 {
		t.Errorf("%d streams are left, want 1", rt.r.Len())
	}
}

// TestRankingRandom holds, for random sets, what must always hold: an urgency is in
// range, no stream has a lower urgency number than one the draft puts before it, and
// Poll has told all of it.
func TestRankingRandom(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	rt := newRankTest(t)
	for i := range 2000 {
		if len(rt.entries) > 0 && (len(rt.entries) == 30 || rnd.IntN(3) == 0) {
			for name := range rt.entries {
				rt.remove(name)
				delete(rt.entries, name)
				break
			}
		} else {
			request := rnd.Uint64N(4)
			rt.add(fmt.Sprint(i), Key{
				Subscriber: uint8(rnd.IntN(3)), Publisher: uint8(rnd.IntN(3)), Request: request,
				Descending: request%2 == 1, Group: rnd.Uint64N(20), Subgroup: rnd.Uint64N(2),
			})
		}
		var all []*Entry[string]
		for name, e := range rt.entries {
			if u := e.urgency; u != rt.got[name] || u < MinUrgency || u > MaxUrgency {
				t.Fatalf("step %d: urgency %d, told %d", i, u, rt.got[name])
			}
			all = append(all, e)
		}
		for _, a := range all {
			for _, b := range all {
				ka, kb := a.Key(), b.Key()
				c := ka.class(&kb)
				if c == 0 && ka.Request == kb.Request {
					c = ka.within(&kb)
				} else if c == 0 {
					continue
				}
				if c < 0 && a.urgency > b.urgency {
					t.Fatalf("step %d: %+v has urgency %d, %+v has %d", i, ka, a.urgency, kb, b.urgency)
				}
			}
		}
	}
}

// Only streams that wait take urgencies.
func TestRankingWaiting(t *testing.T) {
	rt := newRankTest(t)
	now := t0
	start := func(name string) { rt.r.Start(rt.entries[name], now); rt.poll() }
	stop := func(name string, served bool) { rt.r.Stop(rt.entries[name], served, now); rt.poll() }
	wantWaiting := func(why string, n int) {
		t.Helper()
		if len(rt.r.entries) != n {
			t.Errorf("%s: %d wait, want %d", why, len(rt.r.entries), n)
		}
	}
	for p := range 10 {
		rt.add(fmt.Sprint(p), Key{Publisher: uint8(p)})
		start(fmt.Sprint(p))
	}
	rt.want("four share the last urgency",
		map[string]uint8{"0": 1, "1": 2, "2": 3, "3": 4, "4": 5, "5": 6, "6": 7, "7": 7, "8": 7, "9": 7})
	stop("0", true)
	rt.want("its last packet may be with the transport",
		map[string]uint8{"0": 1, "1": 2, "2": 3, "3": 4, "4": 5, "5": 6, "6": 7, "7": 7, "8": 7, "9": 7})
	stop("1", true)
	wantWaiting("the next one was served, so the first has nothing left", 9)
	stop("2", false)
	rt.want("a last packet shares the urgency of the one before",
		map[string]uint8{"0": 1, "1": 1, "2": 1, "3": 2, "4": 3, "5": 4, "6": 5, "7": 6, "8": 7, "9": 7})
	wantWaiting("nothing of it was sent yet, which says nothing of others", 9)
	stop("4", true)
	wantWaiting("those before have nothing left, but for the one that writes", 7)
	now = now.Add(lingerTime + 1)
	start("0")
	wantWaiting("what has waited long for nothing is gone", 7)
	rt.want("there is enough for all",
		map[string]uint8{"0": 1, "1": 1, "2": 1, "3": 2, "4": 2, "5": 3, "6": 4, "7": 5, "8": 6, "9": 7})
	for p := 5; p < 9; p++ {
		stop(fmt.Sprint(p), false)
		rt.r.Remove(rt.entries[fmt.Sprint(p)], false)
	}
	wantWaiting("the rest of closed streams may still go out", 7)
	if n := rt.r.Len(); n != 6 {
		t.Errorf("%d are open, want 6", n)
	}
	now = now.Add(lingerTime + 1)
	rt.r.Add(Key{Publisher: 20}, "new", now)
	wantWaiting("but not for ever", 4)
}

// Many small streams, of which the transport may have kept the last packet, do not push a new one of theirs behind others.
func TestRankingLastPackets(t *testing.T) {
	rt := newRankTest(t)
	rt.add("bulk", Key{Subscriber: 20, Request: 2})
	rt.r.Start(rt.entries["bulk"], t0)
	for g := range 30 {
		name := fmt.Sprint("audio", g)
		rt.add(name, Key{Subscriber: 10, Request: 1, Group: uint64(g)})
		rt.r.Start(rt.entries[name], t0)
		rt.r.Stop(rt.entries[name], false, t0)
		rt.r.Remove(rt.entries[name], false)
		rt.poll()
		if a, b := rt.got[name], rt.got["bulk"]; a >= b {
			t.Fatalf("group %d has urgency %d, the bulk %d", g, a, b)
		}
	}
}

func TestRankingPollAllocs(t *testing.T) {
	var r Ranking[int]
	r.Add(Key{Subscriber: 1}, 1, t0)
	e := r.Add(Key{Subscriber: 2}, 2, t0)
	keys := []Key{{Subscriber: 0}, {Subscriber: 2}}
	i := 0
	n := testing.AllocsPerRun(100, func() {
		r.Move(e, keys[i%2])
		i++
		for {
			if _, _, ok := r.Poll(); !ok {
				break
			}
		}
	})
	if n > 0 {
		t.Errorf("%v allocations per change", n)
	}
}

func BenchmarkRanking(b *testing.B) {
	var r Ranking[int]
	var es []*Entry[int]
	for i := range 30 {
		es = append(es, r.Add(Key{Publisher: uint8(i % 3), Request: uint64(i % 3), Group: uint64(i)}, i, t0))
	}
	b.ReportAllocs()
	i := uint64(30)
	for b.Loop() {
		r.Remove(es[0], true)
		es = append(slices.Delete(es, 0, 1), r.Add(Key{Publisher: uint8(i % 3), Request: i % 3, Group: i}, 0, t0))
		i++
		for {
			if _, _, ok := r.Poll(); !ok {
				break
			}
		}
	}
}

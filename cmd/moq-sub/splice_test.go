package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/media"
)

// spliceTest drives a splicer of two renditions, 0 the better one, with groups of three objects.
type spliceTest struct {
	*testing.T
	s   *splicer
	now time.Time
}

func newSpliceTest(t *testing.T) *spliceTest {
	return &spliceTest{T: t, s: newSplicer(2, time.Second), now: time.Unix(1000, 0)}
}

func (st *spliceTest) objects(rank int, group uint64, from, n uint64) {
	for o := from; o < from+n; o++ {
		st.s.OnObject(rank, media.Packet{Group: group, Object: o, Payload: []byte{1}})
	}
}

func (st *spliceTest) whole(rank int, group uint64) {
	st.objects(rank, group, 0, 3)
	st.s.OnEnd(st.now, rank, group, true)
}

func (st *spliceTest) cut(rank int, group, n uint64) {
	st.objects(rank, group, 0, n)
	st.s.OnEnd(st.now, rank, group, false)
}

// want checks what Poll returns, as "group:rank/objects".
func (st *spliceTest) want(why, want string) {
	st.Helper()
	var got []string
	for {
		p, ok := st.s.Poll(st.now)
		if !ok {
			break
		}
		got = append(got, fmt.Sprintf("%d:%d/%d", p.group, p.rank, len(p.packets)))
	}
	if s := strings.Join(got, " "); s != want {
		st.Errorf("%s: got %q, want %q", why, s, want)
	}
}

func TestSplicer(t *testing.T) {
	st := newSpliceTest(t)
	st.whole(1, 10)
	st.want("the better one may come", "")
	st.whole(0, 10)
	st.want("it has", "10:0/3")
	st.whole(0, 11)
	st.want("there is nothing better", "11:0/3")
	st.objects(1, 11, 0, 3)
	if st.s.late != 3 {
		t.Errorf("%d objects were late, want 3", st.s.late)
	}

	st.cut(0, 12, 2)
	st.objects(1, 12, 0, 2)
	st.want("the lesser one is on its way", "")
	st.objects(1, 12, 2, 1)
	st.s.OnEnd(st.now, 1, 12, true)
	st.want("the better one was given up: the lesser one, whole, and nothing of the better one", "12:1/3")

	st.cut(0, 13, 2)
	st.cut(1, 13, 1)
	st.want("none is whole: the longest", "13:0/2")

	st.whole(1, 14)
	if at, ok := st.s.Deadline(); !ok || !at.Equal(st.now.Add(time.Second)) {
		t.Errorf("deadline %v, %v", at, ok)
	}
	st.now = st.now.Add(time.Second - 1)
	st.want("the better one is waited for", "")
	st.now = st.now.Add(1)
	st.want("long enough", "14:1/3")

	st.objects(0, 15, 0, 1) // and no end
	st.whole(0, 16)
	st.whole(1, 16)
	st.want("the group before may go on", "")
	st.now = st.now.Add(time.Second)
	st.want("it does not", "15:0/1 16:0/3")

	st.objects(0, 17, 1, 2) // the beginning is missing
	st.s.OnEnd(st.now, 0, 17, true)
	st.cut(1, 17, 0)
	st.whole(0, 18)
	st.want("nothing of it can be decoded", "18:0/3")

	st.s.OnSubscription(0)
	st.whole(0, 3)
	st.want("the publisher counts anew", "3:0/3")
}

func TestSplicerBounds(t *testing.T) {
	st := newSpliceTest(t)
	for g := range uint64(maxSpliceGroups + 5) {
		st.objects(0, g, 0, 1)
	}
	n := 0
	for {
		if _, ok := st.s.Poll(st.now); !ok {
			break
		}
		n++
	}
	if n != 5 || len(st.s.groups) != maxSpliceGroups {
		t.Errorf("%d groups were decided, %d are held back", n, len(st.s.groups))
	}
}

// A group of endless tiny objects is not held back for ever.
func TestSplicerBoundsTinyObjects(t *testing.T) {
	st := newSpliceTest(t)
	const most = maxSpliceBytes / (packetOverhead + 1)
	st.objects(1, 5, 0, most)
	if _, ok := st.s.Poll(st.now); ok {
		t.Error("given up early")
	}
	st.objects(1, 5, most, 1)
	if _, ok := st.s.Poll(st.now); !ok {
		t.Errorf("%d objects are held back", most+1)
	}
	if st.s.bytes != 0 {
		t.Errorf("%d bytes are on the books of nothing", st.s.bytes)
	}
}

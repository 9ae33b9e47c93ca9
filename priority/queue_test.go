package priority

import (
	"slices"
	"testing"
	"time"
)

var t0 = time.Unix(1000, 0)

func drain(q *Queue[string]) (out []string) {
	for {
		v, ok := q.Pop()
		if !ok {
			return out
		}
		out = append(out, v)
	}
}

func TestQueueOrder(t *testing.T) {
	q := NewQueue[string](16)
	push := func(name string, k Key) { q.Push(name, k, t0) }
	push("late class", Key{Publisher: 6, Request: 1})
	push("a g2", Key{Publisher: 2, Request: 2, Group: 2})
	push("b g1", Key{Publisher: 2, Request: 3, Group: 1, Subgroup: 9})
	push("a g1 o1", Key{Publisher: 2, Request: 2, Group: 1, Subgroup: 1})
	push("a g1 o0", Key{Publisher: 2, Request: 2, Group: 1, Subgroup: 0})
	push("first class", Key{Publisher: 1, Request: 4})
	// The datagrams of "a" have waited longer than that of "b".
	want := []string{"first class", "a g1 o0", "a g1 o1", "a g2", "b g1", "late class"}
	if got := drain(q); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}

	push("old", Key{Descending: true, Group: 1})
	push("new", Key{Descending: true, Group: 2})
	if got := drain(q); !slices.Equal(got, []string{"new", "old"}) {
		t.Errorf("descending: %q", got)
	}
}

func TestQueueFull(t *testing.T) {
	q := NewQueue[string](2)
	q.Push("audio 1", Key{Publisher: 2}, t0)
	q.Push("audio 2", Key{Publisher: 2}, t0)
	if out, full := q.Push("audio 3", Key{Publisher: 2}, t0); !full || out != "audio 1" {
		t.Errorf("pushed out %q, want the oldest", out)
	}
	if out, full := q.Push("video", Key{Publisher: 6}, t0); !full || out != "video" {
		t.Errorf("pushed out %q, want the least urgent", out)
	}
	if got := drain(q); !slices.Equal(got, []string{"audio 2", "audio 3"}) {
		t.Errorf("left: %q", got)
	}
}

func TestQueueExpire(t *testing.T) {
	q := NewQueue[string](8)
	q.Push("a", Key{}, t0.Add(250*time.Millisecond))
	q.Push("b", Key{}, t0.Add(100*time.Millisecond))
	if v, ok := q.Expire(t0.Add(99 * time.Millisecond)); ok {
		t.Errorf("%q expired early", v)
	}
	if v, ok := q.Expire(t0.Add(100 * time.Millisecond)); !ok || v != "b" {
		t.Errorf("at its deadline: %q, %v", v, ok)
	}
	if v, ok := q.Expire(t0.Add(100 * time.Millisecond)); ok {
		t.Errorf("%q expired early", v)
	}
}

func TestQueueRemove(t *testing.T) {
	q := NewQueue[string](8)
	q.Push("a", Key{Request: 1}, t0)
	q.Push("b", Key{Request: 2}, t0)
	q.Push("c", Key{Request: 1}, t0)
	for _, want := range []string{"a", "c"} {
		if v, ok := q.Remove(1); !ok || v != want {
			t.Errorf("got %q, %v, want %q", v, ok, want)
		}
	}
	if _, ok := q.Remove(1); ok {
		t.Error("there is more")
	}
	if q.Len() != 1 {
		t.Errorf("%d left", q.Len())
	}
}

func TestQueueAllocs(t *testing.T) {
	q := NewQueue[int](8)
	for i := range 7 {
		q.Push(i, Key{}, t0)
	}
	if n := testing.AllocsPerRun(100, func() {
		q.Push(1, Key{}, t0)
		q.Pop()
	}); n > 0 {
		t.Errorf("%v allocations per datagram", n)
	}
}

package relay

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// The index finds what a look at all names would find, odd bytes included.
func TestIndex(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	fields := []string{"a", "ab", "b", "\x00", "\x00\x01", "\xff", "a\x00", ".", "ü"}
	random := func() (name wire.FullTrackName) {
		parts := make([]string, rnd.IntN(4))
		for i := range parts {
			parts[i] = fields[rnd.IntN(len(fields))]
		}
		return wire.FullTrackName{Namespace: wire.MustNamespace(parts...), Name: fields[rnd.IntN(3)]}
	}
	var x index
	there := make(map[wire.FullTrackName]bool)
	for range 3000 {
		name := random()
		if rnd.IntN(2) == 0 {
			x.add(name)
			there[name] = true
		} else {
			x.remove(name)
			delete(there, name)
		}
		prefix := random().Namespace
		want := slices.SortedFunc(maps.Keys(there), compareNames)
		want = slices.DeleteFunc(want, func(n wire.FullTrackName) bool { return !n.Namespace.HasPrefix(prefix) })
		if got := slices.Collect(x.below(prefix)); !slices.Equal(got, want) {
			t.Fatalf("below %v: %v, want %v", prefix, got, want)
		}
	}
}

// The index has what the relay has, over restarts and lost publishers.
func (r *Relay) checkIndex(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if want := slices.SortedFunc(maps.Keys(r.routes), compareNames); !slices.Equal(want, r.carried) {
		t.Errorf("tracks in the index: %v, want %v", r.carried, want)
	}
	var announced []wire.FullTrackName
	for ns := range r.announcements {
		announced = append(announced, wire.FullTrackName{Namespace: ns})
	}
	slices.SortFunc(announced, compareNames)
	if !slices.Equal(announced, r.announced) {
		t.Errorf("namespaces in the index: %v, want %v", r.announced, announced)
	}
}

// BenchmarkNamespaces is what one change costs for a session that has subscribed to 1,000 prefixes below which nothing is, with
// 16,000 namespaces of others.
func BenchmarkNamespaces(b *testing.B) {
	r := New(Config{})
	for i := range 16000 {
		if _, refused := r.announce(&session{}, wire.MustNamespace("live", fmt.Sprint(i))); refused != nil {
			b.Fatal(refused)
		}
	}
	var prefixes []wire.Namespace
	for i := range 1000 {
		prefixes = append(prefixes, wire.MustNamespace("none", fmt.Sprint(i)))
	}
	b.ResetTimer()
	for b.Loop() {
		for _, p := range prefixes {
			r.namespaces(p)
		}
	}
}

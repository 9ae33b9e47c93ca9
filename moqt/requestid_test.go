package moqt

import (
	"math/rand/v2"
	"testing"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

func TestIDWindow(t *testing.T) {
	w := idWindow{parity: 1}
	for _, step := range []struct {
		id   uint64
		want bool
	}{
		{1, true},
		{1, false},                          // duplicate
		{2, false},                          // not the peer's
		{7, true},                           // out of order
		{3, true},                           // late
		{7, false},                          // duplicate above a gap
		{5, true},                           // the last one missing
		{5, false},                          // duplicate below
		{9, true},                           // in order again
		{1<<63 + 1, true},                   // far away
		{1<<63 + 1, false},                  // duplicate
		{11, false},                         // too late to tell
		{1<<63 - 2*idWindowSize + 3, true},  // the oldest that can be told
		{1<<63 - 2*idWindowSize + 1, false}, // too late to tell
		{1<<64 - 1, true},
		{1<<64 - 1, false},
	} {
		if got := w.use(step.id); got != step.want {
			t.Errorf("id %d: %v, want %v", step.id, got, step.want)
		}
	}
}

func TestIDWindowSmallestUnused(t *testing.T) {
	for parity := range uint64(2) {
		w := idWindow{parity: parity}
		if got := w.smallestUnused(); got != parity {
			t.Errorf("at first %d", got)
		}
		w.use(4 + parity)
		w.use(0 + parity)
		if got := w.smallestUnused(); got != 6+parity {
			t.Errorf("got %d", got)
		}
	}
}

// Against a set without bounds: never a wrong refusal inside the window, never a duplicate let through.
func TestIDWindowRandom(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var w idWindow
	used := map[uint64]bool{}
	var top uint64
	for range 200_000 {
		id := 2 * (top - min(top, rnd.Uint64N(6000)) + rnd.Uint64N(3))
		if rnd.IntN(2000) == 0 {
			id += 2 * rnd.Uint64N(10000)
		}
		inside := id/2+idWindowSize > top
		if was := w.wasUsed(id); used[id] && !was || inside && was != used[id] {
			t.Fatalf("id %d: used %v, told %v", id, used[id], was)
		}
		got := w.use(id)
		switch {
		case got && used[id]:
			t.Fatalf("id %d was let through twice", id)
		case !got && !used[id] && inside:
			t.Fatalf("id %d was refused; the largest is %d", id, 2*top)
		}
		if got {
			used[id] = true
		}
		top = max(top, id/2)
	}
}

func TestRequestIDs(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		// "Streams race": ids in any order are right.
		for _, id := range []uint64{4, 0, 2, 100} {
			st.request(&wire.PublishNamespace{RequestID: id, Namespace: ns("live")})
			accept[*IncomingPublishNamespace](st)
		}
		st.request(&wire.PublishNamespace{RequestID: 4, Namespace: ns("live")})
		st.wantClose("duplicate", wire.SessionInvalidRequestID)
	})
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		st.request(&wire.PublishNamespace{RequestID: 1, Namespace: ns("live")})
		st.wantClose("a server's id from a client", wire.SessionInvalidRequestID)
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		st.request(&wire.PublishNamespace{RequestID: 0, Namespace: ns("live")})
		st.wantClose("a client's id from a server", wire.SessionInvalidRequestID)
	})
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		_, ps := st.subscribed(wire.Params{}, AcceptSubscribe{})
		ps.send(&wire.RequestUpdate{RequestID: 0})
		st.wantClose("an update has an id of its own", wire.SessionInvalidRequestID)
	})
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		st.s.GoAway("", 0)
		st.request(&wire.PublishNamespace{RequestID: 0, Namespace: ns("live")})
		st.request(&wire.PublishNamespace{RequestID: 0, Namespace: ns("live")})
		st.wantClose("refused requests use ids, too", wire.SessionInvalidRequestID)
	})
}

package relay

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// sent has a subscriber with this SUBGROUP_DELIVERY_TIMEOUT get groups, which are complete at its end. It returns the
// subscriber's session and the cursors.
func (rt *relayTest) sent(timeout time.Duration, groups int) (*peer, []*cursor) {
	rt.Helper()
	pub, viewer := rt.publisher(), rt.dial(moqt.PipeConfig{})
	rt.drain(viewer.subscribe("video", wire.Params{SubgroupDeliveryTimeout: wire.Some(wire.MillisOf(timeout))}))
	var cursors []*cursor
	for g := range groups {
		w := pub.group("video", uint64(g))
		pub.write(w, uint64(g), 0)
		synctest.Wait()
		t := rt.relay.routes[name("video")].track
		for c := range t.arrivals[len(t.arrivals)-1].cursors {
			cursors = append(cursors, c)
		}
		w.Close()
		synctest.Wait()
	}
	if len(cursors) != groups {
		rt.Fatalf("%d cursors, want %d", len(cursors), groups)
	}
	return viewer, cursors
}

// running returns how many timers run. It stops them.
func running(cursors []*cursor) (n int) {
	for _, c := range cursors {
		c.subgroup.mu.Lock()
		if c.expire != nil && c.expire.Stop() {
			n++
		}
		c.subgroup.mu.Unlock()
	}
	return n
}

// What a subscriber asks for must not make timers, and what they keep, pile up behind streams that are finished.
func TestExpiryTimersAreBounded(t *testing.T) {
	for _, tt := range []struct {
		what    string
		timeout time.Duration
		groups  int
		leave   bool
		want    int
	}{
		{"a timeout that is watched after FIN", 20 * time.Second, 3, false, 3},
		{"one that is longer than any connection stays silent", time.Hour, 3, false, 0},
		{"the longest", 1<<63 - 1, 3, false, 0},
		{"the subscriber has gone", 20 * time.Second, 3, true, 0},
		{"many", 20 * time.Second, maxExpiring + 5, false, maxExpiring},
	} {
		t.Run(tt.what, func(t *testing.T) {
			runRelay(t, Config{}, func(rt *relayTest) {
				viewer, cursors := rt.sent(tt.timeout, tt.groups)
				if tt.leave {
					viewer.Close(wire.SessionNoError, "")
					synctest.Wait()
				}
				of := cursors[0].of
				of.expiring.mu.Lock()
				kept := len(of.expiring.cursors)
				of.expiring.mu.Unlock()
				if n := running(cursors); n != tt.want || kept != n {
					t.Errorf("%d timers run, %d are on the books, want %d", n, kept, tt.want)
				}
			})
		})
	}
}

// Timers that have done their work leave the books.
func TestExpiryIsForgotten(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		_, cursors := rt.sent(time.Second, 3)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		of := cursors[0].of
		of.expiring.mu.Lock()
		defer of.expiring.mu.Unlock()
		if n := len(of.expiring.cursors); n != 0 {
			t.Errorf("%d are still on the books", n)
		}
	})
}

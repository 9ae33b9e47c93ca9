package relay

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

func TestInspect(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		pub := rt.publisher()
		time.Sleep(time.Second)
		viewer := rt.dial(moqt.PipeConfig{})
		viewer.subscribe("video", wire.Params{})
		pub.groups("video", 2, 5, 6)
		synctest.Wait()
		rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{})
		synctest.Wait()

		sessions := rt.relay.Sessions()
		if len(sessions) != 3 {
			t.Fatalf("%d sessions, want 3", len(sessions))
		}
		p, v := sessions[0], sessions[1]
		if p.ID != 1 || p.Namespaces != 1 || p.Upstreams != 1 || p.Subscriptions != 0 || p.Stats.SubgroupsReceived != 2 {
			t.Errorf("the publisher: %+v", p)
		}
		if v.ID != 2 || v.Namespaces != 0 || v.Upstreams != 0 || v.Subscriptions != 1 || v.Stats.SubgroupsSent != 2 || v.Began.Sub(p.Began) != time.Second {
			t.Errorf("a viewer: %+v", v)
		}
		if v.Conn.Transport != moqt.TransportPipe {
			t.Errorf("its transport: %q", v.Conn.Transport)
		}

		tracks := rt.relay.Tracks()
		if len(tracks) != 1 {
			t.Fatalf("%d tracks, want 1", len(tracks))
		}
		tr := tracks[0]
		if tr.Name != name("video") || tr.Local || tr.Pending || tr.Publishers != 1 || tr.Subscribers != 2 || tr.Groups != 2 ||
			int64(tr.CacheBytes) != rt.relay.CacheBytes() || tr.Largest != wire.Some(wire.Location{Group: 6, Object: 1}) {
			t.Errorf("the track: %+v", tr)
		}

		s := rt.relay.Stats()
		if s.GroupsIn.Load() != 2 || s.CacheJoins.Hits.Load() != 1 || s.CacheJoins.Misses.Load() != 1 {
			t.Errorf("%d groups, %d hits, %d misses", s.GroupsIn.Load(), s.CacheJoins.Hits.Load(), s.CacheJoins.Misses.Load())
		}
	})
}

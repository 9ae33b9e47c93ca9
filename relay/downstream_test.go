package relay

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// A late joiner gets the current group from its first object on, with either filter that means "now".
func TestLateJoiner(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cfg    Config
		params wire.Params
		group  uint64
		first  uint64
		n      int
	}{
		{"largest object", Config{}, largestObject, 7, 0, 4},
		{"no filter", Config{}, wire.Params{}, 7, 0, 4},
		{"largest object, strictly", Config{JoinAtObject: true}, largestObject, 7, 2, 2},
		{"next group", Config{}, wire.Params{Filter: wire.Some(wire.Filter{Type: wire.FilterNextGroupStart})}, 8, 0, 1},
		{"absolute start in the past", Config{}, wire.Params{Filter: wire.Some(wire.Filter{Type: wire.FilterAbsoluteStart, Start: wire.Location{Group: 5}})}, 7, 0, 4},
		{"absolute start in the future", Config{}, wire.Params{Filter: wire.Some(wire.Filter{Type: wire.FilterAbsoluteStart, Start: wire.Location{Group: 8}})}, 8, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runRelay(t, tt.cfg, func(rt *relayTest) {
				pub := rt.publisher()
				rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{})
				pub.groups("video", 3, 5, 6)
				w := pub.group("video", 7)
				pub.write(w, 7, 0)
				pub.write(w, 7, 1)
				synctest.Wait()
				late := rt.dial(moqt.PipeConfig{}).subscribe("video", tt.params)
				if l, ok := late.Info().Largest.Get(); !ok || l != (wire.Location{Group: 7, Object: 1}) {
					t.Errorf("LARGEST_OBJECT is %v, want {7 1}", l)
				}
				synctest.Wait()
				pub.write(w, 7, 2)
				pub.write(w, 7, 3)
				w.Close()
				synctest.Wait()
				pub.groups("video", 1, 8)
				rt.wantGroup(late, tt.group, tt.first, tt.n)
			})
		})
	}
}

func TestEndGroup(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		pub := rt.publisher()
		s := rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{Filter: wire.Some(wire.Filter{
			Type: wire.FilterAbsoluteRange, Start: wire.Location{Group: 3}, EndGroup: 4,
		})})
		pub.groups("video", 2, 2, 3, 4, 5)
		rt.wantGroup(s, 3, 0, 2)
		rt.wantGroup(s, 4, 0, 2)
		var done *moqt.DoneError
		if _, err := s.Next(rt.ctx); !errors.As(err, &done) || done.Code != wire.DoneSubscriptionEnded {
			t.Errorf("after the last group: %v, want SUBSCRIPTION_ENDED", err)
		}
	})
}

// Memory for a subscriber that never reads is bounded by the cache, the others do not notice, and it goes
// on with a newer group.
func TestSubscriberThatDoesNotRead(t *testing.T) {
	cfg := Config{CacheTrackBytes: 1 << 20, MaxLag: 2 * time.Second}
	runRelay(t, cfg, func(rt *relayTest) {
		pub := rt.publisher()
		slow := rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{})
		stuck := rt.next // the slow one takes the first stream and then does not read it
		var fast []*moqt.Subscription
		for range 49 {
			fast = append(fast, rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{}))
		}
		payload := make([]byte, 200_000) // more than the windows of the pipe
		var first *moqt.SubgroupReader
		const groups = 30
		for g := range uint64(groups) {
			w := pub.group("video", g)
			rt.running.Go(func() {
				w.WriteObject(moqt.ObjectHeader{}, payload)
				w.Close()
			})
			for _, s := range fast {
				r := rt.next(s)
				if _, err := r.Next(); err != nil {
					t.Fatal(err)
				}
				if n, err := io.Copy(io.Discard, r); n != int64(len(payload)) || err != nil {
					t.Fatalf("a reading subscriber got %d bytes of group %d: %v", n, g, err)
				}
			}
			if g == 0 {
				first = stuck(slow)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if n := rt.relay.CacheBytes(); n > 1<<20 {
				t.Fatalf("the cache holds %d bytes", n)
			}
			if n := rt.relay.stats.Cursors.Load(); n > 8 {
				t.Fatalf("%d streams to the slow subscriber are open", n)
			}
		}
		if n := rt.relay.stats.Cuts[CutLag].Load() + rt.relay.stats.Cuts[CutEvicted].Load(); n < groups-6 {
			t.Errorf("%d streams were cut, want nearly all %d", n, groups)
		}
		_, err := first.Next()
		for err == nil {
			_, err = io.Copy(io.Discard, first)
			if err == nil {
				_, err = first.Next()
			}
		}
		var reset *moqt.StreamError
		if !errors.As(err, &reset) || wire.StreamCode(reset.Code) != wire.StreamTooFarBehind {
			t.Errorf("the first stream ended with %v, want TOO_FAR_BEHIND", err)
		}
		// It reads again, and gets a recent group whole.
		for {
			r := rt.next(slow)
			if _, err := r.Next(); err != nil {
				continue
			}
			if n, _ := io.Copy(io.Discard, r); n == int64(len(payload)) {
				if g := r.Header().Group; g < groups-5 {
					t.Errorf("it went on with group %d", g)
				}
				break
			}
		}
	})
}

// A peer that grants no streams must not collect goroutines in the relay.
func TestSubscriberWithoutStreams(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		pub := rt.publisher()
		rt.dial(moqt.PipeConfig{MaxUniStreams: 1}).subscribe("video", wire.Params{})
		synctest.Wait()
		before := runtime.NumGoroutine()
		for g := range uint64(200) {
			pub.groups("video", 1, g)
			time.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		if n := runtime.NumGoroutine() - before; n > 150 {
			t.Errorf("%d goroutines more than before", n)
		}
		if n := rt.relay.stats.Cuts[CutLag].Load() + rt.relay.stats.Cuts[CutEvicted].Load(); n < 100 {
			t.Errorf("%d streams were given up, want nearly 200", n)
		}
	})
}

// Pause and resume: while Forward is 0 nothing comes; then the current group comes from its start, but nothing twice.
func TestForwardState(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		pub := rt.publisher()
		s := rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{Forward: wire.Some(false)})
		pub.groups("video", 1, 1, 2)
		w := pub.group("video", 3)
		pub.write(w, 3, 0)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(rt.ctx, time.Second)
		if in, err := s.Next(ctx); err == nil {
			t.Fatalf("something came in Forward State 0: %+v", in)
		}
		cancel()
		if _, err := s.Update(rt.ctx, wire.Params{Forward: wire.Some(true)}); err != nil {
			t.Fatal(err)
		}
		pub.write(w, 3, 1)
		w.Close()
		rt.wantGroup(s, 3, 0, 2)
		pub.groups("video", 1, 4)
		rt.wantGroup(s, 4, 0, 1)
		s.Update(rt.ctx, wire.Params{Forward: wire.Some(false)})
		s.Update(rt.ctx, wire.Params{Forward: wire.Some(true)})
		pub.groups("video", 1, 5)
		rt.wantGroup(s, 5, 0, 1)
	})
}

// "... if the time elapsed exceeds OBJECT_DELIVERY_TIMEOUT, it MUST reset the underlying transport stream with the reset
// stream code DELIVERY_TIMEOUT" [MOQT-18] Section 8, Delivery Timeouts and Data Reliability
func TestDeliveryTimeout(t *testing.T) {
	runRelay(t, Config{MaxLag: time.Minute}, func(rt *relayTest) {
		pub := rt.publisher()
		s := rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{ObjectDeliveryTimeout: wire.Some(wire.MillisOf(500 * time.Millisecond))})
		w := pub.group("video", 1)
		rt.running.Go(func() { w.WriteObject(moqt.ObjectHeader{}, make([]byte, 4<<20)) })
		r := rt.next(s)
		time.Sleep(time.Second) // and does not read meanwhile
		var err error
		for err == nil {
			if _, err = r.Next(); err == nil {
				_, err = io.Copy(io.Discard, r)
			}
		}
		var reset *moqt.StreamError
		if !errors.As(err, &reset) || wire.StreamCode(reset.Code) != wire.StreamDeliveryTimeout {
			t.Errorf("the stream ended with %v, want DELIVERY_TIMEOUT", err)
		}
		if n := rt.relay.stats.Cuts[CutTimeout].Load(); n != 1 {
			t.Errorf("%d streams are counted as timed out, want 1", n)
		}
		rt.running.Go(func() {
			w := pub.group("video", 2)
			pub.write(w, 2, 0)
			w.Close()
		})
		rt.wantGroup(s, 2, 0, 1)
	})
}

// A delivery timeout does not take from a late joiner what its group begins with, nor a catalog; what goes out too late
// afterwards is given up even if the transport would take it.
func TestDeliveryTimeoutOfALateJoiner(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		pub := rt.publisher()
		rt.drain(rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{}))
		w := pub.group("video", 1)
		pub.write(w, 1, 0)
		time.Sleep(5 * time.Second)
		timeout := wire.Params{ObjectDeliveryTimeout: wire.Some(wire.MillisOf(500 * time.Millisecond))}
		blocked := rt.dial(moqt.PipeConfig{MaxUniStreams: 2}) // one is the control stream's
		s := blocked.subscribe("video", timeout)
		r := rt.next(s)
		rt.wantObject(r, 1, 0)
		pub.groups("video", 1, 2) // for which there is no stream yet
		time.Sleep(time.Second)
		w.Close()
		if _, err := r.Next(); err != io.EOF {
			t.Fatal(err)
		}
		r = rt.next(s)
		_, err := r.Next()
		var reset *moqt.StreamError
		if !errors.As(err, &reset) || wire.StreamCode(reset.Code) != wire.StreamDeliveryTimeout {
			t.Errorf("an object that waited for a second came with %v, want DELIVERY_TIMEOUT", err)
		}
	})
}

// A subgroup that is complete has SUBGROUP_DELIVERY_TIMEOUT to arrive; one that is not has all the time in the world.
func TestSubgroupDeliveryTimeout(t *testing.T) {
	runRelay(t, Config{MaxLag: time.Minute}, func(rt *relayTest) {
		pub := rt.publisher()
		params := wire.Params{SubgroupDeliveryTimeout: wire.Some(wire.MillisOf(500 * time.Millisecond))}
		s := rt.dial(moqt.PipeConfig{StreamWindow: 1000}).subscribe("video", params)
		w := pub.group("video", 1)
		w.WriteObject(moqt.ObjectHeader{}, make([]byte, 5000))
		r := rt.next(s)
		time.Sleep(10 * time.Second) // and does not read meanwhile
		if n := rt.relay.stats.Cuts[CutTimeout].Load(); n != 0 {
			t.Errorf("%d streams were cut while the subgroup went on", n)
		}
		w.Close()
		time.Sleep(499 * time.Millisecond)
		if n := rt.relay.stats.Cuts[CutTimeout].Load(); n != 0 {
			t.Errorf("%d streams were cut early", n)
		}
		time.Sleep(2 * time.Millisecond)
		if n := rt.relay.stats.Cuts[CutTimeout].Load(); n != 1 {
			t.Errorf("%d streams were cut, want 1", n)
		}
		var err error
		for err == nil {
			if _, err = r.Next(); err == nil {
				_, err = io.Copy(io.Discard, r)
			}
		}
		var reset *moqt.StreamError
		if !errors.As(err, &reset) || wire.StreamCode(reset.Code) != wire.StreamDeliveryTimeout {
			t.Errorf("the stream ended with %v, want DELIVERY_TIMEOUT", err)
		}
		// Who comes later has as long from then on.
		late := rt.dial(moqt.PipeConfig{StreamWindow: 1000}).subscribe("video", params)
		time.Sleep(400 * time.Millisecond)
		rt.drain(late)
		time.Sleep(time.Second)
		if n := rt.relay.stats.Cuts[CutTimeout].Load(); n != 1 {
			t.Errorf("%d streams were cut, want only the first", n)
		}
	})
}

// Datagrams obey either timeout, the end group and the forward state, as streams do.
func TestDatagramRules(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		local, err := rt.relay.Publish(name("audio"), nil)
		if err != nil {
			t.Fatal(err)
		}
		send := func(group uint64) { local.WriteDatagram(LocalObject{Group: group, Payload: []byte("x")}) }
		send(1)
		got := func(params wire.Params, change func(*moqt.Subscription)) (groups []uint64) {
			s := rt.dial(moqt.PipeConfig{}).subscribe("audio", params)
			synctest.Wait()
			for g := uint64(2); g < 6; g++ {
				if g == 4 && change != nil {
					change(s)
				}
				send(g)
				synctest.Wait()
			}
			ctx, cancel := context.WithTimeout(rt.ctx, time.Second)
			defer cancel()
			for {
				in, err := s.Next(ctx)
				if err != nil {
					return groups
				}
				groups = append(groups, in.Datagram.Group)
			}
		}
		pause := func(s *moqt.Subscription) { s.Update(rt.ctx, wire.Params{Forward: wire.Some(false)}) }
		resume := func(s *moqt.Subscription) { s.Update(rt.ctx, wire.Params{Forward: wire.Some(true)}) }
		for _, tt := range []struct {
			name   string
			params wire.Params
			change func(*moqt.Subscription)
			want   []uint64
		}{
			{"all", wire.Params{}, nil, []uint64{2, 3, 4, 5}},
			{"end group", wire.Params{Filter: wire.Some(wire.Filter{Type: wire.FilterAbsoluteRange, Start: wire.Location{Group: 3}, EndGroup: 4})}, nil, []uint64{3, 4}},
			{"paused", wire.Params{}, pause, []uint64{2, 3}},
			{"resumed", wire.Params{Forward: wire.Some(false)}, resume, []uint64{4, 5}},
		} {
			if groups := got(tt.params, tt.change); !slices.Equal(groups, tt.want) {
				t.Errorf("%s: got %v, want %v", tt.name, groups, tt.want)
			}
			local.End()
			if local, err = rt.relay.Publish(name("audio"), nil); err != nil {
				t.Fatal(err)
			}
			send(1)
		}
	})
}

// A burst far over every limit costs datagrams, never the subscription.
func TestDatagramBurst(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		local, err := rt.relay.Publish(name("audio"), nil)
		if err != nil {
			t.Fatal(err)
		}
		s := rt.dial(moqt.PipeConfig{}).subscribe("audio", wire.Params{})
		synctest.Wait()
		const n = 20_000
		for g := range uint64(n) {
			local.WriteDatagram(LocalObject{Group: g, Payload: make([]byte, 100)})
		}
		synctest.Wait()
		sent, lost := rt.relay.SessionStats().DatagramsSent, rt.relay.stats.DatagramsLost.Load()
		dropped := rt.relay.SessionStats().DatagramsOverflow
		if sent+lost+dropped != n || lost+dropped == 0 {
			t.Errorf("%d sent, %d overtaken and %d dropped of %d: the books must agree", sent, lost, dropped, n)
		}
		if s.Context().Err() != nil {
			t.Fatal("the subscription has ended")
		}
		local.WriteDatagram(LocalObject{Group: n, Payload: []byte("on")})
		for {
			in, err := s.Next(rt.ctx)
			if err != nil {
				t.Fatal(err)
			}
			if in.Datagram.Group == n {
				break
			}
		}
	})
}

// A NEW_GROUP_REQUEST is outstanding until a new group has begun.
func TestNewGroupRequest(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		props, err := (&wire.TrackProperties{DynamicGroups: wire.Some(true)}).Properties(wire.Draft18)
		if err != nil {
			t.Fatal(err)
		}
		local, err := rt.relay.Publish(name("video"), props)
		if err != nil {
			t.Fatal(err)
		}
		local.Write(LocalObject{Group: 5})
		asks := func(n uint64) wire.Params { return wire.Params{NewGroupRequest: wire.Some(n)} }
		for _, tt := range []struct {
			why    string
			params wire.Params
			want   bool
		}{
			{"nothing is asked for", wire.Params{}, false},
			{"it is there already", asks(7), false},
			{"the next one", asks(10), true},
			{"nothing is known", asks(0), true},
		} {
			s := rt.dial(moqt.PipeConfig{}).subscribe("video", tt.params)
			synctest.Wait()
			if wanted, _ := local.WantsGroup(); wanted != tt.want {
				t.Errorf("SUBSCRIBE: %s: wanted is %v", tt.why, wanted)
			}
			group := rt.next(s).Header().Group + 1
			local.Write(LocalObject{Group: group})
			if wanted, _ := local.WantsGroup(); wanted {
				t.Errorf("SUBSCRIBE: %s: a group has begun and one is still wanted", tt.why)
			}
			_, asked := local.WantsGroup()
			if _, err := s.Update(rt.ctx, asks(group+1)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			select {
			case <-asked:
			default:
				t.Error("REQUEST_UPDATE: nobody was told")
			}
			local.Write(LocalObject{Group: group + 1})
		}
	})
}

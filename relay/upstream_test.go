package relay

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// A publisher is lost without a word, and another takes over: the subscription goes on, as does the namespace.
func TestTakeover(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		a := rt.publisher()
		viewer := rt.dial(moqt.PipeConfig{})
		names, err := viewer.SubscribeNamespace(rt.ctx, wire.Namespace{})
		if err != nil {
			t.Fatal(err)
		}
		if e, err := names.Next(rt.ctx); err != nil || e.Gone {
			t.Fatalf("namespace: %+v, %v", e, err)
		}
		s := viewer.subscribe("video", wire.Params{})
		a.groups("video", 2, 100)
		rt.wantGroup(s, 100, 0, 2)
		open := a.group("video", 101)
		a.write(open, 101, 0)
		r := rt.next(s)
		rt.wantObject(r, 101, 0)
		a.conn.Lose(errors.New("killed"))
		if _, err := r.Next(); err == nil || err == io.EOF {
			t.Errorf("the stream of the lost publisher ended with %v, want a reset", err)
		}
		time.Sleep(time.Second)
		b := rt.publisher()
		b.groups("video", 2, 200)
		rt.wantGroup(s, 200, 0, 2)
		ctx, cancel := context.WithTimeout(rt.ctx, 10*time.Second)
		defer cancel()
		if e, err := names.Next(ctx); err == nil {
			t.Errorf("the namespace changed: %+v", e)
		}
	})
}

// The same while the first publisher hangs: the new one is asked at once.
func TestTakeoverOfHangingPublisher(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		a := rt.publisher()
		s := rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{})
		a.groups("video", 1, 100)
		rt.wantGroup(s, 100, 0, 1)
		b := rt.publisher()
		b.groups("video", 1, 200)
		rt.wantGroup(s, 200, 0, 1)
		// What the first one still sends is old.
		a.groups("video", 1, 101)
		b.groups("video", 1, 201)
		rt.wantGroup(s, 201, 0, 1)
	})
}

// A publisher that counts from zero again after it was lost: subscribers are told that the track ended, and get the
// new one when they ask again.
func TestPublisherBeginsAnew(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		a := rt.publisher()
		viewer := rt.dial(moqt.PipeConfig{})
		names, _ := viewer.SubscribeNamespace(rt.ctx, wire.MustNamespace("live"))
		names.Next(rt.ctx)
		s := viewer.subscribe("video", wire.Params{})
		a.groups("video", 1, 100)
		rt.wantGroup(s, 100, 0, 1)
		a.conn.Lose(errors.New("killed"))
		synctest.Wait()
		b := rt.publisher()
		b.groups("video", 1, 0)
		var done *moqt.DoneError
		if _, err := s.Next(rt.ctx); !errors.As(err, &done) || done.Code != wire.DoneTrackEnded {
			t.Fatalf("the old subscription: %v, want TRACK_ENDED", err)
		}
		if e, err := names.Next(rt.ctx); err != nil || !e.Gone {
			t.Errorf("namespace: %+v, %v; want that it has gone", e, err)
		}
		if e, err := names.Next(rt.ctx); err != nil || e.Gone {
			t.Errorf("namespace: %+v, %v; want that it is back", e, err)
		}
		again := viewer.subscribe("video", largestObject)
		rt.wantGroup(again, 0, 0, 1)
		b.groups("video", 1, 1)
		rt.wantGroup(again, 1, 0, 1)
	})
}

func TestPublisherIsLostForGood(t *testing.T) {
	runRelay(t, Config{PublisherGrace: 3 * time.Second}, func(rt *relayTest) {
		pub := rt.publisher()
		viewer := rt.dial(moqt.PipeConfig{})
		names, _ := viewer.SubscribeNamespace(rt.ctx, wire.MustNamespace("live"))
		names.Next(rt.ctx)
		s := viewer.subscribe("video", wire.Params{})
		pub.groups("video", 1, 1)
		rt.wantGroup(s, 1, 0, 1)
		began := time.Now()
		pub.conn.Lose(errors.New("killed"))
		var done *moqt.DoneError
		if _, err := s.Next(rt.ctx); !errors.As(err, &done) {
			t.Fatalf("subscription: %v, want PUBLISH_DONE", err)
		}
		if e, err := names.Next(rt.ctx); err != nil || !e.Gone {
			t.Errorf("namespace: %+v, %v; want that it has gone", e, err)
		}
		if d := time.Since(began); d < 3*time.Second || d > 6*time.Second {
			t.Errorf("told after %v, want about 3 s", d)
		}
		viewer.wantRefused("video", wire.Params{}, wire.RequestDoesNotExist)
	})
}

func TestTrackEnds(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		pub := rt.publisher()
		s := rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{})
		pub.groups("video", 1, 1)
		if err := pub.track("video").Done(wire.DoneTrackEnded, "the end"); err != nil {
			t.Fatal(err)
		}
		rt.wantGroup(s, 1, 0, 1)
		var done *moqt.DoneError
		if _, err := s.Next(rt.ctx); !errors.As(err, &done) || done.Code != wire.DoneTrackEnded || done.Reason != "the end" {
			t.Errorf("subscription: %v, want TRACK_ENDED", err)
		}
	})
}

func TestLinger(t *testing.T) {
	runRelay(t, Config{Linger: 5 * time.Second}, func(rt *relayTest) {
		pub := rt.publisher()
		viewer := rt.dial(moqt.PipeConfig{})
		s := viewer.subscribe("video", wire.Params{})
		pub.groups("video", 1, 1)
		rt.wantGroup(s, 1, 0, 1)
		s.Close()
		time.Sleep(4 * time.Second)
		if pub.track("video").Context().Err() != nil {
			t.Fatal("the upstream was dropped before its time")
		}
		viewer.subscribe("video", wire.Params{}).Close() // within the linger time: from the cache
		time.Sleep(4 * time.Second)
		if pub.track("video").Context().Err() != nil {
			t.Fatal("the upstream was dropped although somebody came in between")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if pub.track("video").Context().Err() == nil {
			t.Error("the upstream is still there after the linger time")
		}
		if n := rt.relay.CacheBytes(); n != 0 {
			t.Errorf("the cache still holds %d bytes", n)
		}
		again := viewer.subscribe("video", wire.Params{})
		pub.groups("video", 1, 2)
		rt.wantGroup(again, 2, 0, 1)
	})
}

func TestRendezvous(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		viewer := rt.dial(moqt.PipeConfig{})
		viewer.wantRefused("video", wire.Params{}, wire.RequestDoesNotExist)
		wait := wire.Params{RendezvousTimeout: wire.Some(wire.MillisOf(10 * time.Second))}
		began := time.Now()
		viewer.wantRefused("video", wait, wire.RequestTimeout)
		if d := time.Since(began); d != 10*time.Second {
			t.Errorf("refused after %v, want 10 s", d)
		}
		time.AfterFunc(3*time.Second, func() {
			rt.running.Go(func() { rt.publisher() })
		})
		viewer.subscribe("video", wait)
		viewer.wantRefused("missing", wait, wire.RequestDoesNotExist)
		synctest.Wait() // the publisher too has its answer
	})
}

// A track that its publisher pushes is taken without being sent until somebody wants it.
func TestPublish(t *testing.T) {
	runRelay(t, Config{Linger: 5 * time.Second}, func(rt *relayTest) {
		p := rt.dial(moqt.PipeConfig{})
		pub, err := p.Publish(rt.ctx, moqt.PublishRequest{Track: name("video")})
		if err != nil {
			t.Fatal(err)
		}
		if pub.State().Forward {
			t.Error("the relay wants objects before anybody else does")
		}
		viewer := rt.dial(moqt.PipeConfig{})
		s := viewer.subscribe("video", wire.Params{})
		synctest.Wait()
		if !pub.State().Forward {
			t.Fatal("the relay does not want objects although somebody subscribes")
		}
		w, err := pub.OpenSubgroup(rt.ctx, moqt.SubgroupHeader{Group: 4, FirstObject: true})
		if err != nil {
			t.Fatal(err)
		}
		w.WriteObject(moqt.ObjectHeader{}, []byte("4.0"))
		w.Close()
		rt.wantGroup(s, 4, 0, 1)
		s.Close()
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if pub.State().Forward || pub.Context().Err() != nil {
			t.Error("without a viewer, the publisher should be told to pause and nothing else")
		}
	})
}

// A publisher that ends its tracks and says GOAWAY is let go when everything has arrived, and not before.
func TestPublisherLeaves(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		pub := rt.publisher()
		s := rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{})
		w := pub.group("video", 1)
		pub.write(w, 1, 0)
		if err := pub.GoAway("", 10*time.Second); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if pub.Context().Err() != nil {
			t.Fatal("the session was closed while the publisher was still sending")
		}
		pub.write(w, 1, 1)
		w.Close()
		pub.track("video").Done(wire.DoneTrackEnded, "")
		select {
		case err := <-pub.over:
			if err != nil {
				t.Errorf("the session ended with %v, want NO_ERROR", err)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("the publisher was not let go")
		}
		rt.wantGroup(s, 1, 0, 2)
		var done *moqt.DoneError
		if _, err := s.Next(rt.ctx); !errors.As(err, &done) || done.Code != wire.DoneTrackEnded {
			t.Errorf("subscription: %v, want TRACK_ENDED", err)
		}
	})
}

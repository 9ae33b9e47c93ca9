package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// relayTest is a relay with peers in memory and a virtual clock.
type relayTest struct {
	*testing.T
	relay   *Relay
	ctx     context.Context
	running sync.WaitGroup
}

// runRelay runs f with a relay, in a synctest bubble, and ends everything afterwards.
func runRelay(t *testing.T, cfg Config, f func(rt *relayTest)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		rt := &relayTest{T: t, relay: New(cfg), ctx: ctx}
		rt.running.Go(func() { rt.relay.Run(ctx) })
		f(rt)
		cancel()
		rt.running.Wait()
		if n := rt.relay.stats.Subscribers.Load() + rt.relay.stats.Upstreams.Load() + rt.relay.stats.Cursors.Load() + rt.relay.stats.Sessions.Load(); n != 0 {
			t.Errorf("%d sessions, subscriptions and streams are left at the end", n)
		}
	})
}

// peer is a client of the relay.
type peer struct {
	*relayTest
	*moqt.Session
	conn *moqt.PipeConn
	over chan error
}

func (rt *relayTest) dial(cfg moqt.PipeConfig) *peer {
	rt.Helper()
	client, server := moqt.Pipe(cfg)
	p := &peer{relayTest: rt, Session: moqt.New(client, moqt.Config{}), conn: client, over: make(chan error, 1)}
	rt.running.Go(func() { rt.relay.Serve(rt.ctx, server) })
	rt.running.Go(func() { p.over <- p.Run(rt.ctx) })
	if err := p.Ready(rt.ctx); err != nil {
		rt.Fatal(err)
	}
	return p
}

// name is the track with this name in the namespace live.
func name(track string) wire.FullTrackName {
	return wire.FullTrackName{Namespace: wire.MustNamespace("live"), Name: track}
}

// publisher announces the namespace live and takes every SUBSCRIBE below it.
type publisher struct {
	*peer
	announcement *moqt.Announcement

	mu     sync.Mutex
	tracks map[string]*moqt.Publication
	asked  int
}

func (rt *relayTest) publisher() *publisher {
	rt.Helper()
	p := &publisher{peer: rt.dial(moqt.PipeConfig{}), tracks: make(map[string]*moqt.Publication)}
	rt.running.Go(func() {
		for {
			req, err := p.Accept(rt.ctx)
			if err != nil {
				return
			}
			s, ok := req.(*moqt.IncomingSubscribe)
			if !ok || s.Track.Name == "missing" {
				req.Reject(&moqt.RequestError{Code: wire.RequestDoesNotExist, Reason: "no such track"})
				continue
			}
			pub, err := s.Accept(moqt.AcceptSubscribe{})
			if err != nil {
				continue
			}
			p.mu.Lock()
			p.tracks[s.Track.Name] = pub
			p.asked++
			p.mu.Unlock()
		}
	})
	var err error
	if p.announcement, err = p.PublishNamespace(rt.ctx, wire.MustNamespace("live")); err != nil {
		rt.Fatal(err)
	}
	return p
}

// track returns the publication that the relay asked for.
func (p *publisher) track(name string) *moqt.Publication {
	p.Helper()
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tracks[name] == nil {
		p.Fatalf("the relay has not asked for %q", name)
	}
	return p.tracks[name]
}

// group opens the stream of a group.
func (p *publisher) group(track string, id uint64) *moqt.SubgroupWriter {
	p.Helper()
	w, err := p.track(track).OpenSubgroup(p.ctx, moqt.SubgroupHeader{Group: id, FirstObject: true})
	if err != nil {
		p.Fatal(err)
	}
	return w
}

// write sends an object with the payload "group.object".
func (p *publisher) write(w *moqt.SubgroupWriter, group, object uint64) {
	p.Helper()
	if err := w.WriteObject(moqt.ObjectHeader{ID: object}, fmt.Appendf(nil, "%d.%d", group, object)); err != nil {
		p.Fatal(err)
	}
}

// groups sends whole groups of n objects.
func (p *publisher) groups(track string, n int, ids ...uint64) {
	p.Helper()
	for _, id := range ids {
		w := p.group(track, id)
		for o := range uint64(n) {
			p.write(w, id, o)
		}
		w.Close()
	}
}

func (p *peer) subscribe(track string, params wire.Params) *moqt.Subscription {
	p.Helper()
	s, err := p.Subscribe(p.ctx, moqt.SubscribeRequest{Track: name(track), Params: params})
	if err != nil {
		p.Fatal(err)
	}
	return s
}

// wantRefused subscribes and expects to be refused.
func (p *peer) wantRefused(track string, params wire.Params, code wire.RequestCode) {
	p.Helper()
	_, err := p.Subscribe(p.ctx, moqt.SubscribeRequest{Track: name(track), Params: params})
	var refused *moqt.RequestError
	if !errors.As(err, &refused) || refused.Code != code {
		p.Fatalf("subscribe to %q: %v, want %v", track, err, code)
	}
}

var largestObject = wire.Params{Filter: wire.Some(wire.Filter{Type: wire.FilterLargestObject})}

// next returns the next subgroup of a subscription; it fails the test if none comes within a virtual minute.
func (rt *relayTest) next(s *moqt.Subscription) *moqt.SubgroupReader {
	rt.Helper()
	ctx, cancel := context.WithTimeout(rt.ctx, time.Minute)
	defer cancel()
	in, err := s.Next(ctx)
	if err != nil {
		rt.Fatalf("next subgroup: %v", err)
	}
	if in.Subgroup == nil {
		rt.Fatal("a datagram came, want a subgroup")
	}
	return in.Subgroup
}

// wantObject reads one object and compares its payload with its location.
func (rt *relayTest) wantObject(r *moqt.SubgroupReader, group, object uint64) {
	rt.Helper()
	o, err := r.Next()
	if err != nil {
		rt.Fatalf("object %d.%d: %v", group, object, err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		rt.Fatal(err)
	}
	if want := fmt.Sprintf("%d.%d", group, object); r.Header().Group != group || o.ID != object || string(b) != want {
		rt.Fatalf("got object %d.%d %q, want %s", r.Header().Group, o.ID, b, want)
	}
}

// wantGroup reads a whole group of n objects, which begins with object first.
func (rt *relayTest) wantGroup(s *moqt.Subscription, group, first uint64, n int) {
	rt.Helper()
	r := rt.next(s)
	for o := range uint64(n) {
		rt.wantObject(r, group, first+o)
	}
	if _, err := r.Next(); err != io.EOF {
		rt.Fatalf("after the last object of group %d: %v, want EOF", group, err)
	}
}

// "First byte out before the last byte is in": an object of 1 MB is forwarded while it comes in.
func TestCutThrough(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		pub, sub := rt.publisher(), rt.dial(moqt.PipeConfig{})
		s := sub.subscribe("video", wire.Params{})
		w := pub.group("video", 1)
		payload := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
		head, err := new(wire.SubgroupCursor).Append(nil, &wire.ObjectHeader{PayloadLen: uint64(len(payload))}, wire.Draft18)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(append(head, payload[:1000]...)); err != nil {
			t.Fatal(err)
		}
		r := rt.next(s)
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 1000)
		if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, payload[:1000]) {
			t.Fatalf("the first bytes have not arrived while the rest is not sent: %v", err)
		}
		rt.running.Go(func() {
			w.Write(payload[1000:])
			w.Close()
		})
		rest, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(rest, payload[1000:]) {
			t.Fatalf("the rest is %d bytes (%v), want %d", len(rest), err, len(payload)-1000)
		}
	})
}

func TestOneUpstreamForManySubscribers(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		pub := rt.publisher()
		var subs []*moqt.Subscription
		for range 50 {
			subs = append(subs, rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{}))
		}
		pub.groups("video", 3, 10, 11)
		for _, s := range subs {
			rt.wantGroup(s, 10, 0, 3)
			rt.wantGroup(s, 11, 0, 3)
		}
		if pub.asked != 1 {
			t.Errorf("the publisher was asked %d times, want once", pub.asked)
		}
	})
}

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

func TestDatagrams(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		pub := rt.publisher()
		s := rt.dial(moqt.PipeConfig{}).subscribe("audio", wire.Params{})
		for o := range uint64(5) {
			err := pub.track("audio").SendDatagram(moqt.Datagram{Group: 9, Object: o, Priority: 2, HasPriority: true, Payload: []byte{byte(o)}})
			if err != nil {
				t.Fatal(err)
			}
		}
		for o := range uint64(5) {
			in, err := s.Next(rt.ctx)
			if err != nil || in.Datagram == nil {
				t.Fatalf("datagram %d: %v", o, err)
			}
			if d := in.Datagram; d.Group != 9 || d.Object != o || d.Priority != 2 || !bytes.Equal(d.Payload, []byte{byte(o)}) {
				t.Errorf("datagram %d: %+v", o, d)
			}
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

func TestJoiningFetch(t *testing.T) {
	runRelay(t, Config{JoinAtObject: true}, func(rt *relayTest) {
		pub := rt.publisher()
		rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{})
		pub.groups("video", 2, 5, 6)
		w := pub.group("video", 7)
		pub.write(w, 7, 0)
		pub.write(w, 7, 1)
		synctest.Wait()
		late := rt.dial(moqt.PipeConfig{})
		s := late.subscribe("video", largestObject)
		f, err := late.Fetch(rt.ctx, moqt.FetchRequest{Joining: s, JoiningStart: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []wire.Location{{Group: 6, Object: 0}, {Group: 6, Object: 1}, {Group: 7, Object: 0}, {Group: 7, Object: 1}} {
			o, err := f.Next()
			if err != nil {
				t.Fatalf("object %v: %v", want, err)
			}
			b, _ := io.ReadAll(f)
			if (wire.Location{Group: o.Group, Object: o.Object}) != want || string(b) != fmt.Sprintf("%d.%d", want.Group, want.Object) {
				t.Errorf("got %d.%d %q, want %v", o.Group, o.Object, b, want)
			}
		}
		if _, err := f.Next(); err != io.EOF {
			t.Errorf("after the last object: %v, want EOF", err)
		}
		pub.write(w, 7, 2)
		w.Close()
		rt.wantGroup(s, 7, 2, 1)
	})
}

// What the cache does not hold is reported as unknown: that it is not sent would say that it does not exist.
func TestFetchOfWhatIsNotThere(t *testing.T) {
	for _, tt := range []struct {
		order wire.GroupOrder
		want  string
	}{
		{wire.GroupOrderAscending, "?4.max 5.0 5.1 ?7.max 8.0 8.1 9.0 ?9.1"},
		{wire.GroupOrderDescending, "9.0 ?9.1 8.0 8.1 ?6.max 5.0 5.1 ?2.max"},
	} {
		t.Run(fmt.Sprint(tt.order), func(t *testing.T) {
			runRelay(t, Config{}, func(rt *relayTest) {
				pub := rt.publisher()
				viewer := rt.dial(moqt.PipeConfig{})
				rt.drain(viewer.subscribe("video", wire.Params{}))
				pub.groups("video", 2, 5, 8)
				w := pub.group("video", 9)
				pub.write(w, 9, 0)
				head, _ := new(wire.SubgroupCursor).Append(nil, &wire.ObjectHeader{PayloadLen: 100}, wire.Draft18)
				w.Write(append(head, "half an object"...)) // id 1 on this stream
				synctest.Wait()
				f, err := viewer.Fetch(rt.ctx, moqt.FetchRequest{
					Track: name("video"), Start: wire.Location{Group: 2}, End: wire.Location{Group: 20},
					Params: wire.Params{GroupOrder: wire.Some(tt.order)},
				})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for {
					o, err := f.Next()
					if err == io.EOF {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					s := fmt.Sprintf("%d.%d", o.Group, o.Object)
					if o.Gap != 0 {
						s = "?" + strings.Replace(s, fmt.Sprint(uint64(1<<64-1)), "max", 1)
					}
					got = append(got, s)
				}
				if s := strings.Join(got, " "); s != tt.want {
					t.Errorf("fetched %s, want %s", s, tt.want)
				}
			})
		})
	}
}

func TestTrackStatus(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		pub := rt.publisher()
		viewer := rt.dial(moqt.PipeConfig{})
		if _, err := viewer.TrackStatus(rt.ctx, wire.FullTrackName{Namespace: wire.MustNamespace("other"), Name: "x"}); err == nil {
			t.Error("a track that nobody announced has a status")
		}
		viewer.subscribe("video", wire.Params{})
		pub.groups("video", 3, 8)
		synctest.Wait()
		st, err := viewer.TrackStatus(rt.ctx, name("video"))
		if l, _ := st.Largest.Get(); err != nil || l != (wire.Location{Group: 8, Object: 2}) {
			t.Errorf("status %+v, %v; want largest {8 2}", st, err)
		}
	})
}

func TestReservedNamespaces(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		p := rt.dial(moqt.PipeConfig{})
		for _, ns := range []wire.Namespace{wire.MustNamespace("."), wire.MustNamespace(".session", "x")} {
			_, err := p.Subscribe(rt.ctx, moqt.SubscribeRequest{Track: wire.FullTrackName{Namespace: ns, Name: "x"}})
			var refused *moqt.RequestError
			if !errors.As(err, &refused) || refused.Code != wire.RequestDoesNotExist {
				t.Errorf("%v: %v, want DOES_NOT_EXIST", ns, err)
			}
		}
	})
}

// On shutdown every session gets GOAWAY; those that do not leave are closed at the deadline.
func TestShutdown(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		good, stubborn := rt.dial(moqt.PipeConfig{}), rt.dial(moqt.PipeConfig{})
		rt.running.Go(func() {
			<-good.GoingAway()
			good.Close(wire.SessionNoError, "")
		})
		ctx, cancel := context.WithTimeout(rt.ctx, 5*time.Second)
		defer cancel()
		began := time.Now()
		rt.relay.Shutdown(ctx)
		if d := time.Since(began); d < 4*time.Second || d > 6*time.Second {
			t.Errorf("shut down after %v, want the 5 s that one session used up", d)
		}
		select {
		case <-stubborn.GoingAway():
		default:
			t.Error("a session was closed without GOAWAY")
		}
		<-stubborn.over
		<-good.over
		client, server := moqt.Pipe(moqt.PipeConfig{})
		if err := rt.relay.Serve(rt.ctx, server); err == nil {
			t.Error("a session was taken after the shutdown")
		}
		client.Close(0, "")
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

// What one peer does wrong ends its own session with the draft's code, and nobody else's.
func TestOtherSessionsSurviveABadOne(t *testing.T) {
	setup := []byte{0xaf, 0x00, 0x00, 0x00}
	// bidi and uni open a stream, write and, if fin, end it.
	type conn = *moqt.PipeConn
	bidi := func(b ...byte) func(conn, context.Context) {
		return func(c conn, ctx context.Context) {
			if s, err := c.OpenStream(ctx); err == nil {
				s.Write(b)
			}
		}
	}
	uni := func(fin bool, b ...byte) func(conn, context.Context) {
		return func(c conn, ctx context.Context) {
			if s, err := c.OpenUniStream(ctx); err == nil {
				s.Write(b)
				if fin {
					s.Close()
				}
			}
		}
	}
	datagram := func(b ...byte) func(conn, context.Context) {
		return func(c conn, _ context.Context) { c.SendDatagram(b) }
	}
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	for _, tt := range []struct {
		name  string
		setup bool // a right SETUP comes first
		do    func(conn, context.Context)
		want  wire.SessionCode
	}{
		{"no SETUP at all", false, func(conn, context.Context) {}, wire.SessionControlMessageTimeout},
		{"half a SETUP", false, uni(false, 0xaf, 0x00, 0x00, 0x09, 0x07), wire.SessionControlMessageTimeout},
		{"half a SETUP and FIN", false, uni(true, 0xaf, 0x00, 0x00, 0x09, 0x07), wire.SessionProtocolViolation},
		{"control stream ends", false, uni(true, setup...), wire.SessionProtocolViolation},
		{"control stream is reset", false, func(c conn, ctx context.Context) {
			s, _ := c.OpenUniStream(ctx)
			s.Write(setup)
			synctest.Wait()
			s.Reset(0)
		}, wire.SessionProtocolViolation},
		{"SETUP with an option that is too long", false, uni(false, 0xaf, 0x00, 0x00, 0x04, 0x07, 0xc1, 0x00, 0x00), wire.SessionProtocolViolation},
		{"two SETUPs", true, uni(false, setup...), wire.SessionProtocolViolation},
		{"a request before any SETUP, then none", false, bidi(0x50, 0x00, 0x03, 0x00, 0x00, 0x00), wire.SessionControlMessageTimeout},
		{"unknown stream", true, uni(false, 0x7f, 1, 2, 3), wire.SessionProtocolViolation},
		{"unknown datagram", true, datagram(0x1f, 1, 2, 3), wire.SessionProtocolViolation},
		{"empty datagram", true, datagram(), wire.SessionProtocolViolation},
		{"truncated datagram", true, datagram(0x01, 0x80), wire.SessionProtocolViolation},
		{"unknown request", true, bidi(0x77, 0x00, 0x01, 0x00), wire.SessionProtocolViolation},
		{"an answer without a request", true, bidi(0x07, 0x00, 0x01, 0x00), wire.SessionProtocolViolation},
		{"request that is shorter than it says", true, bidi(0x50, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00), wire.SessionProtocolViolation},
		{"request id of the other side", true, bidi(0x50, 0x00, 0x03, 0x01, 0x00, 0x00), wire.SessionInvalidRequestID},
		{"33 namespace fields", true, bidi(append([]byte{0x50, 0x00, 0x44, 0x00, 0x21}, bytes.Repeat([]byte{1, 'a'}, 33)...)...), wire.SessionProtocolViolation},
		{"huge namespace field", true, bidi(append([]byte{0x50, 0x00, 0x0c, 0x00, 0x01}, append(huge, 0x00)...)...), wire.SessionProtocolViolation},
		{"huge number of parameters", true, bidi(append([]byte{0x50, 0x00, 0x0b, 0x00, 0x00}, huge...)...), wire.SessionProtocolViolation},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runRelay(t, Config{}, func(rt *relayTest) {
				pub := rt.publisher()
				s := rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{})
				client, server := moqt.Pipe(moqt.PipeConfig{})
				rt.running.Go(func() { rt.relay.Serve(rt.ctx, server) })
				if tt.setup {
					uni(false, setup...)(client, rt.ctx)
					synctest.Wait()
				}
				tt.do(client, rt.ctx)
				select {
				case <-client.Context().Done():
				case <-time.After(time.Minute):
					t.Fatal("the session is still there")
				}
				var closed *moqt.ConnError
				if err := context.Cause(client.Context()); !errors.As(err, &closed) || !closed.Remote || wire.SessionCode(closed.Code) != tt.want {
					t.Errorf("the session ended with %v, want %v", err, tt.want)
				}
				pub.groups("video", 2, 1)
				rt.wantGroup(s, 1, 0, 2)
			})
		})
	}
}

package relay

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// scripted is a publisher of the namespace live that leaves the answers to SUBSCRIBE to the test.
func (rt *relayTest) scripted(answer func(*moqt.IncomingSubscribe)) *peer {
	rt.Helper()
	p := rt.dial(moqt.PipeConfig{})
	rt.running.Go(func() {
		for {
			req, err := p.Accept(rt.ctx)
			if err != nil {
				return
			}
			if s, ok := req.(*moqt.IncomingSubscribe); ok {
				answer(s)
			}
		}
	})
	if _, err := p.PublishNamespace(rt.ctx, wire.MustNamespace("live")); err != nil {
		rt.Fatal(err)
	}
	return p
}

// eventually waits until the condition holds, a virtual minute at most.
func (rt *relayTest) eventually(what string, ok func() bool) {
	rt.Helper()
	for range 600 {
		synctest.Wait()
		if ok() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	rt.Fatalf("still not so after a minute: %s", what)
}

// A session that is about to go, and takes no work any more, must not spoil the subscription for the publisher beside it.
func TestLeavingPublisherBesideAnother(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		leaving := &session{relay: rt.relay, ctx: rt.ctx, ended: true, upstreams: make(map[wire.FullTrackName]*link)}
		if _, refused := rt.relay.announce(leaving, wire.MustNamespace("live")); refused != nil {
			t.Fatal(refused)
		}
		viewer := rt.dial(moqt.PipeConfig{})
		viewer.wantRefused("video", wire.Params{}, wire.RequestDoesNotExist)
		pub := rt.publisher()
		s := viewer.subscribe("video", wire.Params{})
		pub.groups("video", 2, 1)
		rt.wantGroup(s, 1, 0, 2)
	})
}

// A PUBLISH that ends before it is answered, while the relay's SUBSCRIBE to the same publisher waits for its answer.
func TestPublishThatEndsAtOnceBesideSubscribe(t *testing.T) {
	for i := range 20 {
		runRelay(t, Config{}, func(rt *relayTest) {
			client, server := moqt.Pipe(moqt.PipeConfig{})
			rt.running.Go(func() { rt.relay.Serve(rt.ctx, server) })
			send := func(s moqt.SendStream, m wire.Message) {
				b, err := wire.AppendMessage(nil, m, wire.Draft18)
				if err != nil {
					t.Fatal(err)
				}
				s.Write(b)
			}
			control, _ := client.OpenUniStream(rt.ctx)
			control.Write([]byte{0xaf, 0x00, 0x00, 0x00})
			announce, _ := client.OpenStream(rt.ctx)
			send(announce, &wire.PublishNamespace{RequestID: 0, Namespace: wire.MustNamespace("live")})
			synctest.Wait()

			viewer := rt.dial(moqt.PipeConfig{})
			answered := make(chan error, 1)
			rt.running.Go(func() {
				_, err := viewer.Subscribe(rt.ctx, moqt.SubscribeRequest{Track: name("video")})
				answered <- err
			})
			subscribe, err := client.AcceptStream(rt.ctx)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			publish, _ := client.OpenStream(rt.ctx)
			both, _ := wire.AppendMessage(nil, &wire.Publish{RequestID: 2, Track: name("video"), TrackAlias: 7}, wire.Draft18)
			if i%2 == 0 {
				both, _ = wire.AppendMessage(both, &wire.PublishDone{Status: wire.DoneTrackEnded}, wire.Draft18)
			}
			publish.Write(both)
			if i%2 == 1 {
				publish.Reset(0)
				publish.Stop(0)
			}
			send(subscribe, &wire.SubscribeOK{TrackAlias: 9})
			select {
			case <-answered: // yes or no, but an answer
			case <-time.After(time.Minute):
				t.Error("the subscriber has no answer")
			}
			client.Close(0, "")
		})
	}
}

// A publisher that never answers: the subscriber is told in time, and when it leaves before, the question is taken back.
func TestPublisherThatDoesNotAnswer(t *testing.T) {
	runRelay(t, Config{Linger: time.Second}, func(rt *relayTest) {
		var asked []*moqt.IncomingSubscribe
		rt.scripted(func(s *moqt.IncomingSubscribe) { asked = append(asked, s) })
		viewer := rt.dial(moqt.PipeConfig{})
		began := time.Now()
		viewer.wantRefused("video", wire.Params{}, wire.RequestTimeout)
		if d := time.Since(began); d > 15*time.Second {
			t.Errorf("refused after %v", d)
		}
		ctx, cancel := context.WithTimeout(rt.ctx, time.Second)
		defer cancel()
		if _, err := viewer.Subscribe(ctx, moqt.SubscribeRequest{Track: name("audio")}); err == nil {
			t.Fatal("subscribed without an answer")
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if len(asked) != 2 || asked[0].Context().Err() == nil || asked[1].Context().Err() == nil {
			t.Errorf("%d requests to the publisher; none of them should be open", len(asked))
		}
		if n := rt.relay.stats.Tracks.Load(); n != 0 {
			t.Errorf("%d tracks are left", n)
		}
	})
}

// Of several publishers one refuses, before or after the others agree.
func TestOneOfSeveralPublishersRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		refuse time.Duration // after which the first answers with no
		agree  time.Duration // after which the second answers with yes; 0 is never
	}{
		{"before another agrees", 0, time.Second},
		{"after another agreed", time.Second, time.Millisecond},
		{"as all others", time.Second, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runRelay(t, Config{}, func(rt *relayTest) {
				no := &moqt.RequestError{Code: wire.RequestUnauthorized, Reason: "not you"}
				rt.scripted(func(s *moqt.IncomingSubscribe) {
					time.Sleep(tt.refuse)
					s.Reject(no)
				})
				rt.scripted(func(s *moqt.IncomingSubscribe) {
					if tt.agree == 0 {
						s.Reject(no)
						return
					}
					time.Sleep(tt.agree)
					s.Accept(moqt.AcceptSubscribe{})
				})
				viewer := rt.dial(moqt.PipeConfig{})
				if tt.agree == 0 {
					viewer.wantRefused("video", wire.Params{}, wire.RequestUnauthorized)
					return
				}
				s := viewer.subscribe("video", wire.Params{})
				time.Sleep(5 * time.Second)
				synctest.Wait()
				if s.Context().Err() != nil {
					t.Errorf("the subscription ended: %v", context.Cause(s.Context()))
				}
			})
		})
	}
}

// A viewer that comes at the very moment a track's linger time ends gets it all the same.
func TestJoinAtTheEndOfLinger(t *testing.T) {
	for _, after := range []time.Duration{-time.Millisecond, 0, time.Millisecond} {
		runRelay(t, Config{Linger: 2 * time.Second}, func(rt *relayTest) {
			pub := rt.publisher()
			viewer := rt.dial(moqt.PipeConfig{})
			for i := range 20 {
				s := viewer.subscribe("video", wire.Params{})
				pub.groups("video", 1, uint64(i))
				for rt.next(s).Header().Group != uint64(i) { // the one before may be in the cache
				}
				s.Close()
				synctest.Wait()
				time.Sleep(2*time.Second + time.Duration(i%3)*50*time.Millisecond + after)
			}
		})
	}
}

// Whether a pushed track is wanted must reach its publisher, however fast viewers come and go.
func TestPushedTrackIsResumed(t *testing.T) {
	runRelay(t, Config{Linger: -1}, func(rt *relayTest) {
		p := rt.dial(moqt.PipeConfig{Latency: 30 * time.Millisecond})
		pub, err := p.Publish(rt.ctx, moqt.PublishRequest{Track: name("video")})
		if err != nil {
			t.Fatal(err)
		}
		viewer := rt.dial(moqt.PipeConfig{})
		for i := range 40 {
			s := viewer.subscribe("video", wire.Params{})
			time.Sleep(time.Second)
			synctest.Wait()
			if !pub.State().Forward {
				t.Fatalf("round %d: the publisher is not told to send", i)
			}
			s.Close()
			time.Sleep(time.Duration(i) * 10 * time.Millisecond)
		}
		rt.eventually("the publisher pauses", func() bool { return !pub.State().Forward })
	})
}

// The same for a viewer that comes while PUBLISH is being answered.
func TestSubscribeWhilePublishIsAnswered(t *testing.T) {
	for range 30 {
		runRelay(t, Config{}, func(rt *relayTest) {
			p, viewer := rt.dial(moqt.PipeConfig{}), rt.dial(moqt.PipeConfig{})
			wait := wire.Params{RendezvousTimeout: wire.Some(wire.MillisOf(10 * time.Second))}
			rt.running.Go(func() { viewer.Subscribe(rt.ctx, moqt.SubscribeRequest{Track: name("video"), Params: wait}) })
			pub, err := p.Publish(rt.ctx, moqt.PublishRequest{Track: name("video")})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if !pub.State().Forward {
				t.Fatal("somebody waits for the track, but its publisher is not told to send")
			}
		})
	}
}

// A pushed track that nobody watches is not asked for at a second publisher; one that is watched is.
func TestSecondPublisherOfAPushedTrack(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		p := rt.dial(moqt.PipeConfig{})
		pushed, err := p.Publish(rt.ctx, moqt.PublishRequest{Track: name("video")})
		if err != nil {
			t.Fatal(err)
		}
		second := rt.publisher()
		synctest.Wait()
		if second.asked != 0 {
			t.Error("a track that nobody watches was asked for")
		}
		s := rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{})
		second.groups("video", 1, 5)
		rt.wantGroup(s, 5, 0, 1)
		// The pushed one is lost: the other goes on.
		p.conn.Lose(errors.New("killed"))
		time.Sleep(5 * time.Second)
		second.groups("video", 1, 6)
		rt.wantGroup(s, 6, 0, 1)
		_ = pushed
	})
}

// A publisher in Forward State 0 that sends all the same is held to the cache's bounds.
func TestPublisherThatSendsUnasked(t *testing.T) {
	runRelay(t, Config{CacheBytes: 1 << 20, CacheTrackBytes: 1 << 19}, func(rt *relayTest) {
		client, server := moqt.Pipe(moqt.PipeConfig{})
		rt.running.Go(func() { rt.relay.Serve(rt.ctx, server) })
		control, _ := client.OpenUniStream(rt.ctx)
		control.Write([]byte{0xaf, 0x00, 0x00, 0x00})
		for i := range uint64(60) {
			s, _ := client.OpenStream(rt.ctx)
			b, err := wire.AppendMessage(nil, &wire.Publish{RequestID: 2 * i, Track: name(fmt.Sprint(i)), TrackAlias: i}, wire.Draft18)
			if err != nil {
				t.Fatal(err)
			}
			s.Write(b)
			synctest.Wait()
			for d := range uint64(300) {
				prio := wire.Some(uint8(1))
				g := wire.Datagram{TrackAlias: i, GroupID: d, Priority: prio, Payload: make([]byte, 1000)}
				b, err := g.Append(nil, wire.Draft18)
				if err != nil {
					t.Fatal(err)
				}
				client.SendDatagram(b)
				if d%100 == 0 {
					synctest.Wait()
				}
			}
			synctest.Wait()
			if n := rt.relay.CacheBytes(); n > 1<<20 {
				t.Fatalf("the cache holds %d bytes after %d tracks of datagrams", n, i+1)
			}
		}
		client.Close(0, "")
	})
}

// A publisher announces and withdraws, is lost and comes back, faster than the grace period: what is announced at the end
// is what viewers know, and the subscription lives.
func TestFlappingPublisher(t *testing.T) {
	runRelay(t, Config{PublisherGrace: 3 * time.Second}, func(rt *relayTest) {
		pub := rt.publisher()
		viewer := rt.dial(moqt.PipeConfig{})
		names, err := viewer.SubscribeNamespace(rt.ctx, wire.MustNamespace("live"))
		if err != nil {
			t.Fatal(err)
		}
		here := make(chan bool, 100)
		rt.running.Go(func() {
			for {
				e, err := names.Next(rt.ctx)
				if err != nil {
					return
				}
				here <- !e.Gone
			}
		})
		s := viewer.subscribe("video", wire.Params{})
		for i := range uint64(20) {
			pub.groups("video", 1, i)
			rt.wantGroup(s, i, 0, 1)
			pub.conn.Lose(errors.New("killed"))
			time.Sleep(time.Duration(i) * 140 * time.Millisecond)
			pub = rt.publisher()
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := len(here); n != 1 || !<-here {
			t.Errorf("the namespace came and went %d times, want that it came once", n)
		}
		for range 5 { // now properly
			pub.announcement.Withdraw()
			synctest.Wait()
			if pub.announcement, err = pub.PublishNamespace(rt.ctx, wire.MustNamespace("live")); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		last := false
		for n := len(here); n > 0; n-- {
			last = <-here
		}
		if !last || rt.relay.stats.Namespaces.Load() != 1 {
			t.Errorf("announced %v, %d namespaces; want one that is known", last, rt.relay.stats.Namespaces.Load())
		}
		pub.groups("video", 1, 100)
		rt.wantGroup(s, 100, 0, 1)
	})
}

// Within the grace period a new track of a lost publisher is waited for, not refused.
func TestSubscribeDuringPublisherGrace(t *testing.T) {
	runRelay(t, Config{PublisherGrace: 3 * time.Second}, func(rt *relayTest) {
		pub := rt.publisher()
		viewer := rt.dial(moqt.PipeConfig{})
		pub.conn.Lose(errors.New("killed"))
		synctest.Wait()
		time.AfterFunc(time.Second, func() { rt.running.Go(func() { rt.publisher() }) })
		viewer.subscribe("video", wire.Params{})
		synctest.Wait() // the publisher too has its answer
	})
	runRelay(t, Config{PublisherGrace: 3 * time.Second}, func(rt *relayTest) {
		pub := rt.publisher()
		viewer := rt.dial(moqt.PipeConfig{})
		pub.conn.Lose(errors.New("killed"))
		synctest.Wait()
		began := time.Now()
		viewer.wantRefused("video", wire.Params{}, wire.RequestDoesNotExist)
		if d := time.Since(began); d < 2*time.Second || d > 4*time.Second {
			t.Errorf("refused after %v, want at the end of the grace period", d)
		}
	})
}

// A publisher begins anew while a third one is asked, too: what is left of the old track is given up, and the third one
// serves the new track as well.
func TestBeginAnewBesideAnIdlePublisher(t *testing.T) {
	runRelay(t, Config{Linger: time.Second}, func(rt *relayTest) {
		a, idle := rt.publisher(), rt.publisher()
		viewer := rt.dial(moqt.PipeConfig{})
		s := viewer.subscribe("video", wire.Params{})
		a.groups("video", 1, 100)
		rt.wantGroup(s, 100, 0, 1)
		idle.track("video")
		a.conn.Lose(errors.New("killed"))
		synctest.Wait()
		b := rt.publisher()
		b.groups("video", 1, 0)
		var done *moqt.DoneError
		if _, err := s.Next(rt.ctx); !errors.As(err, &done) || done.Code != wire.DoneTrackEnded {
			t.Fatalf("the old subscription: %v, want TRACK_ENDED", err)
		}
		again := viewer.subscribe("video", largestObject)
		rt.wantGroup(again, 0, 0, 1)
		idle.groups("video", 1, 1)
		rt.wantGroup(again, 1, 0, 1)
		again.Close()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if n := rt.relay.stats.Upstreams.Load(); n != 0 {
			t.Errorf("%d upstream subscriptions are left with nobody watching", n)
		}
	})
}

// While another publisher still brings the track, one that counts from zero does not end it.
func TestBeginAnewBesideALivePublisher(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		a, c := rt.publisher(), rt.publisher()
		s := rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{})
		c.groups("video", 1, 99)
		rt.wantGroup(s, 99, 0, 1)
		a.groups("video", 1, 100)
		rt.wantGroup(s, 100, 0, 1)
		a.conn.Lose(errors.New("killed"))
		synctest.Wait()
		b := rt.publisher()
		b.groups("video", 1, 0)
		c.groups("video", 1, 101)
		rt.wantGroup(s, 101, 0, 1)
	})
}

// Of two publishers of a name, which count their groups in different ways, the newer one leads. When it leaves, the older
// one goes on, though what it has is older than what was there.
func TestOlderPublisherGoesOnAlone(t *testing.T) {
	for _, properly := range []bool{false, true} {
		t.Run(fmt.Sprintf("the newer one ends properly: %v", properly), func(t *testing.T) {
			runRelay(t, Config{}, func(rt *relayTest) {
				older := rt.publisher()
				viewer := rt.dial(moqt.PipeConfig{})
				s := viewer.subscribe("video", wire.Params{})
				older.groups("video", 1, 1)
				rt.wantGroup(s, 1, 0, 1)
				newer := rt.publisher()
				newer.groups("video", 1, 1000)
				rt.wantGroup(s, 1000, 0, 1)
				if properly {
					newer.track("video").Done(wire.DoneTrackEnded, "")
					newer.Close(wire.SessionNoError, "")
				} else {
					newer.conn.Lose(errors.New("killed"))
				}
				got := make(chan uint64, 1)
				rt.running.Go(func() { // asks again when the track ends
					for {
						in, err := s.Next(rt.ctx)
						if err == nil {
							got <- in.Subgroup.Header().Group
							return
						}
						if s, err = viewer.Subscribe(rt.ctx, moqt.SubscribeRequest{Track: name("video"), Params: largestObject}); err != nil {
							return
						}
					}
				})
				began := time.Now()
				for g := uint64(2); len(got) == 0 && g < 100; g++ {
					if w, err := older.track("video").OpenSubgroup(rt.ctx, moqt.SubgroupHeader{Group: g}); err == nil {
						w.WriteObject(moqt.ObjectHeader{}, []byte("x")) // may be stopped, while it is refused
						w.Close()
					}
					time.Sleep(500 * time.Millisecond)
				}
				if d := time.Since(began); len(got) == 0 || d > 4*time.Second {
					t.Errorf("%d groups after %v, want one within 4 s", len(got), d)
				}
			})
		})
	}
}

// A subscriber that leaves while its track is being asked for leaves nothing behind.
func TestSubscriberThatLeavesDuringAcquire(t *testing.T) {
	runRelay(t, Config{Linger: -1}, func(rt *relayTest) {
		rt.scripted(func(s *moqt.IncomingSubscribe) {
			rt.running.Go(func() {
				time.Sleep(50 * time.Millisecond)
				s.Accept(moqt.AcceptSubscribe{})
			})
		})
		viewer := rt.dial(moqt.PipeConfig{})
		synctest.Wait()
		before := runtime.NumGoroutine()
		for i := range 100 {
			ctx, cancel := context.WithTimeout(rt.ctx, time.Duration(i)*time.Millisecond)
			if s, err := viewer.Subscribe(ctx, moqt.SubscribeRequest{Track: name(fmt.Sprint(i % 7))}); err == nil {
				s.Close()
			}
			cancel()
		}
		rt.eventually("no track and no upstream is left", func() bool {
			st := &rt.relay.stats
			return st.Tracks.Load() == 0 && st.Upstreams.Load() == 0 && st.Subscribers.Load() == 0
		})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := runtime.NumGoroutine(); n > before+2 { // one that has just ended may be counted
			t.Errorf("%d goroutines, before %d", n, before)
		}
	})
}

func TestTooManyTracks(t *testing.T) {
	runRelay(t, Config{MaxTracks: 2, Linger: time.Second}, func(rt *relayTest) {
		pub := rt.publisher()
		viewer := rt.dial(moqt.PipeConfig{})
		a := viewer.subscribe("a", wire.Params{})
		viewer.subscribe("b", wire.Params{})
		viewer.wantRefused("c", wire.Params{}, wire.RequestExcessiveLoad)
		if _, err := pub.Publish(rt.ctx, moqt.PublishRequest{Track: name("d")}); err == nil {
			t.Error("a PUBLISH was taken over the bound")
		}
		rt.dial(moqt.PipeConfig{}).subscribe("b", wire.Params{}) // carried already
		a.Close()
		time.Sleep(2 * time.Second)
		viewer.subscribe("c", wire.Params{})
	})
}

func TestTooManySessions(t *testing.T) {
	runRelay(t, Config{MaxSessions: 1}, func(rt *relayTest) {
		rt.dial(moqt.PipeConfig{})
		client, server := moqt.Pipe(moqt.PipeConfig{})
		if err := rt.relay.Serve(rt.ctx, server); err == nil {
			t.Error("a session was taken over the bound")
		}
		if client.Context().Err() == nil || rt.relay.stats.SessionsOver.Load() != 1 {
			t.Errorf("connection: %v, %d turned away; want that it is closed and counted", client.Context().Err(), rt.relay.stats.SessionsOver.Load())
		}
	})
}

// At the bound of namespaces, a second publisher of one that is there already is none too many.
func TestTooManyNamespaces(t *testing.T) {
	runRelay(t, Config{MaxNamespaces: 1}, func(rt *relayTest) {
		rt.publisher()
		second := rt.publisher()
		synctest.Wait()
		if second.announcement.Context().Err() != nil { // publisher fails the test if it is refused
			t.Error("a publisher of a namespace that is there was dismissed")
		}
		_, err := second.PublishNamespace(rt.ctx, wire.MustNamespace("other"))
		var refused *moqt.RequestError
		if !errors.As(err, &refused) || refused.Code != wire.RequestExcessiveLoad {
			t.Errorf("a namespace over the bound: %v, want EXCESSIVE_LOAD", err)
		}
	})
}

// Sessions that are being set up when the relay stops are told, too, or closed.
func TestShutdownWhileSessionsStart(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		var over []chan error
		for i := range 20 {
			client, server := moqt.Pipe(moqt.PipeConfig{Latency: time.Duration(i) * time.Millisecond})
			s := moqt.New(client, moqt.Config{})
			ended := make(chan error, 1)
			over = append(over, ended)
			rt.running.Go(func() { rt.relay.Serve(rt.ctx, server) })
			rt.running.Go(func() { ended <- s.Run(rt.ctx) })
		}
		time.Sleep(10 * time.Millisecond)
		ctx, cancel := context.WithTimeout(rt.ctx, 2*time.Second)
		defer cancel()
		rt.relay.Shutdown(ctx)
		for i, ended := range over {
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				t.Errorf("session %d is still there", i)
			}
		}
	})
}

package relay

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// dynamic are the Track Properties of a track that begins new groups when it is asked to.
func dynamic(t *testing.T) wire.Properties {
	t.Helper()
	props, err := (&wire.TrackProperties{DynamicGroups: wire.Some(true)}).Properties(wire.Draft18)
	if err != nil {
		t.Fatal(err)
	}
	return props
}

// "When a subscriber detects a Malformed Track, it MUST cancel any corresponding subscription or fetches for that Track from
// that publisher ... If a relay detects a Malformed Track, it MUST immediately terminate downstream subscriptions with
// PUBLISH_DONE and reset any fetch streams with Status Code `MALFORMED_TRACK`. Object(s) triggering Malformed Track status
// MUST NOT be cached." [MOQT-18] Section 2.4.2, Malformed Tracks
func TestMalformedTrack(t *testing.T) {
	// Each begins where object 1.0 of an open stream is there.
	for _, tt := range []struct {
		why string
		do  func(p *publisher, w *moqt.SubgroupWriter)
	}{
		{"an object after the end of the group", func(p *publisher, w *moqt.SubgroupWriter) {
			w.WriteObject(moqt.ObjectHeader{ID: 4, Status: wire.ObjectEndOfGroup}, nil)
			w2, _ := p.track("video").OpenSubgroup(p.ctx, moqt.SubgroupHeader{Group: 1, Subgroup: 1})
			p.write(w2, 1, 9)
		}},
		{"an object after the end of the track", func(p *publisher, w *moqt.SubgroupWriter) {
			w.WriteObject(moqt.ObjectHeader{ID: 1, Status: wire.ObjectEndOfTrack}, nil)
			p.write(p.group("video", 2), 2, 0)
		}},
		{"an object in a gap", func(p *publisher, w *moqt.SubgroupWriter) {
			props, _ := wire.AppendProperties(nil, []wire.Property{{Type: wire.PropertyPriorObjectIDGap, Uint: 3}}, wire.Draft18)
			w2, _ := p.track("video").OpenSubgroup(p.ctx, moqt.SubgroupHeader{Group: 1, Subgroup: 1, Properties: true})
			w2.WriteObject(moqt.ObjectHeader{ID: 5, Properties: props}, []byte("1.5"))
			synctest.Wait()
			p.write(w, 1, 3)
		}},
		{"a datagram beyond the end of its group", func(p *publisher, w *moqt.SubgroupWriter) {
			w.WriteObject(moqt.ObjectHeader{ID: 1, Status: wire.ObjectEndOfGroup}, nil)
			synctest.Wait()
			p.track("video").SendDatagram(moqt.Datagram{Group: 1, Object: 7, Payload: []byte("x")})
		}},
	} {
		t.Run(tt.why, func(t *testing.T) {
			runRelay(t, Config{}, func(rt *relayTest) {
				pub := rt.publisher()
				viewer := rt.dial(moqt.PipeConfig{})
				s := viewer.subscribe("video", wire.Params{})
				other := viewer.subscribe("audio", wire.Params{})
				w := pub.group("video", 1)
				pub.write(w, 1, 0)
				r := rt.next(s)
				rt.wantObject(r, 1, 0)
				// A FETCH that waits for the rest of a group.
				head, _ := new(wire.SubgroupCursor).Append(nil, &wire.ObjectHeader{PayloadLen: 100}, wire.Draft18)
				torn, err := pub.track("video").OpenSubgroup(rt.ctx, moqt.SubgroupHeader{Group: 0, FirstObject: true})
				if err != nil {
					t.Fatal(err)
				}
				torn.Write(append(head, "half"...))
				synctest.Wait()
				f, err := viewer.Fetch(rt.ctx, fetchOf(wire.Location{}, wire.Location{Group: 1}, wire.GroupOrderAscending))
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				tt.do(pub, w)

				ctx, cancel := context.WithTimeout(rt.ctx, time.Minute)
				defer cancel()
				defer context.AfterFunc(ctx, func() { f.Stop(wire.StreamCancelled) })()
				var done *moqt.DoneError
				for done == nil {
					if _, err := s.Next(ctx); err != nil && !errors.As(err, &done) {
						t.Fatalf("the subscription ended with %v", err)
					}
				}
				if done.Code != wire.DoneMalformedTrack || time.Since(began) > 100*time.Millisecond {
					t.Errorf("PUBLISH_DONE %v after %v, want MALFORMED_TRACK at once", done, time.Since(began))
				}
				var reset *moqt.StreamError
				for err == nil { // an object may have gone out before
					_, err = f.Next()
				}
				if !errors.As(err, &reset) || wire.StreamCode(reset.Code) != wire.StreamMalformedTrack {
					t.Errorf("the FETCH ended with %v, want a reset with MALFORMED_TRACK", err)
				}
				select {
				case <-pub.track("video").Context().Done():
				case <-ctx.Done():
					t.Error("the publisher was not told to stop")
				}
				if n := rt.relay.CacheBytes(); n != 0 {
					t.Errorf("%d bytes of the track are kept", n)
				}
				pub.groups("audio", 1, 6) // the session goes on
				rt.wantGroup(other, 6, 0, 1)
				if n := rt.relay.stats.Refusals[RefusedMalformed].Load(); n != 1 {
					t.Errorf("%d malformed tracks were counted, want 1", n)
				}
			})
		})
	}
}

// Publishers send nothing while nobody wants objects, and again as soon as somebody does. "If the SUBSCRIBE has Forward
// State=1 and the upstream subscriptions are in Forward State=0, the Relay MUST send REQUEST_UPDATE with Forward=1 to all
// publishers." [MOQT-18] Section 9.5, Publisher Interactions
func TestForwardStateUpstream(t *testing.T) {
	paused := wire.Params{Forward: wire.Some(false)}
	for _, kind := range []string{"SUBSCRIBE", "PUBLISH"} {
		t.Run(kind, func(t *testing.T) {
			runRelay(t, Config{Linger: 5 * time.Second}, func(rt *relayTest) {
				var pub *publisher
				if kind == "PUBLISH" {
					pub = rt.dial(moqt.PipeConfig{}).offerTrack("video")
				} else {
					pub = rt.publisher()
				}
				first := rt.dial(moqt.PipeConfig{}).subscribe("video", paused)
				want := func(why string, forward bool) {
					t.Helper()
					synctest.Wait()
					if got := pub.track("video").State().Forward; got != forward {
						t.Errorf("%s: the publisher is told to send: %v, want %v", why, got, forward)
					}
				}
				// "Relays SHOULD set the `Forward` flag to 1 when a new subscription needs to be sent upstream"
				// [MOQT-18] Section 9.2, Forward Handling
				want("nobody wants objects yet", kind == "SUBSCRIBE")
				time.Sleep(6 * time.Second)
				want("nobody has wanted any for a while", false)
				second := rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{})
				want("a second subscriber wants them", true)
				if _, err := first.Update(rt.ctx, wire.Params{Forward: wire.Some(true)}); err != nil {
					t.Fatal(err)
				}
				second.Close()
				time.Sleep(6 * time.Second)
				want("the second has left, the first wants them now", true)
				pub.groups("video", 1, 8)
				rt.wantGroup(first, 8, 0, 1)
				first.Update(rt.ctx, paused)
				time.Sleep(6 * time.Second)
				want("the first has paused", false)
				first.Update(rt.ctx, wire.Params{Forward: wire.Some(true)})
				want("and goes on", true)
			})
		})
	}
}

// Who comes to a track that is paused learns how far it is now, not how far it was. "A relay MUST set LARGEST_OBJECT to the
// largest of the following: 1. Any LARGEST_OBJECT value received from the upstream publisher in SUBSCRIBE_OK, PUBLISH, or
// REQUEST_UPDATE_OK" [MOQT-18] Section 10.2.11, LARGEST OBJECT Parameter
func TestLargestObjectOfAPausedTrack(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		largest := wire.Location{Group: 3, Object: 7}
		p := rt.dial(moqt.PipeConfig{Latency: 20 * time.Millisecond})
		_, err := p.Publish(rt.ctx, moqt.PublishRequest{Track: name("video"), Largest: func() (wire.Location, bool) { return largest, true }})
		if err != nil {
			t.Fatal(err)
		}
		rt.running.Go(func() {
			for {
				req, err := p.Accept(rt.ctx)
				if err != nil {
					return
				}
				if q, ok := req.(*moqt.IncomingTrackStatus); ok {
					q.Accept(moqt.TrackStatus{Largest: wire.Some(largest)})
				}
			}
		})
		time.Sleep(time.Second)
		largest = wire.Location{Group: 50, Object: 2} // it has gone on, unseen
		if st, err := rt.dial(moqt.PipeConfig{}).TrackStatus(rt.ctx, name("video")); err != nil || st.Largest != wire.Some(largest) {
			t.Errorf("TRACK_STATUS says that the largest object is %v, %v; want %v", st.Largest, err, largest)
		}
		s := rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{})
		if at, _ := s.Info().Largest.Get(); at != largest {
			t.Errorf("SUBSCRIBE_OK says that the largest object is %v, want %v", at, largest)
		}
	})
}

// [MOQT-18] Section 10.2.13, NEW GROUP REQUEST Parameter, Relay Handling
func TestNewGroupRequestUpstream(t *testing.T) {
	asks := func(n uint64) wire.Params { return wire.Params{NewGroupRequest: wire.Some(n)} }
	for _, supported := range []bool{true, false} {
		t.Run(fmt.Sprint("dynamic groups ", supported), func(t *testing.T) {
			runRelay(t, Config{}, func(rt *relayTest) {
				var props wire.Properties
				if supported {
					props = dynamic(t)
				}
				var with []wire.Opt[uint64] // what came with SUBSCRIBE
				pubs := make(chan *moqt.Publication, 1)
				rt.scripted(func(s *moqt.IncomingSubscribe) {
					with = append(with, s.Params.NewGroupRequest)
					pub, err := s.Accept(moqt.AcceptSubscribe{Properties: props, Largest: func() (wire.Location, bool) { return wire.Location{Group: 5}, true }})
					if err == nil {
						pubs <- pub
					}
				})
				first := rt.dial(moqt.PipeConfig{}).subscribe("video", asks(0))
				pub := <-pubs
				p := &publisher{peer: &peer{relayTest: rt}, tracks: map[string]*moqt.Publication{"video": pub}}
				var seen uint64
				want := func(why string, n wire.Opt[uint64]) {
					t.Helper()
					synctest.Wait()
					state := pub.State()
					switch {
					case !supported || !n.IsSet():
						if state.NewGroups != seen {
							t.Errorf("%s: the publisher was asked for a new group, %v", why, state.NewGroup)
						}
					case state.NewGroups != seen+1 || state.NewGroup != n:
						t.Errorf("%s: the publisher was asked %d times more, for %v; want once, for %v", why, state.NewGroups-seen, state.NewGroup, n)
					}
					seen = state.NewGroups
				}
				// "A relay that receives a NEW_GROUP_REQUEST for a Track without an `Established` subscription MUST include the
				// NEW_GROUP_REQUEST when subscribing upstream."
				if len(with) != 1 || with[0] != wire.Some(uint64(0)) {
					t.Errorf("with SUBSCRIBE came %v, want 0", with)
				}
				want("it went with SUBSCRIBE", wire.Some(uint64(0)))
				rt.dial(moqt.PipeConfig{}).subscribe("video", asks(0))
				want("one is outstanding", wire.Opt[uint64]{})
				p.groups("video", 1, 6)
				synctest.Wait()
				second := rt.dial(moqt.PipeConfig{}).subscribe("video", asks(6))
				want("that group is there", wire.Opt[uint64]{})
				if supported {
					second.Update(rt.ctx, asks(7))
					want("the next one", wire.Some(uint64(7)))
					first.Update(rt.ctx, asks(7))
					want("the next one, again", wire.Opt[uint64]{})
					first.Update(rt.ctx, asks(9))
					want("one after that", wire.Some(uint64(9)))
					p.groups("video", 1, 7)
					synctest.Wait()
					first.Update(rt.ctx, asks(0))
					want("any, after a new one has begun", wire.Some(uint64(0)))
				}
			})
		})
	}
}

// "Upon receiving a GOAWAY on a request stream, the endpoint SHOULD re-issue that specific request on a session at the
// specified URI (or the current session if no URI is provided)" [MOQT-18] Section 10.4, GOAWAY
func TestGoAwayOfOneSubscription(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		pub := rt.publisher()
		s := rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{})
		pub.groups("video", 1, 1)
		rt.wantGroup(s, 1, 0, 1)
		old := pub.track("video")
		if err := old.GoAway("", time.Minute); err != nil {
			t.Fatal(err)
		}
		rt.eventually("the relay has subscribed anew", func() bool { return pub.asked == 2 })
		<-old.Context().Done()
		pub.groups("video", 1, 2)
		rt.wantGroup(s, 2, 0, 1)
	})
}

// A publisher that says where else a track is to be had is quoted.
func TestRedirect(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		to := &wire.Redirect{Track: name("elsewhere")}
		rt.scripted(func(s *moqt.IncomingSubscribe) {
			if s.Track.Name == "elsewhere" {
				s.Accept(moqt.AcceptSubscribe{})
				return
			}
			s.Reject(&moqt.RequestError{Code: wire.RequestRedirect, Reason: "moved", Redirect: to})
		})
		viewer := rt.dial(moqt.PipeConfig{})
		_, err := viewer.Subscribe(rt.ctx, moqt.SubscribeRequest{Track: name("video")})
		var refused *moqt.RequestError
		if !errors.As(err, &refused) || refused.Code != wire.RequestRedirect || refused.Redirect == nil || refused.Redirect.Track != to.Track {
			t.Fatalf("refused with %+v, want a redirect to %v", err, to.Track)
		}
		viewer.subscribe(refused.Redirect.Track.Name, wire.Params{})
	})
}

// A session that has as much as it may have is refused more, and no other session with it.
func TestQuotas(t *testing.T) {
	wantOver := func(t *testing.T, what string, err error) {
		t.Helper()
		var refused *moqt.RequestError
		if !errors.As(err, &refused) || refused.Code != wire.RequestExcessiveLoad || !refused.Retry.IsSet() {
			t.Errorf("%s: %v, want EXCESSIVE_LOAD with a time to try again", what, err)
		}
	}
	cfg := Config{SessionMaxTracks: 3, SessionMaxNamespaces: 2, SessionRequestRate: 20}
	runRelay(t, cfg, func(rt *relayTest) {
		pub := rt.publisher()
		p := rt.dial(moqt.PipeConfig{})
		first := p.subscribe("a", wire.Params{})
		p.subscribe("b", wire.Params{})
		p.offerTrack("mine")
		_, err := p.Subscribe(rt.ctx, moqt.SubscribeRequest{Track: name("c")})
		wantOver(t, "a fourth track", err)
		_, err = p.Publish(rt.ctx, moqt.PublishRequest{Track: name("mine too")})
		wantOver(t, "a second track of its own", err)
		rt.dial(moqt.PipeConfig{}).subscribe("c", wire.Params{})
		first.Close()
		synctest.Wait()
		p.subscribe("c", wire.Params{})
		if n := rt.relay.stats.QuotaRefusals[QuotaTracks].Load(); n != 2 {
			t.Errorf("%d refusals for tracks were counted, want 2", n)
		}

		for _, ns := range []string{"x", "y"} {
			if _, err := p.PublishNamespace(rt.ctx, wire.MustNamespace(ns)); err != nil {
				t.Fatal(err)
			}
		}
		_, err = p.PublishNamespace(rt.ctx, wire.MustNamespace("z"))
		wantOver(t, "a third namespace", err)
		if n := rt.relay.stats.QuotaRefusals[QuotaNamespaces].Load(); n != 1 {
			t.Errorf("%d refusals for namespaces were counted, want 1", n)
		}

		busy := rt.dial(moqt.PipeConfig{})
		var over error
		for range 21 {
			if _, err := busy.TrackStatus(rt.ctx, name("a")); err != nil {
				over = err
			}
		}
		wantOver(t, "the 21st request at once", over)
		time.Sleep(100 * time.Millisecond)
		if _, err := busy.TrackStatus(rt.ctx, name("c")); err != nil {
			t.Errorf("a moment later: %v", err)
		}
		if n := rt.relay.stats.QuotaRefusals[QuotaRequests].Load(); n != 1 {
			t.Errorf("%d refusals for the rate were counted, want 1", n)
		}
		_ = pub
	})
}

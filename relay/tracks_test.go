package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// collector takes every PUBLISH it is offered.
type collector struct {
	*peer
	mu   sync.Mutex
	subs map[string]*moqt.Subscription
	got  []string // names in the order they came
}

// collect makes a peer that asks for all tracks with a prefix. refuse, if not nil, is asked whether an offer is refused.
func (rt *relayTest) collect(p *peer, prefix wire.Namespace, forward bool, refuse func(name string) bool) (*collector, *moqt.TracksSubscription) {
	rt.Helper()
	c := &collector{peer: p, subs: make(map[string]*moqt.Subscription)}
	rt.running.Go(func() {
		for {
			req, err := p.Accept(rt.ctx)
			if err != nil {
				return
			}
			offer, ok := req.(*moqt.IncomingPublish)
			if !ok {
				req.Reject(nil)
				continue
			}
			c.mu.Lock()
			c.got = append(c.got, offer.Track.Name)
			c.mu.Unlock()
			if refuse != nil && refuse(offer.Track.Name) {
				offer.Reject(&moqt.RequestError{Code: wire.RequestUninterested})
				continue
			}
			sub, err := offer.Accept(wire.Params{Forward: wire.Some(offer.Params.Forward.Or(true))})
			if err == nil {
				c.mu.Lock()
				c.subs[offer.Track.Name] = sub
				c.mu.Unlock()
			}
		}
	})
	ts, err := p.SubscribeTracks(rt.ctx, prefix, forward)
	if err != nil {
		rt.Fatal(err)
	}
	return c, ts
}

// want waits for quiet and compares the names that were offered so far.
func (c *collector) want(why string, names ...string) {
	c.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	got := slices.Clone(c.got)
	slices.Sort(got)
	if !slices.Equal(got, names) {
		c.Errorf("%s: offered %q, want %q", why, got, names)
	}
}

func (c *collector) sub(name string) *moqt.Subscription {
	c.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subs[name] == nil {
		c.Fatalf("no subscription of %q", name)
	}
	return c.subs[name]
}

// offerTrack publishes a track of the namespace live with PUBLISH.
func (p *peer) offerTrack(track string) *publisher {
	p.Helper()
	pub, err := p.Publish(p.ctx, moqt.PublishRequest{Track: name(track)})
	if err != nil {
		p.Fatal(err)
	}
	return &publisher{peer: p, tracks: map[string]*moqt.Publication{track: pub}}
}

// "When a relay receives an incoming PUBLISH message, it MUST send a PUBLISH request to each subscriber that has sent
// SUBSCRIBE_TRACKS for the Track's namespace or a prefix thereof." [MOQT-18] Section 9.5, Publisher Interactions
func TestSubscribeTracks(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		before := rt.dial(moqt.PipeConfig{}).offerTrack("before")
		all, _ := rt.collect(rt.dial(moqt.PipeConfig{}), wire.Namespace{}, true, nil)
		live, _ := rt.collect(rt.dial(moqt.PipeConfig{}), wire.MustNamespace("live"), true, nil)
		deeper, _ := rt.collect(rt.dial(moqt.PipeConfig{}), wire.MustNamespace("live", "x"), true, nil)
		after := rt.dial(moqt.PipeConfig{}).offerTrack("after")
		local, err := rt.relay.Publish(name("local"), nil)
		if err != nil {
			t.Fatal(err)
		}
		all.want("no prefix", "after", "before", "local")
		live.want("its namespace", "after", "before", "local")
		deeper.want("a longer prefix")

		before.groups("before", 2, 7)
		after.groups("after", 2, 8)
		local.Write(LocalObject{Group: 9, Payload: []byte("9.0"), EndOfGroup: true})
		for _, c := range []*collector{all, live} {
			rt.wantGroup(c.sub("before"), 7, 0, 2)
			rt.wantGroup(c.sub("after"), 8, 0, 2)
			rt.wantGroup(c.sub("local"), 9, 0, 1)
		}

		before.track("before").Done(wire.DoneTrackEnded, "")
		synctest.Wait()
		var done *moqt.DoneError
		if _, err := all.sub("before").Next(rt.ctx); !errors.As(err, &done) || done.Code != wire.DoneTrackEnded {
			t.Errorf("after the end of a track: %v", err)
		}
		// A track that begins anew is another track.
		rt.dial(moqt.PipeConfig{}).offerTrack("before")
		all.want("published again", "after", "before", "before", "local")
		if n := rt.relay.stats.Offers[OfferAccepted].Load(); n != 8 {
			t.Errorf("%d offers were counted as accepted, want 8", n)
		}
	})
}

// "... excluding tracks published by the subscriber." [MOQT-18] Section 6.1, Subscribing to Namespaces
func TestSubscribeTracksOfOneself(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		chatter := rt.dial(moqt.PipeConfig{})
		chatter.offerTrack("mine")
		c, _ := rt.collect(chatter, wire.MustNamespace("live"), true, nil)
		rt.dial(moqt.PipeConfig{}).offerTrack("yours")
		c.want("a chat", "yours")
	})
}

// "If the FORWARD parameter is present in this message and equal to 0, PUBLISH messages resulting from this
// SUBSCRIBE_TRACKS will set the FORWARD parameter to 0." [MOQT-18] Section 10.19, SUBSCRIBE_TRACKS
func TestSubscribeTracksPaused(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		pub := rt.dial(moqt.PipeConfig{}).offerTrack("video")
		c, _ := rt.collect(rt.dial(moqt.PipeConfig{}), wire.MustNamespace("live"), false, nil)
		c.want("offered", "video")
		if pub.track("video").State().Forward {
			t.Error("the publisher was told to send though nobody wants objects")
		}
		if _, err := c.sub("video").Update(rt.ctx, wire.Params{Forward: wire.Some(true)}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		pub.groups("video", 1, 4)
		rt.wantGroup(c.sub("video"), 4, 0, 1)
	})
}

// What the peer does not want is not offered again; what comes after the request was cancelled is not offered at all, and
// what was accepted goes on. "Cancelling SUBSCRIBE_TRACKS does not prohibit original publishers from sending further PUBLISH
// messages, but relays MUST NOT send any further PUBLISH messages to a client without knowing the client is interested"
// [MOQT-18] Section 6.1, Subscribing to Namespaces
func TestSubscribeTracksRefusedAndCancelled(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		c, ts := rt.collect(rt.dial(moqt.PipeConfig{}), wire.MustNamespace("live"), true, func(name string) bool { return name == "a" })
		rt.dial(moqt.PipeConfig{}).offerTrack("a")
		b := rt.dial(moqt.PipeConfig{}).offerTrack("b")
		c.want("both are offered", "a", "b")
		ts.Close()
		synctest.Wait()
		rt.dial(moqt.PipeConfig{}).offerTrack("c")
		c.want("cancelled", "a", "b")
		b.groups("b", 1, 3)
		rt.wantGroup(c.sub("b"), 3, 0, 1)
		if n := rt.relay.stats.Offers[OfferRefused].Load(); n != 1 {
			t.Errorf("%d offers were counted as refused, want 1", n)
		}
	})
}

// "However, if the relay is holding a downstream SUBSCRIBE awaiting a publisher for this Track, it MUST proceed with the
// SUBSCRIBE and MUST NOT also forward the PUBLISH to that subscriber." [MOQT-18] Section 9.5, Publisher Interactions
func TestSubscribeTracksBesideARendezvous(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		viewer := rt.dial(moqt.PipeConfig{})
		c, _ := rt.collect(viewer, wire.MustNamespace("live"), true, nil)
		answered := make(chan *moqt.Subscription, 1)
		rt.running.Go(func() {
			s, err := viewer.Subscribe(rt.ctx, moqt.SubscribeRequest{Track: name("video"), Params: wire.Params{RendezvousTimeout: wire.Some(wire.Millis(5000))}})
			if err != nil {
				t.Error(err)
			}
			answered <- s
		})
		synctest.Wait()
		pub := rt.dial(moqt.PipeConfig{}).offerTrack("video")
		s := <-answered
		c.want("a SUBSCRIBE waits")
		pub.groups("video", 1, 3)
		rt.wantGroup(s, 3, 0, 1)
	})
}

// "If a Subscription cannot be created because there are no available bidirectional streams, the Publisher sends a
// PUBLISH_BLOCKED message on the SUBSCRIBE_TRACKS response stream" [MOQT-18] Section 6.1, Subscribing to Namespaces
func TestPublishBlocked(t *testing.T) {
	for _, tt := range []struct {
		why  string
		cfg  Config
		pipe moqt.PipeConfig
	}{
		{"no stream", Config{}, moqt.PipeConfig{MaxStreams: 1}},
		{"the quota of the session", Config{SessionMaxTracks: 1}, moqt.PipeConfig{}},
	} {
		t.Run(tt.why, func(t *testing.T) {
			runRelay(t, tt.cfg, func(rt *relayTest) {
				c, ts := rt.collect(rt.dial(tt.pipe), wire.MustNamespace("live"), true, nil)
				rt.dial(moqt.PipeConfig{}).offerTrack("a")
				c.want("the first", "a")
				rt.dial(moqt.PipeConfig{}).offerTrack("b")
				blocked, err := ts.Blocked(rt.ctx)
				if err != nil || blocked != name("b") {
					t.Errorf("blocked is %v, %v; want b", blocked, err)
				}
				c.want("the second", "a")
				if n := rt.relay.stats.Offers[OfferBlocked].Load(); n != 1 {
					t.Errorf("%d offers were counted as blocked, want 1", n)
				}
			})
		})
	}
}

// A new prefix counts for what comes from then on, and for what is there. [MOQT-18] Section 10.9.2, Updating Namespace
// Subscriptions
func TestPrefixUpdates(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		p := rt.dial(moqt.PipeConfig{})
		for _, ns := range []wire.Namespace{wire.MustNamespace("live", "a"), wire.MustNamespace("live", "b"), wire.MustNamespace("other")} {
			if _, err := p.PublishNamespace(rt.ctx, ns); err != nil {
				t.Fatal(err)
			}
		}
		viewer := rt.dial(moqt.PipeConfig{})
		sub, err := viewer.SubscribeNamespace(rt.ctx, wire.MustNamespace("live"))
		if err != nil {
			t.Fatal(err)
		}
		known := make(map[string]bool)
		settle := func() string {
			time.Sleep(time.Millisecond)
			for {
				ctx, cancel := context.WithTimeout(rt.ctx, time.Second)
				e, err := sub.Next(ctx)
				cancel()
				if err != nil {
					break
				}
				known[fmt.Sprint(e.Namespace.Fields())] = !e.Gone
			}
			var names []string
			for n, there := range known {
				if there {
					names = append(names, n)
				}
			}
			slices.Sort(names)
			return fmt.Sprint(names)
		}
		for _, tt := range []struct {
			prefix wire.Namespace
			want   string
		}{
			{wire.MustNamespace("live"), "[[live a] [live b]]"},
			{wire.MustNamespace("live", "b"), "[[live b]]"},
			{wire.Namespace{}, "[[live a] [live b] [other]]"},
			{wire.MustNamespace("nothing"), "[]"},
		} {
			if tt.prefix != wire.MustNamespace("live") {
				if err := sub.Update(rt.ctx, tt.prefix); err != nil {
					t.Fatal(err)
				}
			}
			if got := settle(); got != tt.want {
				t.Errorf("prefix %v: %s, want %s", tt.prefix.Fields(), got, tt.want)
			}
		}

		c, ts := rt.collect(rt.dial(moqt.PipeConfig{}), wire.MustNamespace("nothing"), true, nil)
		rt.dial(moqt.PipeConfig{}).offerTrack("video")
		c.want("another prefix")
		if err := ts.Update(rt.ctx, wire.MustNamespace("live")); err != nil {
			t.Fatal(err)
		}
		c.want("the new prefix", "video")
	})
}

package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
		rt.relay.checkIndex(t)
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

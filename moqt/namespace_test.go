package moqt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

func ns(fields ...string) wire.Namespace { return wire.MustNamespace(fields...) }

func TestPublishNamespace(t *testing.T) {
	runSession(t, testSession{}, func(st *sessionTest) {
		a := background(st, func() (*Announcement, error) { return st.s.PublishNamespace(st.Context(), ns("live")) })
		ps := st.wantRequest("", &wire.PublishNamespace{Namespace: ns("live")})
		a.wantBlocked("not answered")
		ps.send(&wire.RequestOK{})
		ann := a.ok("accepted")
		if ann.Namespace() != ns("live") {
			st.Error(ann.Namespace())
		}
		ps.fin()
		if ann.Context().Err() != nil {
			st.Error("a FIN revokes nothing")
		}
		ann.Withdraw()
		ps.wantReset("withdrawn", wire.StreamCancelled)
		if ann.Context().Err() == nil {
			st.Error("goes on")
		}
	})
	for name, revoke := range map[string]func(*peerStream){
		"reset":       func(ps *peerStream) { ps.reset(wire.StreamExpiredAuthToken) },
		"stop":        func(ps *peerStream) { ps.stop(wire.StreamExpiredAuthToken); time.Sleep(stopGrace); synctest.Wait() },
		"FIN, stop":   func(ps *peerStream) { ps.fin(); ps.stop(wire.StreamExpiredAuthToken) },
		"stop, FIN":   func(ps *peerStream) { ps.stop(wire.StreamExpiredAuthToken); ps.fin() },
		"reset, stop": func(ps *peerStream) { ps.reset(wire.StreamExpiredAuthToken); ps.stop(wire.StreamExpiredAuthToken) },
	} {
		runSession(t, testSession{}, func(st *sessionTest) {
			a := background(st, func() (*Announcement, error) { return st.s.PublishNamespace(st.Context(), ns("live")) })
			ps := st.acceptStream()
			ps.message("PUBLISH_NAMESPACE")
			ps.send(&wire.RequestOK{})
			ann := a.ok("accepted")
			revoke(ps)
			if ann.Context().Err() == nil {
				st.Errorf("%s: goes on", name)
			}
		})
	}
	runSession(t, testSession{}, func(st *sessionTest) {
		a := background(st, func() (*Announcement, error) { return st.s.PublishNamespace(st.Context(), ns("live")) })
		ps := st.acceptStream()
		ps.message("PUBLISH_NAMESPACE")
		ps.send(&wire.RequestError{Code: wire.RequestUninterested})
		ps.fin()
		_, err := a.result("refused")
		wantRequestError(st, "refused", err, wire.RequestUninterested)
	})
	// "The publisher SHOULD close the session with a protocol error if it receives more than one."
	// [MOQT-18] Section 6.2, Publishing Namespaces
	runSession(t, testSession{}, func(st *sessionTest) {
		background(st, func() (*Announcement, error) {
			return st.s.PublishNamespace(context.Background(), ns("live"))
		})
		ps := st.acceptStream()
		ps.message("PUBLISH_NAMESPACE")
		ps.send(&wire.RequestOK{}, &wire.RequestOK{})
		st.wantClose("", wire.SessionProtocolViolation)
	})
}

func TestIncomingPublishNamespace(t *testing.T) {
	for name, leave := range map[string]func(*peerStream){
		"reset":     func(ps *peerStream) { ps.reset(wire.StreamCancelled) },
		"stop":      func(ps *peerStream) { ps.stop(wire.StreamCancelled) },
		"FIN, stop": func(ps *peerStream) { ps.fin(); ps.stop(wire.StreamCancelled) },
	} {
		runSession(t, testSession{server: true}, func(st *sessionTest) {
			ps := st.request(&wire.PublishNamespace{Namespace: ns("live")})
			req := accept[*IncomingPublishNamespace](st)
			if req.Namespace != ns("live") {
				st.Error(req.Namespace)
			}
			if err := req.Accept(); err != nil {
				st.Fatal(err)
			}
			ps.wantMessage("", &wire.RequestOK{})
			ps.send(&wire.RequestUpdate{RequestID: 2})
			ps.wantMessage("update", &wire.RequestOK{})
			if req.Context().Err() != nil {
				st.Error("ended")
			}
			leave(ps)
			if req.Context().Err() == nil {
				st.Errorf("%s: goes on", name)
			}
		})
	}
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		ps := st.request(&wire.PublishNamespace{Namespace: ns("live")})
		req := accept[*IncomingPublishNamespace](st)
		req.Accept()
		ps.message("REQUEST_OK")
		req.Revoke(wire.StreamExpiredAuthToken)
		ps.wantReset("revoked", wire.StreamExpiredAuthToken)
		ps.wantStopped("revoked", wire.StreamExpiredAuthToken)
		if req.Context().Err() == nil {
			st.Error("goes on")
		}
	})
}

func TestSubscribeNamespace(t *testing.T) {
	runSession(t, testSession{}, func(st *sessionTest) {
		a := background(st, func() (*NamespaceSubscription, error) { return st.s.SubscribeNamespace(st.Context(), ns("live")) })
		ps := st.wantRequest("", &wire.SubscribeNamespace{Prefix: ns("live")})
		ps.send(&wire.RequestOK{}, &wire.NamespaceAdded{Suffix: ns("a")}, &wire.NamespaceAdded{}, &wire.NamespaceAdded{Suffix: ns("a")})
		n := a.ok("accepted")
		want := func(why string, want NamespaceEvent) {
			t.Helper()
			next := background(st, func() (NamespaceEvent, error) { return n.Next(st.Context()) })
			if got := next.ok(why); got != want {
				st.Errorf("%s: got %+v, want %+v", why, got, want)
			}
		}
		want("first", NamespaceEvent{Namespace: ns("live", "a"), Suffix: ns("a")})
		want("the prefix itself", NamespaceEvent{Namespace: ns("live")})
		next := background(st, func() (NamespaceEvent, error) { return n.Next(st.Context()) })
		next.wantBlocked("the third is no news")
		ps.send(&wire.NamespaceDone{Suffix: ns("a")})
		if got := next.ok("gone"); got != (NamespaceEvent{Namespace: ns("live", "a"), Suffix: ns("a"), Gone: true}) {
			st.Errorf("got %+v", got)
		}
		ps.send(&wire.NamespaceAdded{Suffix: ns("a")})
		want("again", NamespaceEvent{Namespace: ns("live", "a"), Suffix: ns("a")})

		// The prefix moves.
		update := background(st, func() (int, error) { return 0, n.Update(st.Context(), ns("live", "a")) })
		ps.wantMessage("", &wire.RequestUpdate{RequestID: 2, Params: wire.Params{TrackNamespacePrefix: wire.Some(ns("live", "a"))}})
		ps.send(&wire.RequestOK{}, &wire.NamespaceAdded{Suffix: ns("x")}, &wire.NamespaceDone{})
		update.ok("accepted")
		want("does not have the new prefix", NamespaceEvent{Namespace: ns("live"), Gone: true})
		want("suffix of the new prefix", NamespaceEvent{Namespace: ns("live", "a", "x"), Suffix: ns("x")})
		want("known by its new suffix", NamespaceEvent{Namespace: ns("live", "a"), Gone: true})

		// "When a subscriber receives a stream reset or FIN on a SUBSCRIBE_NAMESPACE response stream, it SHOULD treat this
		// as though each active namespace received a NAMESPACE_DONE."
		// [MOQT-18] Section 10.18, SUBSCRIBE_NAMESPACE
		ps.fin()
		want("all go", NamespaceEvent{Namespace: ns("live", "a", "x"), Suffix: ns("x"), Gone: true})
		if _, err := n.Next(st.Context()); err != io.EOF {
			st.Errorf("got %v", err)
		}
		ps.wantFIN("over")
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		a := background(st, func() (*NamespaceSubscription, error) { return st.s.SubscribeNamespace(st.Context(), ns()) })
		ps := st.acceptStream()
		ps.message("SUBSCRIBE_NAMESPACE")
		ps.send(&wire.RequestOK{})
		n := a.ok("accepted")
		ps.reset(wire.StreamExcessiveLoad)
		var se *StreamError
		if _, err := n.Next(st.Context()); !errors.As(err, &se) || se.Code != uint64(wire.StreamExcessiveLoad) {
			st.Errorf("got %v", err)
		}
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		a := background(st, func() (*NamespaceSubscription, error) { return st.s.SubscribeNamespace(st.Context(), ns()) })
		ps := st.acceptStream()
		ps.message("SUBSCRIBE_NAMESPACE")
		ps.send(&wire.RequestOK{})
		n := a.ok("accepted")
		n.Close()
		ps.wantReset("closed", wire.StreamCancelled)
		if _, err := n.Next(st.Context()); err != ErrClosed {
			st.Errorf("got %v", err)
		}
	})
}

func TestSubscribeNamespaceViolations(t *testing.T) {
	long := make([]string, 32)
	for i := range long {
		long[i] = "x"
	}
	for name, msgs := range map[string][]wire.Message{
		"NAMESPACE first":       {&wire.NamespaceAdded{}},
		"NAMESPACE_DONE first":  {&wire.RequestOK{}, &wire.NamespaceDone{}},
		"two NAMESPACE_DONE":    {&wire.RequestOK{}, &wire.NamespaceAdded{}, &wire.NamespaceDone{}, &wire.NamespaceDone{}},
		"PUBLISH_BLOCKED":       {&wire.RequestOK{}, &wire.PublishBlocked{}},
		"PUBLISH_DONE":          {&wire.RequestOK{}, &wire.PublishDone{}},
		"SUBSCRIBE_OK":          {&wire.SubscribeOK{}},
		"too many fields":       {&wire.RequestOK{}, &wire.NamespaceAdded{Suffix: ns(long...)}},
		"parameters in the OK":  {&wire.RequestOK{Params: wire.Params{Expires: wire.Some[wire.Millis](1)}}},
		"second OK":             {&wire.RequestOK{}, &wire.RequestOK{}},
		"update by the wrong":   {&wire.RequestOK{}, &wire.RequestUpdate{RequestID: 1}},
		"a request on a stream": {&wire.RequestOK{}, &wire.SubscribeNamespace{RequestID: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			runSession(t, testSession{}, func(st *sessionTest) {
				background(st, func() (*NamespaceSubscription, error) {
					return st.s.SubscribeNamespace(context.Background(), ns("live"))
				})
				ps := st.acceptStream()
				ps.message("SUBSCRIBE_NAMESPACE")
				ps.send(msgs...)
				st.wantClose("", wire.SessionProtocolViolation)
			})
		})
	}
}

func TestSubscribeNamespaceBound(t *testing.T) {
	runSession(t, testSession{cfg: Config{MaxNamespaces: 3}}, func(st *sessionTest) {
		a := background(st, func() (*NamespaceSubscription, error) { return st.s.SubscribeNamespace(st.Context(), ns()) })
		ps := st.acceptStream()
		ps.message("SUBSCRIBE_NAMESPACE")
		ps.send(&wire.RequestOK{})
		n := a.ok("accepted")
		for i := range 4 {
			ps.send(&wire.NamespaceAdded{Suffix: ns(fmt.Sprint(i))})
		}
		ps.wantReset("too many", wire.StreamExcessiveLoad)
		st.wantAlive("only the request ends")
		events := 0
		for {
			if _, err := n.Next(st.Context()); err != nil {
				break
			}
			events++
		}
		if events != 6 {
			st.Errorf("%d events, want 3 that come and 3 that go", events)
		}
	})
}

func TestIncomingSubscribeNamespace(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		ps := st.request(&wire.SubscribeNamespace{Prefix: ns("live")})
		req := accept[*IncomingSubscribeNamespace](st)
		if req.Prefix != ns("live") {
			st.Error(req.Prefix)
		}
		if err := req.Announce(ns("live", "a")); err == nil {
			st.Error("announced before the answer")
		}
		req.Accept()
		ps.wantMessage("", &wire.RequestOK{})
		req.Withdraw(ns("live", "a"))
		ps.wantIdle("what is not known is not withdrawn")
		req.Announce(ns("live", "a"))
		ps.wantMessage("", &wire.NamespaceAdded{Suffix: ns("a")})
		req.Announce(ns("live", "a"))
		ps.wantIdle("known already")
		req.Announce(ns("live"))
		ps.wantMessage("", &wire.NamespaceAdded{})
		req.Withdraw(ns("live"))
		ps.wantMessage("", &wire.NamespaceDone{})
		if err := req.Announce(ns("else")); err == nil {
			st.Error("announced what was not asked for")
		}

		// The prefix moves.
		ps.send(&wire.RequestUpdate{RequestID: 2, Params: wire.Params{TrackNamespacePrefix: wire.Some(ns("live", "a"))}})
		u := accept[*IncomingPrefixUpdate](st)
		if u.Namespaces != req || u.Tracks != nil || u.Prefix != ns("live", "a") {
			st.Errorf("got %+v", u)
		}
		ps.wantIdle("not answered")
		if err := u.Accept(); err != nil {
			st.Fatal(err)
		}
		ps.wantMessage("", &wire.RequestOK{})
		if err := u.Accept(); err != ErrAnswered {
			st.Errorf("got %v", err)
		}
		req.Withdraw(ns("live", "a"))
		ps.wantMessage("by its new suffix", &wire.NamespaceDone{})
		if err := req.Announce(ns("live")); err == nil {
			st.Error("announced what is not asked for any more")
		}

		ps.send(&wire.RequestUpdate{RequestID: 4, Params: wire.Params{TrackNamespacePrefix: wire.Some(ns("x"))}})
		accept[*IncomingPrefixUpdate](st).Reject(nil)
		// "When a REQUEST_UPDATE fails for a SUBSCRIBE_NAMESPACE or PUBLISH_NAMESPACE, the responder MUST close the bidi
		// stream." [MOQT-18] Section 10.9.1, Updating Subscriptions
		ps.wantMessage("", &wire.RequestError{Code: wire.RequestNotSupported})
		ps.wantFIN("")
		if req.Context().Err() == nil {
			st.Error("goes on")
		}
	})
	// "A SUBSCRIBE_NAMESPACE or SUBSCRIBE_TRACKS can be cancelled by closing the stream with either a FIN or RESET_STREAM."
	// [MOQT-18] Section 6.1, Subscribing to Namespaces
	for name, leave := range map[string]func(*peerStream){
		"reset": func(ps *peerStream) { ps.reset(wire.StreamCancelled) },
		"stop":  func(ps *peerStream) { ps.stop(wire.StreamCancelled) },
		"FIN":   func(ps *peerStream) { ps.fin() },
	} {
		for _, answered := range []bool{true, false} {
			runSession(t, testSession{server: true}, func(st *sessionTest) {
				ps := st.request(&wire.SubscribeNamespace{Prefix: ns("live")})
				req := accept[*IncomingSubscribeNamespace](st)
				if answered {
					req.Accept()
				}
				leave(ps)
				if req.Context().Err() == nil {
					st.Errorf("%s: goes on", name)
				}
				if err := req.Announce(ns("live", "x")); err == nil {
					st.Errorf("%s: announced", name)
				}
				st.request(&wire.SubscribeNamespace{RequestID: 2, Prefix: ns("live")})
				accept[*IncomingSubscribeNamespace](st)
			})
		}
	}
}

// "Within a session, if a publisher receives a SUBSCRIBE_NAMESPACE with a Track Namespace Prefix that shares a common prefix
// with an established SUBSCRIBE_NAMESPACE, it MUST respond with REQUEST_ERROR with error code PREFIX_OVERLAP."
// [MOQT-18] Section 10.18, SUBSCRIBE_NAMESPACE
func TestPrefixOverlap(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		st.request(&wire.SubscribeNamespace{RequestID: 0, Prefix: ns("live", "a")})
		first := accept[*IncomingSubscribeNamespace](st)
		first.Accept()
		for i, prefix := range []wire.Namespace{ns("live", "a"), ns("live"), ns("live", "a", "b"), ns()} {
			ps := st.request(&wire.SubscribeNamespace{RequestID: uint64(2 + 2*i), Prefix: prefix})
			time.Sleep(replaceGrace)
			if m, ok := ps.message("refused").(*wire.RequestError); !ok || m.Code != wire.RequestPrefixOverlap {
				st.Errorf("%v: got %+v", prefix, m)
			}
			ps.wantFIN("refused")
			ps.fin()
		}
		other := st.request(&wire.SubscribeNamespace{RequestID: 20, Prefix: ns("live", "b")})
		second := accept[*IncomingSubscribeNamespace](st)
		second.Accept()
		other.message("REQUEST_OK")
		// "SUBSCRIBE_NAMESPACE and SUBSCRIBE_TRACKS have independent overlap spaces ..."
		// [MOQT-18] Section 10.18, SUBSCRIBE_NAMESPACE
		st.request(&wire.SubscribeTracks{RequestID: 22, Prefix: ns("live")})
		accept[*IncomingSubscribeTracks](st)
		// "If the new prefix would share a common prefix with another active subscription of the same type in the same
		// session, the receiver MUST respond with REQUEST_ERROR with error code PREFIX_OVERLAP."
		// [MOQT-18] Section 10.2.14, TRACK_NAMESPACE_PREFIX Parameter
		other.send(&wire.RequestUpdate{RequestID: 24, Params: wire.Params{TrackNamespacePrefix: wire.Some(ns("live"))}})
		wantRequestError(st, "update", accept[*IncomingPrefixUpdate](st).Accept(), wire.RequestPrefixOverlap)
		if m, ok := other.message("refused").(*wire.RequestError); !ok || m.Code != wire.RequestPrefixOverlap {
			st.Errorf("got %+v", m)
		}
		other.wantFIN("refused")
		// What was free becomes free again, what has moved as well.
		st.request(&wire.SubscribeNamespace{RequestID: 26, Prefix: ns("live", "b")})
		accept[*IncomingSubscribeNamespace](st)
	})
}

func TestSubscribeTracks(t *testing.T) {
	runSession(t, testSession{}, func(st *sessionTest) {
		a := background(st, func() (*TracksSubscription, error) { return st.s.SubscribeTracks(st.Context(), ns("live"), false) })
		ps := st.wantRequest("", &wire.SubscribeTracks{Prefix: ns("live"), Params: wire.Params{Forward: wire.Some(false)}})
		ps.send(&wire.RequestOK{})
		n := a.ok("accepted")
		blocked := background(st, func() (wire.FullTrackName, error) { return n.Blocked(st.Context()) })
		blocked.wantBlocked("none")
		ps.send(&wire.PublishBlocked{Track: wire.FullTrackName{Namespace: ns("a"), Name: "video"}})
		if got := blocked.ok(""); got != trackA {
			st.Errorf("got %v", got)
		}
		ps.fin()
		if _, err := n.Blocked(st.Context()); err != io.EOF {
			st.Errorf("got %v", err)
		}
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		a := background(st, func() (*TracksSubscription, error) { return st.s.SubscribeTracks(st.Context(), ns("live"), true) })
		ps := st.wantRequest("", &wire.SubscribeTracks{Prefix: ns("live")})
		ps.send(&wire.RequestOK{})
		n := a.ok("accepted")
		update := background(st, func() (int, error) { return 0, n.Update(st.Context(), ns("x")) })
		ps.message("REQUEST_UPDATE")
		ps.send(&wire.RequestOK{}, &wire.PublishBlocked{Track: wire.FullTrackName{Name: "y"}})
		update.ok("")
		if got, err := n.Blocked(st.Context()); err != nil || got != (wire.FullTrackName{Namespace: ns("x"), Name: "y"}) {
			st.Errorf("got %v, %v", got, err)
		}
		n.Close()
		ps.wantReset("closed", wire.StreamCancelled)
	})
	for name, msgs := range map[string][]wire.Message{
		"PUBLISH_BLOCKED first": {&wire.PublishBlocked{}},
		"NAMESPACE":             {&wire.RequestOK{}, &wire.NamespaceAdded{}},
	} {
		t.Run(name, func(t *testing.T) {
			runSession(t, testSession{}, func(st *sessionTest) {
				background(st, func() (*TracksSubscription, error) {
					return st.s.SubscribeTracks(context.Background(), ns("live"), true)
				})
				ps := st.acceptStream()
				ps.message("SUBSCRIBE_TRACKS")
				ps.send(msgs...)
				st.wantClose("", wire.SessionProtocolViolation)
			})
		})
	}
}

func TestIncomingSubscribeTracks(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		ps := st.request(&wire.SubscribeTracks{Prefix: ns("live"), Params: wire.Params{Forward: wire.Some(false)}})
		req := accept[*IncomingSubscribeTracks](st)
		if req.Prefix != ns("live") || req.Forward {
			st.Errorf("got %+v", req)
		}
		req.Accept()
		ps.wantMessage("", &wire.RequestOK{})
		if err := req.Blocked(trackA); err != nil {
			st.Error(err)
		}
		ps.wantMessage("", &wire.PublishBlocked{Track: wire.FullTrackName{Namespace: ns("a"), Name: "video"}})
		ps.send(&wire.RequestUpdate{RequestID: 2, Params: wire.Params{TrackNamespacePrefix: wire.Some(ns("x"))}})
		u := accept[*IncomingPrefixUpdate](st)
		if u.Tracks != req {
			st.Errorf("got %+v", u)
		}
		u.Accept()
		ps.wantMessage("", &wire.RequestOK{})
		if err := req.Blocked(trackA); err == nil {
			st.Error("told of what was not asked for")
		}
		req.Cancel(wire.StreamGoingAway)
		ps.wantReset("", wire.StreamGoingAway)
	})
}

func TestTrackStatus(t *testing.T) {
	runSession(t, testSession{}, func(st *sessionTest) {
		a := background(st, func() (TrackStatus, error) { return st.s.TrackStatus(st.Context(), trackA) })
		ps := st.wantRequest("", &wire.TrackStatus{Track: trackA})
		props, _ := (&wire.TrackProperties{DynamicGroups: wire.Some(true)}).Properties(testVersion)
		ps.send(&wire.RequestOK{Params: wire.Params{LargestObject: wire.Some(loc(1, 2))}, Properties: props})
		ps.fin()
		ps.stop(wire.StreamCancelled)
		if got := a.ok("answered"); got.Largest != wire.Some(loc(1, 2)) || string(got.Properties) != string(props) {
			st.Errorf("got %+v", got)
		}
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		a := background(st, func() (TrackStatus, error) { return st.s.TrackStatus(st.Context(), trackA) })
		ps := st.acceptStream()
		ps.message("TRACK_STATUS")
		ps.send(&wire.RequestError{Code: wire.RequestDoesNotExist})
		ps.fin()
		_, err := a.result("refused")
		wantRequestError(st, "refused", err, wire.RequestDoesNotExist)
		ps.wantFIN("over")
	})
	for name, do := range map[string]func(*peerStream){
		"reset": func(ps *peerStream) { ps.reset(wire.StreamInternalError) },
		"FIN":   func(ps *peerStream) { ps.fin() },
	} {
		runSession(t, testSession{}, func(st *sessionTest) {
			a := background(st, func() (TrackStatus, error) { return st.s.TrackStatus(st.Context(), trackA) })
			ps := st.acceptStream()
			ps.message("TRACK_STATUS")
			do(ps)
			if _, err := a.result(name); err == nil {
				st.Errorf("%s: no error", name)
			}
		})
	}
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		ps := st.request(&wire.TrackStatus{Track: trackA})
		ps.fin()
		req := accept[*IncomingTrackStatus](st)
		req.Accept(TrackStatus{Largest: wire.Some(loc(3, 4))})
		ps.wantMessage("", &wire.RequestOK{Params: wire.Params{LargestObject: wire.Some(loc(3, 4))}})
		ps.wantFIN("")

		st.request(&wire.TrackStatus{RequestID: 2, Track: trackA}, &wire.RequestUpdate{RequestID: 4})
		st.wantClose("a question cannot be updated", wire.SessionProtocolViolation)
	})
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		ps := st.request(&wire.TrackStatus{Track: trackA})
		req := accept[*IncomingTrackStatus](st)
		ps.reset(wire.StreamCancelled)
		if req.Context().Err() == nil {
			st.Error("goes on")
		}
	})
}

// "... endpoints MUST NOT publish tracks or namespaces under it and MUST reject requests referencing it with DOES_NOT_EXIST."
// [MOQT-18] Section 3.2.1, Reserved Namespaces; Section 3.2.2, Session-Level Tracks and Namespaces
func TestReservedNamespaces(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		id := uint64(0)
		for _, namespace := range []wire.Namespace{ns("."), ns(".", "x"), ns(".session"), ns(".session", "x")} {
			track := wire.FullTrackName{Namespace: namespace, Name: "x"}
			for _, m := range []wire.Message{
				&wire.Subscribe{RequestID: id, Track: track},
				&wire.Publish{RequestID: id + 2, Track: track},
				&wire.TrackStatus{RequestID: id + 4, Track: track},
				&wire.Fetch{RequestID: id + 6, FetchType: wire.FetchStandalone, Track: track},
				&wire.PublishNamespace{RequestID: id + 8, Namespace: namespace},
				&wire.SubscribeNamespace{RequestID: id + 10, Prefix: namespace},
				&wire.SubscribeTracks{RequestID: id + 12, Prefix: namespace},
			} {
				ps := st.request(m)
				if got, ok := ps.message("refused").(*wire.RequestError); !ok || got.Code != wire.RequestDoesNotExist {
					st.Errorf("%v for %v: got %+v", m.Type(), namespace, got)
				}
				ps.wantFIN("refused")
				ps.fin()
			}
			id += 14
		}
		st.wantNoRequest("the application knows nothing of it")
		// "Unless otherwise specified, an endpoint that receives a request for an unrecognized reserved namespace MUST pass
		// it to the Application ..."
		// [MOQT-18] Section 3.2.1, Reserved Namespaces
		st.request(&wire.Subscribe{RequestID: id, Track: wire.FullTrackName{Namespace: ns(".x")}})
		accept[*IncomingSubscribe](st)
		synctest.Wait()
	})
}

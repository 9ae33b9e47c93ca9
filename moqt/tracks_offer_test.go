package moqt

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// "If the FORWARD parameter ({{forward-parameter}}) is present in this message and equal to 0, PUBLISH messages resulting
// from this SUBSCRIBE_TRACKS will set the FORWARD parameter to 0."
// [MOQT-18] Section 10.19, SUBSCRIBE_TRACKS
func TestOffer(t *testing.T) {
	for _, forward := range []bool{true, false} {
		runSession(t, testSession{server: true}, func(st *sessionTest) {
			var params wire.Params
			if !forward {
				params.Forward = wire.Some(false)
			}
			ps := st.request(&wire.SubscribeTracks{Prefix: ns("live"), Params: params})
			req := accept[*IncomingSubscribeTracks](st)
			if _, err := req.Offer(st.Context(), PublishRequest{Track: trackA}); err == nil {
				st.Error("offered before the request was accepted")
			}
			req.Accept()
			ps.wantMessage("", &wire.RequestOK{})
			a := background(st, func() (*Publication, error) {
				return req.Offer(st.Context(), PublishRequest{Track: trackA, Paused: forward, Largest: largestAt(7, 1)})
			})
			want := wire.Params{LargestObject: wire.Some(loc(7, 1))}
			if !forward {
				want.Forward = wire.Some(false)
			}
			pub := st.wantRequest("", &wire.Publish{RequestID: 1, Track: trackA, TrackAlias: 1, Params: want})
			pub.send(&wire.RequestOK{Params: wire.Params{Forward: wire.Some(forward)}})
			if p := a.ok("accepted"); p.State().Forward != forward {
				st.Errorf("forward is %v", p.State().Forward)
			}
			if _, err := req.Offer(st.Context(), PublishRequest{Track: wire.FullTrackName{Namespace: ns("x")}}); err == nil {
				st.Error("offered what was not asked for")
			}
		})
	}
}

// "If a Subscription cannot be created because there are no available bidirectional streams, the Publisher sends a
// PUBLISH_BLOCKED message on the SUBSCRIBE_TRACKS response stream ... The Publisher MUST NOT send a PUBLISH for a Track after
// PUBLISH_BLOCKED has been sent."
// [MOQT-18] Section 6.1, Subscribing to Namespaces
func TestOfferBlocked(t *testing.T) {
	ts := testSession{server: true, pipe: PipeConfig{MaxStreams: 1}, cfg: Config{MaxNamespaces: 1}}
	runSession(t, ts, func(st *sessionTest) {
		ps := st.request(&wire.SubscribeTracks{Prefix: ns("live")})
		req := accept[*IncomingSubscribeTracks](st)
		req.Accept()
		ps.wantMessage("", &wire.RequestOK{})
		background(st, func() (*Publication, error) { return st.s.Publish(context.Background(), PublishRequest{Track: trackB}) })
		takesTheStream := st.acceptStream()
		takesTheStream.message("PUBLISH")

		a := background(st, func() (*Publication, error) { return req.Offer(st.Context(), PublishRequest{Track: trackA}) })
		a.wantBlocked("a stream may become free")
		time.Sleep(offerWait)
		if _, err := a.result("no stream"); err != ErrBlocked {
			st.Errorf("got %v", err)
		}
		ps.wantMessage("", &wire.PublishBlocked{Track: wire.FullTrackName{Namespace: ns("a"), Name: "video"}})

		takesTheStream.send(&wire.RequestError{Code: wire.RequestUninterested})
		takesTheStream.fin()
		time.Sleep(offerWait)
		if _, err := req.Offer(st.Context(), PublishRequest{Track: trackA}); err != ErrBlocked {
			st.Errorf("got %v", err)
		}
		ps.wantIdle("told once")
		if err := req.Blocked(wire.FullTrackName{Namespace: ns("live"), Name: "one too many"}); err == nil {
			st.Error("more is remembered than there is room for")
		}
		ps.wantReset("", wire.StreamExcessiveLoad)
	})
}

func TestCurrentPrefix(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		ps := st.request(&wire.SubscribeTracks{Prefix: ns("live")})
		req := accept[*IncomingSubscribeTracks](st)
		req.Accept()
		ps.message("REQUEST_OK")
		ps.send(&wire.RequestUpdate{RequestID: 2, Params: wire.Params{TrackNamespacePrefix: wire.Some(ns("x"))}})
		accept[*IncomingPrefixUpdate](st).Accept()
		if got := req.CurrentPrefix(); got != ns("x") || req.Prefix != ns("live") {
			st.Errorf("got %v", got)
		}
	})
}

// "Senders MUST NOT send USE_ALIAS on one control stream for an alias registered on a different stream until the sender
// has received a response to the message containing the REGISTER."
// [MOQT-18] Section 10.2.2, AUTHORIZATION TOKEN Parameter
func TestTokenAliases(t *testing.T) {
	token := wire.Token{AliasType: wire.TokenUseValue, Type: 5, Value: []byte("secret")}
	other := wire.Token{AliasType: wire.TokenUseValue, Type: 5, Value: []byte("another")}
	register := wire.Token{AliasType: wire.TokenRegister, Type: 5, Value: []byte("secret")}
	use := wire.Token{AliasType: wire.TokenUseAlias}
	runSession(t, testSession{raw: true, cfg: Config{TokenAliases: true}}, func(st *sessionTest) {
		st.openUni("af00 0002 04 20") // room for 32 bytes: one token
		st.acceptUni()
		if got := st.s.Peer().AuthTokenCache; got != 32 {
			st.Errorf("cache of %d bytes", got)
		}
		var names byte
		announce := func(want ...wire.Token) *peerStream {
			st.Helper()
			names++
			namespace := ns(string('a' + rune(names)))
			background(st, func() (*Announcement, error) {
				return st.s.PublishNamespace(context.Background(), namespace, token, other)
			})
			ps := st.acceptStream()
			m := ps.message("").(*wire.PublishNamespace)
			ps.st.Helper()
			for i := range want {
				if got := m.Params.AuthTokens[i]; got.AliasType != want[i].AliasType || got.Alias != want[i].Alias || string(got.Value) != string(want[i].Value) {
					st.Errorf("announcement %d: got %+v, want %+v", names, got, want[i])
				}
			}
			return ps
		}
		first := announce(register, other)
		announce(token, other) // not before the answer
		first.send(&wire.RequestError{Code: wire.RequestUnauthorized})
		announce(use, other)
		announce(use, other)
	})
	runSession(t, testSession{cfg: Config{TokenAliases: true}}, func(st *sessionTest) {
		background(st, func() (*Announcement, error) {
			return st.s.PublishNamespace(context.Background(), ns("a"), token)
		})
		st.wantRequest("the peer has no cache", &wire.PublishNamespace{
			Namespace: ns("a"), Params: wire.Params{AuthTokens: []wire.Token{token}},
		})
	})
}

// "Endpoints MUST ignore unknown Setup Options ..."
// [MOQT-18] Section 14, Grease
func TestGrease(t *testing.T) {
	runSession(t, testSession{raw: true, cfg: Config{Grease: true}}, func(st *sessionTest) {
		m := st.acceptUni().message("SETUP").(*wire.Setup)
		if len(m.Other) != 1 || !wire.IsGrease(m.Other[0].Type) {
			st.Errorf("got %+v", m)
		}
	})
	runSession(t, testSession{raw: true}, func(st *sessionTest) {
		st.setup("809d 02 0000 7f 05") // two of them, one with a value of bytes
		st.wantAlive("unknown options")
	})
}

// [MOQT-18] Section 11.5.1, Padding Streams
func TestSendPadding(t *testing.T) {
	for _, n := range []int{0, 1, paddingPiece, 3*paddingPiece + 1} {
		runSession(t, testSession{}, func(st *sessionTest) {
			done := background(st, func() (int, error) { return 0, st.s.SendPadding(st.Context(), n) })
			ps := st.acceptUni()
			end := ps.poll()
			typ, k, err := wire.ConsumeStreamType(ps.buf, testVersion)
			if err != nil || typ != wire.StreamTypePadding || len(ps.buf)-k != n || wire.CheckPadding(ps.buf[k:]) != nil {
				st.Errorf("%d bytes: got %v, %v, %d bytes, stream: %v", n, typ, err, len(ps.buf)-k, end)
			}
			done.ok("sent")
		})
	}
	runSession(t, testSession{pipe: PipeConfig{StreamWindow: 100}}, func(st *sessionTest) {
		ctx, cancel := context.WithCancel(st.Context())
		done := background(st, func() (int, error) { return 0, st.s.SendPadding(ctx, 1000) })
		done.wantBlocked("the peer does not read")
		cancel()
		synctest.Wait()
		if _, err := done.result("cancelled"); err == nil {
			st.Error("no error")
		}
	})
}

// A second NEW_GROUP_REQUEST with the same value is one of its own.
func TestNewGroupsCounted(t *testing.T) {
	props, _ := (&wire.TrackProperties{DynamicGroups: wire.Some(true)}).Properties(testVersion)
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		ps := st.request(&wire.Subscribe{Track: trackA, Params: wire.Params{NewGroupRequest: wire.Some(uint64(0))}})
		p, err := accept[*IncomingSubscribe](st).Accept(AcceptSubscribe{Properties: props})
		if err != nil {
			st.Fatal(err)
		}
		ps.message("SUBSCRIBE_OK")
		for i, params := range []wire.Params{{SubscriberPriority: wire.Some(uint8(1))}, {NewGroupRequest: wire.Some(uint64(0))}} {
			ps.send(&wire.RequestUpdate{RequestID: uint64(2 + 2*i), Params: params})
			ps.wantMessage("", &wire.RequestOK{})
			if got := p.State(); got.NewGroups != uint64(1+i) || got.NewGroup != wire.Some(uint64(0)) {
				st.Errorf("update %d: %+v", i, got)
			}
		}
	})
}

func TestFetchWriterGoAway(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		ps := st.request(&wire.Fetch{FetchType: wire.FetchStandalone, Track: trackA, End: loc(1, 0)})
		w, err := accept[*IncomingFetch](st).Accept(FetchOK{End: loc(1, 0)})
		if err != nil {
			st.Fatal(err)
		}
		ps.message("FETCH_OK")
		w.GoAway("moqt://b.example/", time.Second)
		ps.wantMessage("", &wire.GoAway{NewSessionURI: "moqt://b.example/", Timeout: 1000})
		time.Sleep(time.Second)
		ps.wantReset("", wire.StreamGoingAway)
	})
}

func TestSubscriptionCancel(t *testing.T) {
	runSession(t, testSession{}, func(st *sessionTest) {
		a := background(st, func() (*Subscription, error) {
			return st.s.Subscribe(st.Context(), SubscribeRequest{Track: trackA})
		})
		ps := st.acceptStream()
		ps.message("SUBSCRIBE")
		ps.send(&wire.SubscribeOK{TrackAlias: 1})
		a.ok("").Cancel(wire.StreamMalformedTrack)
		ps.wantReset("", wire.StreamMalformedTrack)
		ps.wantStopped("", wire.StreamMalformedTrack)
	})
}

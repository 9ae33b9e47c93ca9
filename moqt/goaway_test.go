package moqt

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

func TestGoAway(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		_, ps := st.subscribed(wire.Params{}, AcceptSubscribe{}) // id 0
		if err := st.s.GoAway("moqt://b", 1500*time.Millisecond); err != nil {
			st.Fatal(err)
		}
		st.in.wantMessage("", &wire.GoAway{NewSessionURI: "moqt://b", Timeout: 1500, RequestID: wire.Some[uint64](2)})
		if err := st.s.GoAway("", 0); err == nil {
			st.Error("twice")
		}
		ps.wantIdle("what there is goes on")
		// "Requests with a Request ID equal to or greater than the indicated value, as well as any requests that arrive after
		// the GOAWAY, MUST be rejected with REQUEST_ERROR using error code GOING_AWAY."
		// [MOQT-18] Section 10.4, GOAWAY
		late := st.request(&wire.Subscribe{RequestID: 2, Track: trackB})
		late.wantMessage("", &wire.RequestError{Code: wire.RequestGoingAway})
		late.wantFIN("")
		late.fin()
		time.Sleep(1499 * time.Millisecond)
		st.wantAlive("the peer has its time")
		time.Sleep(time.Millisecond)
		// "... the sender closes the session with GOAWAY_TIMEOUT after the indicated timeout if there are still open
		// requests." [MOQT-18] Section 10.4, GOAWAY
		st.wantClose("a subscription is open", wire.SessionGoawayTimeout)
	})
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		_, ps := st.subscribed(wire.Params{}, AcceptSubscribe{})
		st.s.GoAway("", time.Second)
		ps.stop(wire.StreamCancelled)
		time.Sleep(time.Second)
		st.wantClose("nothing is open", wire.SessionNoError)
	})
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		st.s.GoAway("", 0)
		st.in.wantMessage("no requests yet", &wire.GoAway{RequestID: wire.Some[uint64](0)})
		time.Sleep(time.Hour)
		st.wantAlive("no timeout was given")
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		if err := st.s.GoAway("moqt://b", 0); err == nil {
			st.Error("a client cannot tell where to")
		}
		if err := st.s.GoAway("", time.Second); err != nil {
			st.Fatal(err)
		}
		st.in.wantMessage("", &wire.GoAway{Timeout: 1000, RequestID: wire.Some[uint64](1)})
		// "Sending a GOAWAY does not prevent the sender from initiating new requests ..."
		// [MOQT-18] Section 10.4, GOAWAY
		background(st, func() (*Subscription, error) {
			return st.s.Subscribe(context.Background(), SubscribeRequest{Track: trackA})
		})
		st.wantRequest("", &wire.Subscribe{Track: trackA})
	})
	// GOAWAY before the control stream could be opened.
	synctest.Test(t, func(t *testing.T) {
		client, server := Pipe(PipeConfig{})
		s := New(server, Config{})
		if err := s.GoAway("", 0); err != nil {
			t.Fatal(err)
		}
		st := &sessionTest{T: t, s: s, conn: server, peer: client, done: make(chan struct{})}
		go func() {
			st.err = s.Run(context.Background())
			close(st.done)
		}()
		in := st.acceptUni()
		in.wantMessage("", &wire.Setup{Implementation: wire.Some("moq-c4")})
		in.wantMessage("", &wire.GoAway{RequestID: wire.Some[uint64](0)})
		client.Close(0, "")
		<-st.done
	})
}

func TestPeerGoAway(t *testing.T) {
	runSession(t, testSession{}, func(st *sessionTest) {
		sub, _ := st.subscribing(wire.SubscribeOK{})
		st.write(st.out, `10 000b 08 "moqt://b" 64 00`)
		<-st.s.GoingAway()
		if g, ok := st.s.PeerGoAway(); !ok || g != (GoAway{URI: "moqt://b", Timeout: 100 * time.Millisecond}) {
			st.Errorf("got %+v", g)
		}
		// "Upon receiving a GOAWAY on the control stream, an endpoint SHOULD NOT initiate new requests to the peer
		// ..."
		// [MOQT-18] Section 10.4, GOAWAY
		for _, err := range []error{
			errOf(st.s.Subscribe(st.Context(), SubscribeRequest{Track: trackB})),
			errOf(st.s.Publish(st.Context(), PublishRequest{Track: trackA})),
			errOf(st.s.PublishNamespace(st.Context(), ns("x"))),
			errOf(st.s.SubscribeNamespace(st.Context(), ns("x"))),
			errOf(st.s.SubscribeTracks(st.Context(), ns("x"), true)),
			errOf(st.s.TrackStatus(st.Context(), trackA)),
			errOf(st.s.Fetch(st.Context(), FetchRequest{Track: trackA, End: loc(1, 0)})),
		} {
			if err != ErrGoingAway {
				st.Errorf("got %v", err)
			}
		}
		// "The GOAWAY message does not impact subscription state."
		// [MOQT-18] Section 10.4, GOAWAY
		st.openUni(`70 07 00`)
		if _, err := sub.Next(st.Context()); err != nil {
			st.Error(err)
		}
		// The peer's requests are served.
		st.request(&wire.Subscribe{RequestID: 1, Track: trackA})
		accept[*IncomingSubscribe](st)
		st.write(st.out, `10 0003 00 00 00`)
		st.wantClose("second GOAWAY", wire.SessionProtocolViolation)
	})
	for name, tc := range map[string]struct {
		server bool
		bytes  string
		want   wire.SessionCode
	}{
		"URI from a client": {true, `10 0004 01 "x" 00 01`, wire.SessionProtocolViolation},
		"no request id":     {false, `10 0002 00 00`, wire.SessionProtocolViolation},
		"not our ids":       {false, `10 0003 00 00 01`, wire.SessionInvalidRequestID},
		"not server's ids":  {true, `10 0003 00 00 00`, wire.SessionInvalidRequestID},
		"URI too long":      {false, `10 0004 a001 00 00`, wire.SessionProtocolViolation},
	} {
		t.Run(name, func(t *testing.T) {
			runSession(t, testSession{server: tc.server}, func(st *sessionTest) {
				st.write(st.out, tc.bytes)
				st.wantClose("", tc.want)
			})
		})
	}
}

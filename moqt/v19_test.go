package moqt

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// session19 runs f with a session whose peer speaks draft-19; options are those of the peer's SETUP in hex.
func session19(t *testing.T, server bool, options string, f func(st *sessionTest)) {
	t.Helper()
	runSession(t, testSession{server: server, raw: true, pipe: PipeConfig{Protocol: "moqt-19"}}, func(st *sessionTest) {
		st.setup(options)
		f(st)
	})
}

// "An endpoint MAY have multiple concurrent subscriptions to the same Track, each identified by a unique Request ID."
// [MOQT-19] Section 5.1, Subscriptions
func TestDraft19SeveralSubscriptions(t *testing.T) {
	session19(t, true, "", func(st *sessionTest) {
		var pubs []*Publication
		for id := range uint64(3) {
			st.request(&wire.Subscribe{RequestID: 2 * id, Track: trackA})
			p, err := accept[*IncomingSubscribe](st).Accept(AcceptSubscribe{Largest: largestAt(3, id)})
			if err != nil {
				st.Fatal(err)
			}
			pubs = append(pubs, p)
		}
		if pubs[0].Alias() == pubs[1].Alias() {
			st.Error("which objects are whose cannot be told")
		}
		// Each can be joined.
		for id, p := range pubs {
			st.request(&wire.Fetch{RequestID: uint64(6 + 2*id), FetchType: wire.FetchRelativeJoining, JoiningRequestID: uint64(2 * id)})
			if r := accept[*IncomingFetch](st); r.Joining != p || r.End != loc(3, uint64(id)+1) {
				st.Errorf("fetch %d joins %+v", id, r)
			}
		}
		for _, p := range pubs {
			p.Done(wire.DoneTrackEnded, "")
		}
		if n := len(st.s.registry.publications) + len(st.s.registry.publicationIDs); n != 0 {
			st.Errorf("%d are left on the books", n)
		}
	})
}

// "If this limit is exceeded, an endpoint MUST reject this with REQUEST_ERROR with error code INVALID_FILTER."
// [MOQT-19] Section 5.1.3, Range Filters
func TestDraft19RangeFilter(t *testing.T) {
	const track = `02 04 "live" 01 "a" 05 "video"`
	session19(t, true, "", func(st *sessionTest) {
		// OBJECTID_FILTER twice and PRIORITY_FILTER
		ps := st.requestBytes(unhex(`03 001f 00 ` + track + ` 03 26 03 00 03 02 00 03 01 05 05 01 03 00 05 05`))
		if m, ok := ps.message("").(*wire.RequestError); !ok || m.Code != wire.RequestInvalidFilter {
			st.Errorf("got %+v", m)
		}
		st.wantNoRequest("the application does not see it")
		ps = st.request(&wire.Subscribe{RequestID: 2, Track: trackA})
		p, err := accept[*IncomingSubscribe](st).Accept(AcceptSubscribe{})
		if err != nil {
			st.Fatal(err)
		}
		ps.message("SUBSCRIBE_OK")
		ps.sendHex(`02 0006 04 01 25 02 00 01`)
		if m, ok := ps.message("").(*wire.RequestError); !ok || m.Code != wire.RequestInvalidFilter {
			st.Errorf("got %+v", m)
		}
		if m, ok := ps.message("").(*wire.PublishDone); !ok || m.Status != wire.DoneUpdateFailed {
			st.Errorf("got %+v", m)
		}
		<-p.Context().Done()
		ps = st.request(&wire.SubscribeTracks{RequestID: 6, Prefix: ns("live")})
		accept[*IncomingSubscribeTracks](st).Accept()
		ps.message("REQUEST_OK")
		ps.sendHex(`02 0006 08 01 25 02 00 01`)
		if m, ok := ps.message("").(*wire.RequestError); !ok || m.Code != wire.RequestInvalidFilter {
			st.Errorf("got %+v", m)
		}
		ps.wantFIN("")
	})
	// Draft-18 knows of none.
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		st.requestBytes(unhex(`03 0014 00 ` + track + ` 01 25 02 00 01`))
		st.wantClose("", wire.SessionProtocolViolation)
	})
}

// "The sender MUST NOT have more than MAX_REQUEST_UPDATES outstanding REQUEST_UPDATEs on any single request stream at a time."
// [MOQT-19] Section 10.3.1.7, MAX_REQUEST_UPDATES
func TestDraft19MaxRequestUpdates(t *testing.T) {
	session19(t, false, "08 01", func(st *sessionTest) {
		if got := st.s.Peer().MaxRequestUpdates; got != 1 {
			st.Errorf("limit %d", got)
		}
		a := background(st, func() (*Subscription, error) {
			return st.s.Subscribe(context.Background(), SubscribeRequest{Track: trackA})
		})
		ps := st.acceptStream()
		ps.message("SUBSCRIBE")
		ps.send(&wire.SubscribeOK{TrackAlias: 1})
		sub := a.ok("")
		update := func() *async[wire.Opt[wire.Location]] {
			return background(st, func() (wire.Opt[wire.Location], error) {
				return sub.Update(context.Background(), wire.Params{SubscriberPriority: wire.Some(uint8(1))})
			})
		}
		first := update()
		synctest.Wait()
		second := update()
		ps.message("REQUEST_UPDATE")
		ps.wantIdle("one at a time")
		ps.send(&wire.RequestOK{})
		first.ok("")
		ps.message("REQUEST_UPDATE")
		ctx, cancel := context.WithCancel(context.Background())
		third := background(st, func() (wire.Opt[wire.Location], error) { return sub.Update(ctx, wire.Params{}) })
		third.wantBlocked("")
		cancel()
		if _, err := third.result("given up"); err != context.Canceled {
			st.Errorf("got %v", err)
		}
		ps.send(&wire.RequestOK{})
		second.ok("")
	})
}

// "Any Parameter that can be specified on a Subscription (ie: in SUBSCRIBE) is valid in SUBSCRIBE_TRACKS ... These parameters are
// copied over as the default Subscription parameters when a PUBLISH is sent as a result of SUBSCRIBE_TRACKS."
// [MOQT-19] Section 10.19.1, Parameters on SUBSCRIBE_TRACKS
func TestDraft19SubscribeTracksParams(t *testing.T) {
	session19(t, true, "", func(st *sessionTest) {
		params := wire.Params{
			SubscriberPriority: wire.Some(uint8(7)), GroupOrder: wire.Some(wire.GroupOrderDescending), Forward: wire.Some(false),
		}
		b, err := wire.AppendMessage(nil, &wire.SubscribeTracks{Prefix: ns("live"), Params: params}, wire.Draft19)
		if err != nil {
			st.Fatal(err)
		}
		ps := st.requestBytes(b)
		req := accept[*IncomingSubscribeTracks](st)
		req.Accept()
		ps.message("REQUEST_OK")
		a := background(st, func() (*Publication, error) { return req.Offer(context.Background(), PublishRequest{Track: trackA}) })
		pub := st.acceptStream()
		pub.wantHex("", `1d 0015 01 02 04 "live" 01 "a" 05 "video" 01 02 10 00 12 02`)
		pub.send(&wire.RequestOK{Params: wire.Params{Forward: wire.Some(true)}})
		if s := a.ok("").State(); s.Priority != 7 || s.GroupOrder != wire.GroupOrderDescending || !s.Forward {
			st.Errorf("got %+v", s)
		}
		ps.fin()
		if req.Context().Err() != nil {
			st.Error("a FIN has cancelled it")
		}
		ps.stop(wire.StreamCancelled)
		if req.Context().Err() == nil {
			st.Error("goes on")
		}
	})
	// "It MAY appear in a SUBSCRIBE, SUBSCRIBE_TRACKS, or FETCH."
	// [MOQT-19] Section 10.2.8, GROUP ORDER Parameter
	session19(t, false, "", func(st *sessionTest) {
		background(st, func() (*Publication, error) { return st.s.Publish(context.Background(), PublishRequest{Track: trackA}) })
		ps := st.acceptStream()
		ps.message("PUBLISH")
		ps.send(&wire.RequestOK{Params: wire.Params{GroupOrder: wire.Some(wire.GroupOrderAscending)}})
		st.wantClose("GROUP_ORDER in PUBLISH_OK", wire.SessionProtocolViolation)
	})
	session19(t, false, "", func(st *sessionTest) {
		background(st, func() (*Publication, error) { return st.s.Publish(context.Background(), PublishRequest{Track: trackA}) })
		ps := st.acceptStream()
		ps.message("PUBLISH")
		ps.sendHex("1e 0001 00")
		st.wantClose("PUBLISH_OK of draft-17", wire.SessionProtocolViolation)
	})
}

// GOAWAY has no Request ID any more.
// [MOQT-19] Section 10.4, GOAWAY
func TestDraft19GoAway(t *testing.T) {
	session19(t, true, "", func(st *sessionTest) {
		st.s.GoAway("moqt://x/", 0)
		st.in.wantHex("", `10 000b 09 "moqt://x/" 00`)
		st.write(st.out, "10 0002 00 00")
		<-st.s.GoingAway()
		st.wantAlive("")
	})
	session19(t, true, "", func(st *sessionTest) {
		st.write(st.out, "10 0003 00 00 01")
		st.wantClose("with a Request ID", wire.SessionProtocolViolation)
	})
}

// A PUBLISH of what is subscribed to already is not wanted, and not against a rule any more.
func TestDraft19PublishOfSubscribed(t *testing.T) {
	session19(t, false, "", func(st *sessionTest) {
		a := background(st, func() (*Subscription, error) {
			return st.s.Subscribe(context.Background(), SubscribeRequest{Track: trackA})
		})
		ps := st.acceptStream()
		ps.message("SUBSCRIBE")
		ps.send(&wire.SubscribeOK{TrackAlias: 1})
		a.ok("")
		ps = st.request(&wire.Publish{RequestID: 1, Track: trackA, TrackAlias: 2})
		synctest.Wait()
		st.wantAlive("")
		time.Sleep(replaceGrace)
		if m, ok := ps.message("").(*wire.RequestError); !ok || m.Code != wire.RequestUninterested {
			st.Errorf("got %+v", m)
		}
	})
}

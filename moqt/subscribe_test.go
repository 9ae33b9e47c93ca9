package moqt

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// subscribed makes an established subscription whose publisher is the session.
func (st *sessionTest) subscribed(params wire.Params, ok AcceptSubscribe) (*Publication, *peerStream) {
	st.Helper()
	ps := st.request(&wire.Subscribe{RequestID: st.peerID(), Track: trackA, Params: params})
	p, err := accept[*IncomingSubscribe](st).Accept(ok)
	if err != nil {
		st.Fatal(err)
	}
	if m, isOK := ps.message("SUBSCRIBE is answered").(*wire.SubscribeOK); !isOK || m.TrackAlias != p.Alias() {
		st.Fatalf("got %+v", m)
	}
	return p, ps
}

// subscribing makes an established subscription whose subscriber is the session. The alias is 7.
func (st *sessionTest) subscribing(ok wire.SubscribeOK) (*Subscription, *peerStream) {
	st.Helper()
	sub := background(st, func() (*Subscription, error) {
		return st.s.Subscribe(context.Background(), SubscribeRequest{Track: trackA})
	})
	ps := st.acceptStream()
	if _, isSubscribe := ps.message("SUBSCRIBE is sent").(*wire.Subscribe); !isSubscribe {
		st.Fatal("not a SUBSCRIBE")
	}
	ok.TrackAlias = 7
	ps.send(&ok)
	return sub.ok("subscribed"), ps
}

// peerID returns the id of the peer's next request.
func (st *sessionTest) peerID() uint64 {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	return st.s.seen.smallestUnused()
}

func TestIncomingSubscribe(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		params := wire.Params{
			SubscriberPriority: wire.Some[uint8](10),
			GroupOrder:         wire.Some(wire.GroupOrderDescending),
			Filter:             wire.Some(wire.Filter{Type: wire.FilterLargestObject}),
			// The publisher's is 300 ms.
			ObjectDeliveryTimeout: wire.Some[wire.Millis](500),
		}
		ps := st.request(&wire.Subscribe{RequestID: 0, Track: trackA, Params: params})
		req := accept[*IncomingSubscribe](st)
		if req.Track != trackA {
			st.Errorf("track %v", req.Track)
		}
		ps.wantIdle("not answered yet")
		props, err := (&wire.TrackProperties{ObjectDeliveryTimeout: wire.Some[wire.Millis](300)}).Properties(testVersion)
		if err != nil {
			st.Fatal(err)
		}
		p, err := req.Accept(AcceptSubscribe{Largest: largestAt(5, 6), Properties: props, Expires: 1500 * time.Microsecond})
		if err != nil {
			st.Fatal(err)
		}
		ps.wantMessage("answer", &wire.SubscribeOK{
			TrackAlias: 1,
			Params:     wire.Params{LargestObject: wire.Some(loc(5, 6)), Expires: wire.Some[wire.Millis](2)},
			Properties: props,
		})
		want := PublicationState{
			Forward:       true,
			Priority:      10,
			GroupOrder:    wire.GroupOrderDescending,
			Filter:        params.Filter,
			Start:         loc(5, 7),
			EndGroup:      noEndGroup,
			ObjectTimeout: 300 * time.Millisecond,
		}
		if got := p.State(); got != want {
			st.Errorf("\n got %+v\nwant %+v", got, want)
		}
		if j, ok := p.JoiningLocation(); !ok || j != loc(5, 6) {
			st.Errorf("joining location %v, %v", j, ok)
		}
		if _, err := req.Accept(AcceptSubscribe{}); err != ErrAnswered {
			st.Errorf("second Accept: %v", err)
		}
		if err := req.Reject(nil); err != ErrAnswered {
			st.Errorf("Reject after Accept: %v", err)
		}
	})
}

func TestIncomingSubscribeDefaults(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		p, _ := st.subscribed(wire.Params{}, AcceptSubscribe{})
		want := PublicationState{Forward: true, Priority: 128, GroupOrder: wire.GroupOrderAscending, EndGroup: noEndGroup}
		if got := p.State(); got != want {
			st.Errorf("\n got %+v\nwant %+v", got, want)
		}
		if j, ok := p.JoiningLocation(); ok {
			st.Errorf("joining location %v without objects", j)
		}
	})
}

func TestIncomingSubscribeFilters(t *testing.T) {
	for _, tc := range []struct {
		name   string
		filter wire.Filter
		start  wire.Location
		end    uint64
		past   bool
	}{
		{"next group", wire.Filter{Type: wire.FilterNextGroupStart}, loc(6, 0), noEndGroup, false},
		{"largest", wire.Filter{Type: wire.FilterLargestObject}, loc(5, 7), noEndGroup, false},
		{"absolute", wire.Filter{Type: wire.FilterAbsoluteStart, Start: loc(2, 1)}, loc(2, 1), noEndGroup, false},
		{"range", wire.Filter{Type: wire.FilterAbsoluteRange, Start: loc(2, 1), EndGroup: 9}, loc(2, 1), 9, false},
		{"range to the present", wire.Filter{Type: wire.FilterAbsoluteRange, Start: loc(2, 1), EndGroup: 5}, loc(2, 1), 5, false},
		{"range in the past", wire.Filter{Type: wire.FilterAbsoluteRange, Start: loc(2, 1), EndGroup: 4}, loc(2, 1), 4, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			runSession(t, testSession{server: true}, func(st *sessionTest) {
				ps := st.request(&wire.Subscribe{Track: trackA, Params: wire.Params{Filter: wire.Some(tc.filter)}})
				p, err := accept[*IncomingSubscribe](st).Accept(AcceptSubscribe{Largest: largestAt(5, 6)})
				if tc.past {
					wantRequestError(st, "past", err, wire.RequestInvalidRange)
					if m, ok := ps.message("refused").(*wire.RequestError); !ok || m.Code != wire.RequestInvalidRange {
						st.Errorf("got %+v", m)
					}
					ps.wantFIN("after the error")
					return
				}
				if err != nil {
					st.Fatal(err)
				}
				if s := p.State(); s.Start != tc.start || s.EndGroup != tc.end {
					st.Errorf("from %v to %d, want from %v to %d", s.Start, s.EndGroup, tc.start, tc.end)
				}
			})
		})
	}
}

func TestIncomingSubscribeRejected(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		ps := st.request(&wire.Subscribe{Track: trackA})
		req := accept[*IncomingSubscribe](st)
		redirect := &wire.Redirect{ConnectURI: "moqt://elsewhere", Track: trackB}
		req.Reject(&RequestError{Code: wire.RequestRedirect, Reason: "full", Retry: wire.Some(time.Second), Redirect: redirect})
		ps.wantMessage("refused", &wire.RequestError{
			Code: wire.RequestRedirect, Reason: "full", Retry: wire.Some[wire.Millis](1000), Redirect: redirect,
		})
		ps.wantFIN("after the error")
		if req.Context().Err() == nil {
			st.Error("request goes on")
		}
		wantNotStopped(st, "the peer may finish in its own time", ps.s)
		time.Sleep(lingerTimeout)
		wantStopped(st, "but not for ever", ps.s, wire.StreamCancelled)

		ps = st.request(&wire.Subscribe{RequestID: 2, Track: trackA})
		accept[*IncomingSubscribe](st).Reject(nil)
		ps.wantMessage("refused", &wire.RequestError{Code: wire.RequestNotSupported})
		ps.fin()

		ps = st.request(&wire.Subscribe{RequestID: 4, Track: trackA})
		if err := accept[*IncomingSubscribe](st).Reject(&RequestError{Code: wire.RequestRedirect}); !errors.Is(err, wire.ErrInvalidValue) {
			st.Errorf("redirect to nowhere: %v", err)
		}
		ps.wantMessage("the peer has an answer all the same", &wire.RequestError{})
		ps.wantFIN("after the error")
	})
}

// However the peer leaves, the publication ends and its streams are reset.
func TestIncomingSubscribeCancelled(t *testing.T) {
	for name, leave := range map[string]func(*peerStream){
		"STOP_SENDING": func(ps *peerStream) { ps.stop(wire.StreamCancelled) },
		"reset":        func(ps *peerStream) { ps.reset(wire.StreamCancelled) },
		"both":         func(ps *peerStream) { ps.reset(wire.StreamCancelled); ps.stop(wire.StreamCancelled) },
		"FIN and stop": func(ps *peerStream) { ps.fin(); ps.stop(wire.StreamCancelled) },
	} {
		t.Run("established/"+name, func(t *testing.T) {
			runSession(t, testSession{server: true}, func(st *sessionTest) {
				p, ps := st.subscribed(wire.Params{}, AcceptSubscribe{})
				w, err := p.OpenSubgroup(st.Context(), SubgroupHeader{Group: 1})
				if err != nil {
					st.Fatal(err)
				}
				w.WriteObject(ObjectHeader{}, []byte("x"))
				data := st.acceptUni()
				leave(ps)
				synctest.Wait()
				var se *StreamError
				if cause := context.Cause(p.Context()); !errors.As(cause, &se) || se.Code != uint64(wire.StreamCancelled) {
					st.Errorf("publication ends with %v", cause)
				}
				data.wantReset("its streams go", wire.StreamCancelled)
				if _, err := p.OpenSubgroup(st.Context(), SubgroupHeader{Group: 2}); err == nil {
					st.Error("stream opened after the end")
				}
				if err := p.SendDatagram(Datagram{}); err == nil {
					st.Error("datagram sent after the end")
				}
				if err := p.Done(wire.DoneTrackEnded, ""); err == nil {
					st.Error("Done after the end")
				}
				// The track is free again.
				st.subscribed(wire.Params{}, AcceptSubscribe{})
			})
		})
		t.Run("pending/"+name, func(t *testing.T) {
			runSession(t, testSession{server: true}, func(st *sessionTest) {
				ps := st.request(&wire.Subscribe{Track: trackA})
				req := accept[*IncomingSubscribe](st)
				leave(ps)
				if req.Context().Err() == nil {
					st.Error("request goes on")
				}
				if _, err := req.Accept(AcceptSubscribe{}); err == nil {
					st.Error("accepted after the end")
				}
				st.wantAlive("")
			})
		})
		t.Run("before SETUP/"+name, func(t *testing.T) {
			runSession(t, testSession{server: true, raw: true}, func(st *sessionTest) {
				leave(st.request(&wire.Subscribe{Track: trackA}))
				st.setup("")
				st.wantNoRequest("it is gone")
			})
		})
		t.Run("before Accept/"+name, func(t *testing.T) {
			runSession(t, testSession{server: true}, func(st *sessionTest) {
				leave(st.request(&wire.Subscribe{Track: trackA}))
				st.wantNoRequest("it is gone")
			})
		})
	}
}

// A FIN of the subscriber only says that it will not change anything.
func TestIncomingSubscribeFIN(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		ps := st.request(&wire.Subscribe{Track: trackA})
		ps.fin()
		p, err := accept[*IncomingSubscribe](st).Accept(AcceptSubscribe{})
		if err != nil {
			st.Fatal(err)
		}
		ps.wantMessage("answered", &wire.SubscribeOK{TrackAlias: 1})
		time.Sleep(time.Minute)
		if p.Context().Err() != nil {
			st.Fatal("publication has ended")
		}
		if err := p.Done(wire.DoneTrackEnded, "over"); err != nil {
			st.Fatal(err)
		}
		ps.wantMessage("done", &wire.PublishDone{Status: wire.DoneTrackEnded, Reason: "over"})
		ps.wantFIN("")
	})
}

func TestPublicationDone(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		p, ps := st.subscribed(wire.Params{}, AcceptSubscribe{})
		for g := range uint64(3) {
			w, err := p.OpenSubgroup(st.Context(), SubgroupHeader{Group: g, FirstObject: true})
			if err != nil {
				st.Fatal(err)
			}
			switch g {
			case 0:
				w.WriteObject(ObjectHeader{}, []byte("x"))
				w.Close()
			case 1:
				w.Reset(wire.StreamDeliveryTimeout)
			}
		}
		p.Done(wire.DoneTooFarBehind, "slow")
		ps.wantMessage("all streams count, those without objects too", &wire.PublishDone{
			Status: wire.DoneTooFarBehind, StreamCount: 3, Reason: "slow",
		})
		ps.wantFIN("nothing more comes")
		st.acceptUni().wantHex("finished", `70 01 00 | 00 01 "x"`)
		second := st.acceptUni()
		second.wantReset("reset before", wire.StreamDeliveryTimeout)
		if want := unhex("70 01 01"); string(second.buf) != string(want) {
			st.Errorf("got %x of the stream, want %x", second.buf, want)
		}
		third := st.acceptUni()
		third.wantReset("reset by Done", wire.StreamCancelled)
		if p.Context().Err() == nil {
			st.Error("publication goes on")
		}
	})
}

// "If an endpoint receives a message attempting to establish a second subscription to a Track with the same role, it MUST
// fail that request with a DUPLICATE_SUBSCRIPTION error."
// [MOQT-18] Section 5.1, Subscriptions
func TestIncomingSubscribeDuplicate(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		first := st.request(&wire.Subscribe{RequestID: 0, Track: trackA})
		accept[*IncomingSubscribe](st)
		second := st.request(&wire.Subscribe{RequestID: 2, Track: trackA})
		second.wantIdle("the first may be about to end")
		time.Sleep(replaceGrace)
		if m, ok := second.message("refused").(*wire.RequestError); !ok || m.Code != wire.RequestDuplicateSubscription {
			st.Errorf("got %+v", m)
		}
		second.wantFIN("refused")
		st.request(&wire.Subscribe{RequestID: 4, Track: trackB})
		if got := accept[*IncomingSubscribe](st); got.Track != trackB {
			st.Errorf("got %v", got.Track)
		}

		// The old one ends while the new one waits, as when its reset comes late.
		third := st.request(&wire.Subscribe{RequestID: 6, Track: trackA})
		first.stop(wire.StreamCancelled)
		if got := accept[*IncomingSubscribe](st); got.Track != trackA {
			st.Errorf("got %v", got.Track)
		}
		third.wantIdle("waits for the application")
	})
}

func TestRequestUpdate(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		props, _ := (&wire.TrackProperties{DynamicGroups: wire.Some(true)}).Properties(testVersion)
		p, ps := st.subscribed(wire.Params{Forward: wire.Some(false)}, AcceptSubscribe{Largest: largestAt(5, 6), Properties: props})
		if p.State().Forward {
			st.Fatal("forwards")
		}
		if _, err := p.OpenSubgroup(st.Context(), SubgroupHeader{}); err != ErrNotForwarding {
			st.Errorf("OpenSubgroup: %v", err)
		}
		if err := p.SendDatagram(Datagram{}); err != ErrNotForwarding {
			st.Errorf("SendDatagram: %v", err)
		}
		if _, ok := p.JoiningLocation(); ok {
			st.Error("joining location before forwarding")
		}
		changed := p.Changed()
		ps.send(&wire.RequestUpdate{RequestID: 2, Params: wire.Params{
			Forward:                 wire.Some(true),
			SubscriberPriority:      wire.Some[uint8](3),
			Filter:                  wire.Some(wire.Filter{Type: wire.FilterNextGroupStart}),
			SubgroupDeliveryTimeout: wire.Some[wire.Millis](100),
			NewGroupRequest:         wire.Some[uint64](6),
		}})
		ps.wantMessage("answered", &wire.RequestOK{Params: wire.Params{LargestObject: wire.Some(loc(5, 6))}})
		select {
		case <-changed:
		default:
			st.Error("no change was told")
		}
		want := PublicationState{
			Forward: true, Priority: 3, GroupOrder: wire.GroupOrderAscending,
			Filter: wire.Some(wire.Filter{Type: wire.FilterNextGroupStart}), Start: loc(6, 0), EndGroup: noEndGroup,
			SubgroupTimeout: 100 * time.Millisecond, NewGroup: wire.Some[uint64](6), NewGroups: 1,
		}
		if got := p.State(); got != want {
			st.Errorf("\n got %+v\nwant %+v", got, want)
		}
		if j, ok := p.JoiningLocation(); !ok || j != loc(5, 6) {
			st.Errorf("joining location %v, %v", j, ok)
		}

		// What is absent stays. Several may be on their way.
		ps.send(
			&wire.RequestUpdate{RequestID: 4, Params: wire.Params{SubscriberPriority: wire.Some[uint8](4)}},
			&wire.RequestUpdate{RequestID: 6, Params: wire.Params{Forward: wire.Some(false)}},
		)
		ok := &wire.RequestOK{Params: wire.Params{LargestObject: wire.Some(loc(5, 6))}}
		ps.wantMessage("first", ok)
		ps.wantMessage("second", ok)
		want.Priority, want.Forward = 4, false
		if got := p.State(); got != want {
			st.Errorf("\n got %+v\nwant %+v", got, want)
		}
	})
}

// NEW_GROUP_REQUEST means nothing to a track that cannot start groups on demand.
func TestNewGroupRequestIgnored(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		p, ps := st.subscribed(wire.Params{NewGroupRequest: wire.Some[uint64](0)}, AcceptSubscribe{})
		ps.send(&wire.RequestUpdate{RequestID: 2, Params: wire.Params{NewGroupRequest: wire.Some[uint64](1)}})
		ps.wantMessage("answered", &wire.RequestOK{})
		if p.State().NewGroup.IsSet() {
			st.Error("asks for a new group")
		}
	})
}

// An update that comes before the answer is answered after it.
func TestRequestUpdateEarly(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		ps := st.request(
			&wire.Subscribe{RequestID: 0, Track: trackA},
			&wire.RequestUpdate{RequestID: 2, Params: wire.Params{Forward: wire.Some(false)}},
		)
		req := accept[*IncomingSubscribe](st)
		ps.wantIdle("the SUBSCRIBE comes first")
		p, err := req.Accept(AcceptSubscribe{})
		if err != nil {
			st.Fatal(err)
		}
		ps.wantMessage("the answer", &wire.SubscribeOK{TrackAlias: 1})
		ps.wantMessage("then that to the update", &wire.RequestOK{})
		if p.State().Forward {
			st.Error("update was lost")
		}

		// One that crosses the refusal goes nowhere, and its id is used.
		ps = st.request(&wire.Subscribe{RequestID: 4, Track: trackB})
		accept[*IncomingSubscribe](st).Reject(nil)
		ps.send(&wire.RequestUpdate{RequestID: 6})
		ps.wantMessage("refused", &wire.RequestError{Code: wire.RequestNotSupported})
		ps.wantFIN("nothing else")
		st.request(&wire.Subscribe{RequestID: 6, Track: trackB})
		st.wantClose("id used twice", wire.SessionInvalidRequestID)
	})
}

// "When a REQUEST_UPDATE is unsuccessful, the publisher MUST also terminate the subscription by sending a PUBLISH_DONE with
// error code UPDATE_FAILED."
// [MOQT-18] Section 10.9.1, Updating Subscriptions
func TestRequestUpdateFails(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		p, ps := st.subscribed(wire.Params{}, AcceptSubscribe{Largest: largestAt(5, 6)})
		w, _ := p.OpenSubgroup(st.Context(), SubgroupHeader{Group: 5})
		w.Write([]byte{0, 1, 'x'})
		ps.send(&wire.RequestUpdate{RequestID: 2, Params: wire.Params{
			Filter: wire.Some(wire.Filter{Type: wire.FilterAbsoluteRange, EndGroup: 2}),
		}})
		if m, ok := ps.message("refused").(*wire.RequestError); !ok || m.Code != wire.RequestInvalidRange {
			st.Errorf("got %+v", m)
		}
		if m, ok := ps.message("and over").(*wire.PublishDone); !ok || m.Status != wire.DoneUpdateFailed || m.StreamCount != 1 {
			st.Errorf("got %+v", m)
		}
		ps.wantFIN("over")
		st.acceptUni().wantReset("streams go before", wire.StreamCancelled)
		if p.Context().Err() == nil {
			st.Error("publication goes on")
		}
	})
}

func TestSubscribe(t *testing.T) {
	runSession(t, testSession{}, func(st *sessionTest) {
		params := wire.Params{SubscriberPriority: wire.Some[uint8](3)}
		sub := background(st, func() (*Subscription, error) {
			return st.s.Subscribe(st.Context(), SubscribeRequest{Track: trackA, Params: params})
		})
		ps := st.wantRequest("", &wire.Subscribe{RequestID: 0, Track: trackA, Params: params})
		if got := ps.s.PeerPriorities(); len(got) != 1 || got[0] != 0 {
			st.Errorf("urgencies of the request: %v, want 0", got)
		}
		sub.wantBlocked("not answered")
		props, _ := (&wire.TrackProperties{
			DefaultPriority:   wire.Some[uint8](9),
			DefaultGroupOrder: wire.Some(wire.GroupOrderDescending),
			DynamicGroups:     wire.Some(true),
			MaxCacheDuration:  wire.Some[wire.Millis](5000),
		}).Properties(testVersion)
		ps.send(&wire.SubscribeOK{
			TrackAlias: 7,
			Params:     wire.Params{LargestObject: wire.Some(loc(3, 4)), Expires: wire.Some[wire.Millis](10)},
			Properties: props,
		})
		s := sub.ok("answered")
		info := s.Info()
		if info.Largest != wire.Some(loc(3, 4)) || info.Expires != 10*time.Millisecond || info.Priority != 9 ||
			info.GroupOrder != wire.GroupOrderDescending || !info.DynamicGroups ||
			info.MaxCacheDuration != wire.Some(5*time.Second) || string(info.Properties) != string(props) {
			st.Errorf("got %+v", info)
		}
		if s.Track() != trackA {
			st.Errorf("track %v", s.Track())
		}
		_, err := st.s.Subscribe(st.Context(), SubscribeRequest{Track: trackA})
		if !wantRequestError(st, "same track", err, wire.RequestDuplicateSubscription).Local {
			st.Error("the peer was asked")
		}
		next := background(st, func() (Incoming, error) { return s.Next(st.Context()) })
		next.wantBlocked("nothing has come")
		s.Close()
		if _, err := next.result("closed"); err != ErrClosed {
			st.Errorf("Next: %v", err)
		}
		if cause := context.Cause(s.Context()); cause != ErrClosed {
			st.Errorf("cause %v", cause)
		}
		ps.wantReset("cancelled", wire.StreamCancelled)
		ps.wantStopped("cancelled", wire.StreamCancelled)

		// Ids rise, and the track is free again.
		background(st, func() (*Subscription, error) {
			return st.s.Subscribe(st.s.Context(), SubscribeRequest{Track: trackA})
		})
		st.wantRequest("", &wire.Subscribe{RequestID: 2, Track: trackA})
	})
}

func TestSubscribeFails(t *testing.T) {
	malformed := wire.Properties(unhex("0b 02 0b 00")) // immutable properties in themselves
	mandatory, _ := wire.AppendProperties(nil, []wire.Property{{Type: 0x4002, Uint: 1}}, testVersion)
	for _, tc := range []struct {
		name string
		do   func(*peerStream)
		want func(error) bool
	}{
		{"refused", func(ps *peerStream) {
			ps.send(&wire.RequestError{Code: wire.RequestDoesNotExist, Reason: "no", Retry: wire.Some[wire.Millis](20)})
			ps.fin()
			ps.wantFIN("all is said")
		}, func(err error) bool {
			var re *RequestError
			return errors.As(err, &re) && re.Code == wire.RequestDoesNotExist && re.Reason == "no" &&
				re.Retry == wire.Some(20*time.Millisecond) && !re.Local
		}},
		{"refused and stopped", func(ps *peerStream) {
			ps.stop(wire.StreamCancelled)
			ps.send(&wire.RequestError{Code: wire.RequestUnauthorized})
			ps.fin()
		}, func(err error) bool {
			var re *RequestError
			return errors.As(err, &re) && re.Code == wire.RequestUnauthorized
		}},
		{"reset", func(ps *peerStream) { ps.reset(wire.StreamExcessiveLoad) }, func(err error) bool {
			var se *StreamError
			return errors.As(err, &se) && se.Code == uint64(wire.StreamExcessiveLoad)
		}},
		{"FIN", (*peerStream).fin, func(err error) bool { return err != nil }},
		{"stopped", func(ps *peerStream) {
			ps.stop(wire.StreamCancelled)
			time.Sleep(stopGrace)
		}, func(err error) bool { return errors.Is(err, ErrCancelled) }},
		{"mandatory property", func(ps *peerStream) {
			ps.send(&wire.SubscribeOK{TrackAlias: 1, Properties: mandatory})
			ps.wantReset("cancelled", wire.StreamCancelled)
			ps.wantStopped("cancelled", wire.StreamCancelled)
		}, func(err error) bool {
			var re *RequestError
			return errors.As(err, &re) && re.Code == wire.RequestUnsupportedExtension && re.Local
		}},
		{"malformed track", func(ps *peerStream) {
			ps.send(&wire.SubscribeOK{TrackAlias: 1, Properties: malformed})
			ps.wantReset("cancelled", wire.StreamMalformedTrack)
		}, func(err error) bool {
			var re *RequestError
			return errors.As(err, &re) && re.Code == wire.RequestMalformedTrack && re.Local
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			runSession(t, testSession{}, func(st *sessionTest) {
				sub := background(st, func() (*Subscription, error) {
					return st.s.Subscribe(context.Background(), SubscribeRequest{Track: trackA})
				})
				tc.do(st.wantRequest("", &wire.Subscribe{Track: trackA}))
				if _, err := sub.result("failed"); !tc.want(err) {
					st.Errorf("got %v", err)
				}
				st.wantAlive("only the request fails")
				if len(st.s.registry.subscriptions) > 0 || len(st.s.aliases.live) > 0 {
					st.Error("something is left")
				}
			})
		})
	}
	runSession(t, testSession{}, func(st *sessionTest) {
		ctx, cancel := context.WithCancel(st.Context())
		sub := background(st, func() (*Subscription, error) {
			return st.s.Subscribe(ctx, SubscribeRequest{Track: trackA})
		})
		ps := st.wantRequest("", &wire.Subscribe{Track: trackA})
		cancel()
		if _, err := sub.result("given up"); !errors.Is(err, context.Canceled) {
			st.Errorf("got %v", err)
		}
		ps.wantReset("given up", wire.StreamCancelled)
		ps.wantStopped("given up", wire.StreamCancelled)
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		_, err := st.s.Subscribe(st.Context(), SubscribeRequest{Track: trackA, Params: wire.Params{FillTimeout: wire.Some[wire.Millis](1)}})
		if !errors.Is(err, wire.ErrInvalidValue) {
			st.Errorf("wrong parameter: %v", err)
		}
		background(st, func() (*Subscription, error) {
			return st.s.Subscribe(st.s.Context(), SubscribeRequest{Track: trackA})
		})
		st.wantRequest("no id was lost", &wire.Subscribe{RequestID: 0, Track: trackA})
	})
}

func TestSubscribeAnswerViolations(t *testing.T) {
	for _, tc := range []struct {
		name string
		send []wire.Message
		want wire.SessionCode
	}{
		{"two SUBSCRIBE_OK", []wire.Message{&wire.SubscribeOK{}, &wire.SubscribeOK{}}, wire.SessionProtocolViolation},
		{"OK and error", []wire.Message{&wire.SubscribeOK{}, &wire.RequestError{}}, wire.SessionProtocolViolation},
		{"REQUEST_OK", []wire.Message{&wire.RequestOK{}}, wire.SessionProtocolViolation},
		{"FETCH_OK", []wire.Message{&wire.FetchOK{}}, wire.SessionProtocolViolation},
		{"NAMESPACE", []wire.Message{&wire.NamespaceAdded{}}, wire.SessionProtocolViolation},
		{"PUBLISH_DONE first", []wire.Message{&wire.PublishDone{}}, wire.SessionProtocolViolation},
		{"update of the publisher", []wire.Message{&wire.SubscribeOK{}, &wire.RequestUpdate{RequestID: 1}}, wire.SessionProtocolViolation},
		{"answer to nothing", []wire.Message{&wire.SubscribeOK{}, &wire.RequestOK{}}, wire.SessionProtocolViolation},
		{"SUBSCRIBE again", []wire.Message{&wire.Subscribe{RequestID: 1, Track: trackA}}, wire.SessionProtocolViolation},
		{"two GOAWAYs", []wire.Message{&wire.GoAway{}, &wire.GoAway{}}, wire.SessionProtocolViolation},
		{"GOAWAY with request id", []wire.Message{&wire.GoAway{RequestID: wire.Some[uint64](0)}}, wire.SessionProtocolViolation},
		{"SETUP", []wire.Message{&wire.Setup{}}, wire.SessionProtocolViolation},
	} {
		t.Run(tc.name, func(t *testing.T) {
			runSession(t, testSession{}, func(st *sessionTest) {
				background(st, func() (*Subscription, error) {
					return st.s.Subscribe(context.Background(), SubscribeRequest{Track: trackA})
				})
				st.wantRequest("", &wire.Subscribe{Track: trackA}).send(tc.send...)
				st.wantClose("", tc.want)
			})
		})
	}
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		background(st, func() (*Subscription, error) {
			return st.s.Subscribe(context.Background(), SubscribeRequest{Track: trackA})
		})
		st.wantRequest("", &wire.Subscribe{RequestID: 1, Track: trackA}).send(&wire.RequestError{
			Code: wire.RequestRedirect, Redirect: &wire.Redirect{ConnectURI: "moqt://x"},
		})
		st.wantClose("a client cannot redirect a server", wire.SessionProtocolViolation)
	})
}

func TestSubscriptionUpdate(t *testing.T) {
	runSession(t, testSession{}, func(st *sessionTest) {
		sub, ps := st.subscribing(wire.SubscribeOK{})
		type result = wire.Opt[wire.Location]
		update := func(priority uint8) *async[result] {
			return background(st, func() (result, error) {
				return sub.Update(st.Context(), wire.Params{SubscriberPriority: wire.Some(priority)})
			})
		}
		first := update(1)
		ps.wantMessage("", &wire.RequestUpdate{RequestID: 2, Params: wire.Params{SubscriberPriority: wire.Some[uint8](1)}})
		second := update(2)
		ps.wantMessage("", &wire.RequestUpdate{RequestID: 4, Params: wire.Params{SubscriberPriority: wire.Some[uint8](2)}})
		first.wantBlocked("not answered")
		ps.send(&wire.RequestOK{Params: wire.Params{LargestObject: wire.Some(loc(1, 2))}})
		if got := first.ok("answered"); got != wire.Some(loc(1, 2)) {
			st.Errorf("largest %v", got)
		}
		second.wantBlocked("not answered")
		ps.send(
			&wire.RequestError{Code: wire.RequestInvalidRange},
			&wire.PublishDone{Status: wire.DoneUpdateFailed},
		)
		ps.fin()
		_, err := second.result("refused")
		wantRequestError(st, "refused", err, wire.RequestInvalidRange)
		_, err = sub.Next(st.Context())
		var de *DoneError
		if !errors.As(err, &de) || de.Code != wire.DoneUpdateFailed {
			st.Errorf("Next: %v", err)
		}
		if _, err := sub.Update(st.Context(), wire.Params{}); err == nil {
			st.Error("update after the end")
		}
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		sub, ps := st.subscribing(wire.SubscribeOK{})
		update := background(st, func() (wire.Opt[wire.Location], error) { return sub.Update(st.Context(), wire.Params{}) })
		ps.message("update")
		ps.reset(wire.StreamInternalError)
		if _, err := update.result("reset"); err == nil {
			st.Error("no error")
		}
		if _, err := sub.Update(st.Context(), wire.Params{GroupOrder: wire.Some(wire.GroupOrderAscending)}); err == nil {
			st.Error("group order was changed")
		}
	})
}

func TestSubscriptionDone(t *testing.T) {
	wantDone := func(st *sessionTest, why string, sub *Subscription, code wire.DoneCode) {
		t.Helper()
		next := background(st, func() (Incoming, error) { return sub.Next(context.Background()) })
		_, err := next.result(why)
		var de *DoneError
		if !errors.As(err, &de) || de.Code != code {
			st.Fatalf("%s: %v", why, err)
		}
		if cause := context.Cause(sub.Context()); cause != err {
			st.Errorf("%s: cause is %v", why, cause)
		}
	}
	runSession(t, testSession{}, func(st *sessionTest) {
		sub, ps := st.subscribing(wire.SubscribeOK{})
		ps.send(&wire.PublishDone{Status: wire.DoneTrackEnded})
		wantDone(st, "no streams", sub, wire.DoneTrackEnded)
		ps.wantFIN("this side has nothing to say either")
		ps.fin()
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		sub, ps := st.subscribing(wire.SubscribeOK{})
		st.openUni(`70 07 00 | 00 01 "a"`)
		ps.send(&wire.PublishDone{Status: wire.DoneTrackEnded, StreamCount: 3})
		ps.fin()
		if in, err := sub.Next(st.Context()); err != nil || in.Subgroup.Header().Group != 0 {
			st.Fatal(in, err)
		}
		next := background(st, func() (Incoming, error) { return sub.Next(st.Context()) })
		next.wantBlocked("two are to come")
		st.openUni(`70 07 01 | 00 01 "b"`)
		in := next.ok("second")
		// Reset, but with its header: it counts.
		late := st.openUni(`70 07 02`)
		late.SetReliableBoundary()
		late.Reset(2)
		if in, err := sub.Next(st.Context()); err != nil || in.Subgroup.Header().Group != 2 {
			st.Fatal(in, err)
		}
		wantDone(st, "all came", sub, wire.DoneTrackEnded)
		// What was handed out goes on.
		if o, err := in.Subgroup.Next(); err != nil || o.PayloadLen != 1 {
			st.Errorf("%+v, %v", o, err)
		}
		wantStopped(st, "one too many", st.openUni(`70 07 03 | 00 01 "d"`), wire.StreamCancelled)
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		sub, ps := st.subscribing(wire.SubscribeOK{})
		ps.send(&wire.PublishDone{Status: wire.DoneExpired, StreamCount: wire.StreamCountUnknown})
		time.Sleep(defaultDoneTimeout - time.Millisecond)
		st.openUni(`70 07 00 | 00 01 "a"`)
		if in, err := sub.Next(st.Context()); err != nil {
			st.Fatal(in, err)
		}
		time.Sleep(time.Millisecond)
		wantDone(st, "time is over", sub, wire.DoneExpired)
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		props, _ := (&wire.TrackProperties{ObjectDeliveryTimeout: wire.Some[wire.Millis](7000)}).Properties(testVersion)
		sub, ps := st.subscribing(wire.SubscribeOK{Properties: props})
		ps.send(&wire.PublishDone{Status: wire.DoneExpired, StreamCount: 1})
		time.Sleep(7*time.Second - time.Millisecond)
		next := background(st, func() (Incoming, error) { return sub.Next(st.Context()) })
		next.wantBlocked("objects may take as long as their timeout")
		time.Sleep(time.Millisecond)
		wantDone(st, "time is over", sub, wire.DoneExpired)
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		sub, ps := st.subscribing(wire.SubscribeOK{})
		ps.fin()
		wantDone(st, "FIN without PUBLISH_DONE", sub, wire.DoneInternalError)
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		sub, ps := st.subscribing(wire.SubscribeOK{})
		ps.reset(wire.StreamGoingAway)
		_, err := sub.Next(st.Context())
		var se *StreamError
		if !errors.As(err, &se) || se.Code != uint64(wire.StreamGoingAway) {
			st.Errorf("reset: %v", err)
		}
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		_, ps := st.subscribing(wire.SubscribeOK{})
		ps.send(&wire.PublishDone{}, &wire.PublishDone{})
		st.wantClose("two PUBLISH_DONE", wire.SessionProtocolViolation)
	})
}

func TestSubscriptionClose(t *testing.T) {
	runSession(t, testSession{}, func(st *sessionTest) {
		sub, _ := st.subscribing(wire.SubscribeOK{})
		taken := st.openUni(`70 07 00 | 00 01 "a"`)
		in, err := sub.Next(st.Context())
		if err != nil {
			st.Fatal(err)
		}
		waiting := st.openUni(`70 07 01 | 00 01 "b"`)
		st.peer.SendDatagram(unhex(`08 07 00 00 "x"`))
		synctest.Wait()
		sub.Close()
		wantStopped(st, "what was taken", taken, wire.StreamCancelled)
		wantStopped(st, "what waits", waiting, wire.StreamCancelled)
		in.Subgroup.Next() // may have arrived before
		if _, err := in.Subgroup.Next(); err == nil || err == io.EOF {
			st.Errorf("reading goes on: %v", err)
		}
		if _, err := sub.Next(st.Context()); err != ErrClosed {
			st.Errorf("Next: %v", err)
		}
		wantStopped(st, "late ones at once", st.openUni(`70 07 02 | 00 01 "c"`), wire.StreamCancelled)
		sub.Close()
		if got := st.s.Stats().StreamsLate; got != 1 {
			st.Errorf("%d late streams", got)
		}
	})
}

func TestRequestGoAway(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		p, ps := st.subscribed(wire.Params{}, AcceptSubscribe{})
		if err := p.GoAway("moqt://b", time.Second); err != nil {
			st.Fatal(err)
		}
		ps.wantMessage("", &wire.GoAway{NewSessionURI: "moqt://b", Timeout: 1000})
		if err := p.GoAway("", 0); err == nil {
			st.Error("twice")
		}
		time.Sleep(time.Second - time.Millisecond)
		ps.wantIdle("the peer has its time")
		time.Sleep(time.Millisecond)
		ps.wantReset("over", wire.StreamGoingAway)
		if p.Context().Err() == nil {
			st.Error("goes on")
		}
		st.wantAlive("it was one request")
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		sub, ps := st.subscribing(wire.SubscribeOK{})
		if err := sub.GoAway("moqt://b", 0); err == nil {
			st.Error("a client cannot tell where to")
		}
		if err := sub.GoAway("", 0); err != nil {
			st.Fatal(err)
		}
		ps.wantMessage("", &wire.GoAway{})
		time.Sleep(time.Hour)
		ps.wantIdle("no timeout was given")
	})
}

func TestSubscriptionGoAway(t *testing.T) {
	runSession(t, testSession{}, func(st *sessionTest) {
		sub, ps := st.subscribing(wire.SubscribeOK{})
		if _, ok := sub.PeerGoAway(); ok {
			st.Error("GOAWAY from nowhere")
		}
		ps.send(&wire.GoAway{NewSessionURI: "moqt://b", Timeout: 100})
		<-sub.GoingAway()
		if g, ok := sub.PeerGoAway(); !ok || g.URI != "moqt://b" || g.Timeout != 100*time.Millisecond {
			st.Errorf("got %+v", g)
		}
		if _, ok := st.s.PeerGoAway(); ok {
			st.Error("the session goes away, too")
		}
	})
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		_, ps := st.subscribed(wire.Params{}, AcceptSubscribe{})
		ps.send(&wire.GoAway{NewSessionURI: "moqt://b"})
		st.wantClose("a client cannot say where to", wire.SessionProtocolViolation)
	})
}

// "For SUBSCRIBE_OK messages: the subscriber MUST cancel the subscription ..."
// [MOQT-18] Section 2.5.1, Mandatory Track Properties
func TestSubscribeOKWithMandatoryProperty(t *testing.T) {
	runSession(t, testSession{}, func(st *sessionTest) {
		a := background(st, func() (*Subscription, error) {
			return st.s.Subscribe(st.Context(), SubscribeRequest{Track: trackA})
		})
		ps := st.acceptStream()
		ps.message("SUBSCRIBE")
		mandatory, _ := wire.AppendProperties(nil, []wire.Property{{Type: 0x4002, Uint: 1}}, testVersion)
		ps.send(&wire.SubscribeOK{TrackAlias: 1, Properties: mandatory})
		_, err := a.result("not understood")
		if re := wantRequestError(st, "not understood", err, wire.RequestUnsupportedExtension); !re.Local {
			st.Error("it was not the peer who refused")
		}
		ps.wantReset("cancelled", wire.StreamCancelled)
		s := st.openUni("30 01 00 | 00 01 00")
		wantStopped(st, "its objects are not processed", s, wire.StreamCancelled)
	})
}

package moqt

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

func TestPublish(t *testing.T) {
	runSession(t, testSession{}, func(st *sessionTest) {
		props, _ := (&wire.TrackProperties{DefaultPriority: wire.Some[uint8](4)}).Properties(testVersion)
		pub := background(st, func() (*Publication, error) {
			return st.s.Publish(st.Context(), PublishRequest{
				Track: trackA, Properties: props, Largest: largestAt(2, 3), Expires: time.Second,
			})
		})
		ps := st.wantRequest("", &wire.Publish{
			Track: trackA, TrackAlias: 1, Properties: props,
			Params: wire.Params{LargestObject: wire.Some(loc(2, 3)), Expires: wire.Some[wire.Millis](1000)},
		})
		pub.wantBlocked("not answered")
		ps.send(&wire.RequestOK{Params: wire.Params{
			SubscriberPriority: wire.Some[uint8](9),
			GroupOrder:         wire.Some(wire.GroupOrderDescending),
			Filter:             wire.Some(wire.Filter{Type: wire.FilterLargestObject}),
		}})
		p := pub.ok("accepted")
		want := PublicationState{
			Forward: true, Priority: 9, GroupOrder: wire.GroupOrderDescending,
			Filter: wire.Some(wire.Filter{Type: wire.FilterLargestObject}), Start: loc(2, 4), EndGroup: noEndGroup,
		}
		if got := p.State(); got != want {
			st.Errorf("\n got %+v\nwant %+v", got, want)
		}
		if j, ok := p.JoiningLocation(); !ok || j != loc(2, 3) {
			st.Errorf("joining location %v, %v", j, ok)
		}
		_, err := st.s.Publish(st.Context(), PublishRequest{Track: trackA})
		wantRequestError(st, "same track", err, wire.RequestDuplicateSubscription)

		// The subscriber of a PUBLISH can change the subscription.
		ps.send(&wire.RequestUpdate{RequestID: 1, Params: wire.Params{Forward: wire.Some(false)}})
		ps.wantMessage("", &wire.RequestOK{Params: wire.Params{LargestObject: wire.Some(loc(2, 3))}})
		if p.State().Forward {
			st.Error("still forwards")
		}
		ps.stop(wire.StreamCancelled)
		if p.Context().Err() == nil {
			st.Error("goes on without its subscriber")
		}
	})
}

// PUBLISH with FORWARD 0, and what PUBLISH_OK makes of it.
func TestPublishPaused(t *testing.T) {
	for _, forward := range []bool{true, false} {
		runSession(t, testSession{}, func(st *sessionTest) {
			pub := background(st, func() (*Publication, error) {
				return st.s.Publish(st.Context(), PublishRequest{Track: trackA, Paused: true, Largest: largestAt(2, 3)})
			})
			ps := st.wantRequest("", &wire.Publish{
				Track: trackA, TrackAlias: 1,
				Params: wire.Params{Forward: wire.Some(false), LargestObject: wire.Some(loc(2, 3))},
			})
			if forward {
				ps.send(&wire.RequestOK{})
			} else {
				ps.send(&wire.RequestOK{Params: wire.Params{Forward: wire.Some(false)}})
			}
			p := pub.ok("accepted")
			if _, joined := p.JoiningLocation(); p.State().Forward != forward || joined != forward {
				st.Errorf("forwards: %v, has joining location: %v, want %v", p.State().Forward, joined, forward)
			}
		})
	}
}

// The draft's table of messages still has an id of its own for PUBLISH_OK.
func TestPublishOKByItsOldID(t *testing.T) {
	runSession(t, testSession{}, func(st *sessionTest) {
		pub := background(st, func() (*Publication, error) { return st.s.Publish(st.Context(), PublishRequest{Track: trackA}) })
		st.acceptStream().sendHex("1e 0001 00")
		pub.ok("accepted")
	})
}

func TestPublishFails(t *testing.T) {
	for name, do := range map[string]func(*peerStream){
		"refused": func(ps *peerStream) {
			ps.send(&wire.RequestError{Code: wire.RequestUninterested})
			ps.fin()
			ps.stop(wire.StreamCancelled)
		},
		"reset":   func(ps *peerStream) { ps.reset(wire.StreamCancelled) },
		"FIN":     func(ps *peerStream) { ps.fin() },
		"stopped": func(ps *peerStream) { ps.stop(wire.StreamCancelled); time.Sleep(stopGrace); synctest.Wait() },
	} {
		t.Run(name, func(t *testing.T) {
			runSession(t, testSession{}, func(st *sessionTest) {
				pub := background(st, func() (*Publication, error) {
					return st.s.Publish(context.Background(), PublishRequest{Track: trackA})
				})
				ps := st.acceptStream()
				ps.message("PUBLISH")
				do(ps)
				_, err := pub.result("failed")
				if err == nil {
					st.Error("no error")
				}
				if name == "refused" {
					wantRequestError(st, name, err, wire.RequestUninterested)
				}
				if st.s.publishes(trackA) {
					st.Error("something is left")
				}
				st.wantAlive("")
			})
		})
	}
	runSession(t, testSession{}, func(st *sessionTest) {
		ctx, cancel := context.WithCancel(st.Context())
		pub := background(st, func() (*Publication, error) { return st.s.Publish(ctx, PublishRequest{Track: trackA}) })
		ps := st.acceptStream()
		ps.message("PUBLISH")
		cancel()
		if _, err := pub.result("given up"); !errors.Is(err, context.Canceled) {
			st.Errorf("got %v", err)
		}
		ps.wantReset("given up", wire.StreamCancelled)
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		background(st, func() (*Publication, error) {
			return st.s.Publish(context.Background(), PublishRequest{Track: trackA})
		})
		ps := st.acceptStream()
		ps.message("PUBLISH")
		ps.send(&wire.RequestUpdate{RequestID: 1})
		st.wantClose("update before the answer", wire.SessionProtocolViolation)
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		background(st, func() (*Publication, error) {
			return st.s.Publish(context.Background(), PublishRequest{Track: trackA})
		})
		ps := st.acceptStream()
		ps.message("PUBLISH")
		ps.send(&wire.RequestOK{}, &wire.RequestOK{})
		st.wantClose("two answers", wire.SessionProtocolViolation)
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		background(st, func() (*Publication, error) {
			return st.s.Publish(context.Background(), PublishRequest{Track: trackA})
		})
		ps := st.acceptStream()
		ps.message("PUBLISH")
		ps.sendHex("07 0003 00 02 00")
		st.wantClose("properties in PUBLISH_OK", wire.SessionProtocolViolation)
	})
}

func TestIncomingPublish(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		props, _ := (&wire.TrackProperties{DefaultPriority: wire.Some[uint8](4)}).Properties(testVersion)
		ps := st.request(&wire.Publish{
			Track: trackA, TrackAlias: 9, Properties: props,
			Params: wire.Params{LargestObject: wire.Some(loc(1, 2)), Forward: wire.Some(true)},
		})
		// "... the publisher will start transmitting objects immediately, possibly before PUBLISH_OK."
		// [MOQT-18] Section 10.10, PUBLISH
		early := st.openUni(`70 09 01 | 00 01 "a"`)
		st.peer.SendDatagram(unhex(`0c 09 01 "b"`))
		req := accept[*IncomingPublish](st)
		if req.Track != trackA || req.Params.LargestObject != wire.Some(loc(1, 2)) || string(req.Properties) != string(props) {
			st.Errorf("got %+v", req)
		}
		params := wire.Params{SubscriberPriority: wire.Some[uint8](3), Forward: wire.Some(true)}
		sub, err := req.Accept(params)
		if err != nil {
			st.Fatal(err)
		}
		ps.wantMessage("accepted", &wire.RequestOK{Params: params})
		if info := sub.Info(); info.Priority != 4 || info.Largest != wire.Some(loc(1, 2)) {
			st.Errorf("got %+v", info)
		}
		in, err := sub.Next(st.Context())
		if err != nil || in.Subgroup == nil || in.Subgroup.Header().Priority != 4 {
			st.Fatalf("got %+v, %v", in, err)
		}
		in, err = sub.Next(st.Context())
		if err != nil || in.Datagram == nil || string(in.Datagram.Payload) != "b" || in.Datagram.Priority != 4 {
			st.Fatalf("got %+v, %v", in, err)
		}
		wantNotStopped(st, "it was accepted", early)
		if _, err := req.Accept(wire.Params{}); err != ErrAnswered {
			st.Errorf("second Accept: %v", err)
		}

		// Both sides can update.
		update := background(st, func() (wire.Opt[wire.Location], error) {
			return sub.Update(st.Context(), wire.Params{Forward: wire.Some(false)})
		})
		ps.wantMessage("", &wire.RequestUpdate{RequestID: 1, Params: wire.Params{Forward: wire.Some(false)}})
		ps.send(&wire.RequestUpdate{RequestID: 2})
		ps.wantMessage("the publisher's update", &wire.RequestOK{})
		ps.send(&wire.RequestOK{})
		update.ok("ours")

		ps.send(&wire.PublishDone{Status: wire.DoneTrackEnded, StreamCount: 1})
		ps.fin()
		var de *DoneError
		if _, err := sub.Next(st.Context()); !errors.As(err, &de) {
			st.Errorf("got %v", err)
		}
		ps.wantFIN("done")

		// Afterwards the track is free.
		st.request(&wire.Publish{RequestID: 4, Track: trackA, TrackAlias: 9})
		accept[*IncomingPublish](st)
	})
}

func TestIncomingPublishRejected(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		ps := st.request(&wire.Publish{Track: trackA, TrackAlias: 9})
		early := st.openUni(`70 09 01 | 00 01 "a"`)
		accept[*IncomingPublish](st).Reject(&RequestError{Code: wire.RequestUninterested})
		ps.wantMessage("refused", &wire.RequestError{Code: wire.RequestUninterested})
		ps.wantFIN("refused")
		// "... and abandon reading any publisher initiated streams associated with that subscription using a STOP_SENDING
		// frame." [MOQT-18] Section 10.10, PUBLISH
		wantStopped(st, "what came before", early, wire.StreamCancelled)
		wantStopped(st, "what comes later", st.openUni(`70 09 02`), wire.StreamCancelled)
	})
	// "For PUBLISH messages: the subscriber MUST respond with REQUEST_ERROR with error code UNSUPPORTED_EXTENSION."
	// [MOQT-18] Section 2.5.1, Mandatory Track Properties
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		mandatory, _ := wire.AppendProperties(nil, []wire.Property{{Type: 0x4002, Uint: 1}}, testVersion)
		ps := st.request(&wire.Publish{Track: trackA, TrackAlias: 9, Properties: mandatory})
		if m, ok := ps.message("refused").(*wire.RequestError); !ok || m.Code != wire.RequestUnsupportedExtension {
			st.Errorf("got %+v", m)
		}
		st.wantNoRequest("the session has refused it")
		wantStopped(st, "its objects", st.openUni(`70 09 02`), wire.StreamCancelled)
	})
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		ps := st.request(&wire.Publish{Track: trackA, TrackAlias: 9, Properties: unhex("0b 02 0b 00")})
		if m, ok := ps.message("refused").(*wire.RequestError); !ok || m.Code != wire.RequestMalformedTrack {
			st.Errorf("got %+v", m)
		}
		st.wantNoRequest("the session has refused it")
	})
}

func TestIncomingPublishEnds(t *testing.T) {
	for name, leave := range map[string]func(*peerStream){
		"reset": func(ps *peerStream) { ps.reset(wire.StreamCancelled) },
		"FIN":   func(ps *peerStream) { ps.fin() },
		"stop":  func(ps *peerStream) { ps.stop(wire.StreamCancelled); time.Sleep(stopGrace); synctest.Wait() },
		"done":  func(ps *peerStream) { ps.send(&wire.PublishDone{}); ps.fin() },
	} {
		t.Run(name, func(t *testing.T) {
			runSession(t, testSession{server: true}, func(st *sessionTest) {
				ps := st.request(&wire.Publish{Track: trackA, TrackAlias: 9})
				req := accept[*IncomingPublish](st)
				leave(ps)
				if req.Context().Err() == nil {
					st.Error("goes on")
				}
				if _, err := req.Accept(wire.Params{}); err == nil {
					st.Error("accepted")
				}
				if name == "done" {
					// "A subscriber MUST send exactly one PUBLISH_OK ... or REQUEST_ERROR in response to a PUBLISH."
					// [MOQT-18] Section 5.1, Subscriptions
					if _, ok := ps.message("answer").(*wire.RequestError); !ok {
						st.Error("no answer")
					}
				}
				st.wantAlive("")
			})
			runSession(t, testSession{server: true}, func(st *sessionTest) {
				ps := st.request(&wire.Publish{Track: trackA, TrackAlias: 9})
				sub, err := accept[*IncomingPublish](st).Accept(wire.Params{})
				if err != nil {
					st.Fatal(err)
				}
				leave(ps)
				next := background(st, func() (Incoming, error) { return sub.Next(context.Background()) })
				if _, err := next.result("ended"); err == nil {
					st.Error("no error")
				}
				if len(st.s.registry.subscriptions) > 0 || len(st.s.registry.established) > 0 || len(st.s.aliases.live) > 0 {
					st.Error("something is left")
				}
				st.wantAlive("")
			})
		})
	}
}

// "If a subscriber receives a PUBLISH for a Track with a subscription in the Pending (Subscriber) state, it MUST ensure the
// subscription it initiated transitions to the Terminated state before sending PUBLISH_OK."
// [MOQT-18] Section 5.1, Subscriptions
func TestPublishSupersedesSubscribe(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		own := background(st, func() (*Subscription, error) {
			return st.s.Subscribe(context.Background(), SubscribeRequest{Track: trackA})
		})
		subscribe := st.wantRequest("", &wire.Subscribe{RequestID: 1, Track: trackA})
		publish := st.request(&wire.Publish{Track: trackA, TrackAlias: 9})
		sub, err := accept[*IncomingPublish](st).Accept(wire.Params{})
		if err != nil {
			st.Fatal(err)
		}
		if _, err := own.result("superseded"); err != ErrSuperseded {
			st.Errorf("got %v", err)
		}
		subscribe.wantReset("ended", wire.StreamCancelled)
		subscribe.wantStopped("ended", wire.StreamCancelled)
		publish.wantMessage("accepted", &wire.RequestOK{})
		st.openUni(`70 09 01`)
		if _, err := sub.Next(st.Context()); err != nil {
			st.Error(err)
		}
	})
	// If the SUBSCRIBE was answered in the meantime, there is a subscription, and the PUBLISH is one too many.
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		own := background(st, func() (*Subscription, error) {
			return st.s.Subscribe(context.Background(), SubscribeRequest{Track: trackA})
		})
		subscribe := st.acceptStream()
		subscribe.message("SUBSCRIBE")
		publish := st.request(&wire.Publish{Track: trackA, TrackAlias: 9})
		req := accept[*IncomingPublish](st)
		subscribe.send(&wire.SubscribeOK{TrackAlias: 9})
		own.ok("answered")
		_, err := req.Accept(wire.Params{})
		wantRequestError(st, "too late", err, wire.RequestDuplicateSubscription)
		if m, ok := publish.message("refused").(*wire.RequestError); !ok || m.Code != wire.RequestDuplicateSubscription {
			st.Errorf("got %+v", m)
		}
		wantNotStopped(st, "objects of the subscription still come", st.openUni(`70 09 02`))
	})
	// Of an established one, the session refuses a second.
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		st.subscribing(wire.SubscribeOK{})
		publish := st.request(&wire.Publish{Track: trackA, TrackAlias: 9})
		time.Sleep(replaceGrace)
		if m, ok := publish.message("refused").(*wire.RequestError); !ok || m.Code != wire.RequestDuplicateSubscription {
			st.Errorf("got %+v", m)
		}
		st.wantNoRequest("the session has refused it")
	})
	// Two PUBLISHes of one track.
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		st.request(&wire.Publish{Track: trackA, TrackAlias: 9})
		accept[*IncomingPublish](st)
		second := st.request(&wire.Publish{RequestID: 2, Track: trackA, TrackAlias: 10})
		time.Sleep(replaceGrace)
		if m, ok := second.message("refused").(*wire.RequestError); !ok || m.Code != wire.RequestDuplicateSubscription {
			st.Errorf("got %+v", m)
		}
	})
}

// "If a subscriber receives a PUBLISH or SUBSCRIBE_OK that uses the same Track Alias as a different Track with an Established
// subscription, it MUST close the session with error DUPLICATE_TRACK_ALIAS."
// [MOQT-18] Section 11.1, Track Alias
func TestDuplicateTrackAlias(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		st.request(&wire.Publish{Track: trackA, TrackAlias: 9})
		st.request(&wire.Publish{RequestID: 2, Track: trackB, TrackAlias: 9})
		st.wantClose("two PUBLISHes", wire.SessionDuplicateTrackAlias)
	})
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		st.subscribing(wire.SubscribeOK{}) // alias 7
		st.request(&wire.Publish{Track: trackB, TrackAlias: 7})
		st.wantClose("SUBSCRIBE_OK and PUBLISH", wire.SessionDuplicateTrackAlias)
	})
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		sub, _ := st.subscribing(wire.SubscribeOK{})
		sub.Close()
		ps := st.request(&wire.Publish{Track: trackB, TrackAlias: 7})
		if _, err := accept[*IncomingPublish](st).Accept(wire.Params{}); err != nil {
			st.Error(err)
		}
		ps.wantMessage("the alias was free", &wire.RequestOK{})
		wantNotStopped(st, "and is used again", st.openUni(`70 07 02`))
	})
}

// Publications of one session never share an alias.
func TestAliasesRise(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		for want := uint64(1); want < 4; want++ {
			p, ps := st.subscribed(wire.Params{}, AcceptSubscribe{})
			if p.Alias() != want {
				st.Errorf("alias %d, want %d", p.Alias(), want)
			}
			ps.stop(wire.StreamCancelled)
			synctest.Wait()
		}
	})
}

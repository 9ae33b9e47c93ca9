package moqt

import (
	"bytes"
	"context"
	"errors"
	"io"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// forVersions runs f with a client and a server session, in each version there is.
func forVersions(t *testing.T, cfg Config, f func(t *testing.T, client, server *Session)) {
	t.Helper()
	for _, v := range []wire.Version{wire.Draft16, wire.Draft18, wire.Draft19} {
		t.Run(v.String(), func(t *testing.T) { runPair(t, v, cfg, f) })
	}
}

// runPair runs f with a client and a server session.
func runPair(t *testing.T, v wire.Version, cfg Config, f func(t *testing.T, client, server *Session)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe(PipeConfig{Protocol: v.ALPN(), Latency: 10 * time.Millisecond})
		client, server := New(a, cfg), New(b, cfg)
		done := make(chan error, 2)
		for _, s := range []*Session{client, server} {
			go func() { done <- s.Run(context.Background()) }()
		}
		if err := client.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		f(t, client, server)
		synctest.Wait()
		client.Close(wire.SessionNoError, "")
		for range 2 {
			if err := <-done; err != nil {
				t.Errorf("session ended with %v", err)
			}
		}
		time.Sleep(time.Hour)
	})
}

func acceptOf[R Request](t *testing.T, s *Session) R {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := s.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	req, ok := r.(R)
	if !ok {
		t.Fatalf("got a %T, want %T", r, req)
	}
	return req
}

// answering runs f in the background, answers the request it makes with answer, and returns what f has returned.
func answering[R Request, T any](t *testing.T, s *Session, answer func(R), f func() (T, error)) (T, error) {
	t.Helper()
	type result struct {
		v   T
		err error
	}
	ch := make(chan result, 1)
	go func() {
		v, err := f()
		ch <- result{v, err}
	}()
	answer(acceptOf[R](t, s))
	r := <-ch
	return r.v, r.err
}

var (
	bigProps = func() wire.Properties {
		p, _ := wire.AppendProperties(nil, []wire.Property{
			{Type: 0x10, Uint: 1_700_000_000_000_000}, {Type: 0x0b + 0x100*2, Bytes: []byte("opaque")},
		}, testVersion)
		return p
	}()
	trackProps16 = func() wire.Properties {
		immutable, _ := wire.AppendProperties(nil, []wire.Property{{Type: 0x88, Uint: 12345}}, testVersion)
		p, _ := (&wire.TrackProperties{
			ObjectDeliveryTimeout: wire.Some(wire.Millis(70_000)), DynamicGroups: wire.Some(true), Immutable: immutable,
			DefaultPriority: wire.Some(uint8(100)),
		}).Properties(testVersion)
		return p
	}()
)

// Everything a subscription does, in each version.
func TestVersionsSubscription(t *testing.T) {
	forVersions(t, Config{}, func(t *testing.T, client, server *Session) {
		var pub *Publication
		params := wire.Params{
			Filter:             wire.Some(wire.Filter{Type: wire.FilterAbsoluteRange, Start: loc(200, 3), EndGroup: 1000}),
			SubscriberPriority: wire.Some(uint8(200)), GroupOrder: wire.Some(wire.GroupOrderDescending),
			NewGroupRequest: wire.Some(uint64(201)), ObjectDeliveryTimeout: wire.Some(wire.Millis(5000)),
		}
		sub, err := answering(t, server, func(r *IncomingSubscribe) {
			if r.Track != trackA || !reflect.DeepEqual(r.Params, params) {
				t.Errorf("got %+v", r.Params)
			}
			pub, _ = r.Accept(AcceptSubscribe{Properties: trackProps16, Largest: largestAt(200, 70), Expires: time.Minute})
		}, func() (*Subscription, error) {
			return client.Subscribe(t.Context(), SubscribeRequest{Track: trackA, Params: params})
		})
		if err != nil {
			t.Fatal(err)
		}
		info := sub.Info()
		if info.Largest != wire.Some(loc(200, 70)) || info.Expires != time.Minute || !bytes.Equal(info.Properties, trackProps16) ||
			info.ObjectTimeout != 70*time.Second || !info.DynamicGroups || info.Priority != 100 {
			t.Errorf("got %+v", info)
		}

		// A large object in pieces, an object without payload, properties, a status.
		payload := bytes.Repeat([]byte("0123456789abcdef"), 4096)
		w, err := pub.OpenSubgroup(t.Context(), SubgroupHeader{Group: 300, Subgroup: 64, Priority: 9, HasPriority: true, Properties: true, EndOfGroup: true})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			w.WriteObject(ObjectHeader{ID: 64, Properties: bigProps}, payload)
			w.WriteObject(ObjectHeader{ID: 65}, nil)
			w.WriteObject(ObjectHeader{ID: 10_000, Status: wire.ObjectEndOfGroup}, nil)
			w.Close()
		}()
		in, err := sub.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		h := in.Subgroup.Header()
		if h.Group != 300 || h.Subgroup != 64 || h.Priority != 9 || !h.EndOfGroup || !h.Properties || h.FirstObject {
			t.Errorf("got %+v", h)
		}
		o, err := in.Subgroup.Next()
		if err != nil || o.ID != 64 || !bytes.Equal(o.Properties, bigProps) {
			t.Fatalf("got %+v, %v", o, err)
		}
		if got, err := io.ReadAll(in.Subgroup); err != nil || !bytes.Equal(got, payload) {
			t.Errorf("payload of %d bytes, %v", len(got), err)
		}
		if o, err = in.Subgroup.Next(); err != nil || o.ID != 65 || o.PayloadLen != 0 || o.Status != wire.ObjectNormal {
			t.Errorf("got %+v, %v", o, err)
		}
		if o, err = in.Subgroup.Next(); err != nil || o.ID != 10_000 || o.Status != wire.ObjectEndOfGroup {
			t.Errorf("got %+v, %v", o, err)
		}
		if _, err = in.Subgroup.Next(); err != io.EOF {
			t.Errorf("got %v", err)
		}

		// A datagram.
		pub.SendDatagram(Datagram{Group: 301, Object: 100, Properties: bigProps, Payload: []byte("dg")})
		if in, err = sub.Next(t.Context()); err != nil || in.Datagram == nil || in.Datagram.Object != 100 ||
			!bytes.Equal(in.Datagram.Properties, bigProps) || string(in.Datagram.Payload) != "dg" {
			t.Errorf("got %+v, %v", in.Datagram, err)
		}

		// An update, a stream that is reset, and the end.
		if got, err := sub.Update(t.Context(), wire.Params{SubscriberPriority: wire.Some(uint8(1))}); err != nil || got != wire.Some(loc(200, 70)) {
			t.Errorf("update: %v, %v", got, err)
		}
		if pub.State().Priority != 1 {
			t.Errorf("state %+v", pub.State())
		}
		w, _ = pub.OpenSubgroup(t.Context(), SubgroupHeader{Group: 302, FirstObject: true})
		w.WriteObject(ObjectHeader{}, []byte("x"))
		if in, err = sub.Next(t.Context()); err != nil || !in.Subgroup.Header().FirstObject {
			t.Fatalf("got %+v, %v", in, err)
		}
		w.Reset(wire.StreamDeliveryTimeout)
		for err == nil {
			_, err = in.Subgroup.Next()
		}
		if se := (*StreamError)(nil); !errors.As(err, &se) || se.Code != uint64(wire.StreamDeliveryTimeout) {
			t.Errorf("got %v", err)
		}
		go pub.Done(wire.DoneTooFarBehind, "slow")
		var done *DoneError
		if _, err = sub.Next(t.Context()); !errors.As(err, &done) || done.Code != wire.DoneTooFarBehind || done.Reason != "slow" {
			t.Errorf("got %v", err)
		}
	})
}

// How requests end early: in draft-16 each has a message of its own.
func TestVersionsCancel(t *testing.T) {
	forVersions(t, Config{}, func(t *testing.T, client, server *Session) {
		// UNSUBSCRIBE
		var pub *Publication
		sub, err := answering(t, server, func(r *IncomingSubscribe) { pub, _ = r.Accept(AcceptSubscribe{}) },
			func() (*Subscription, error) { return client.Subscribe(t.Context(), SubscribeRequest{Track: trackA}) })
		if err != nil {
			t.Fatal(err)
		}
		sub.Close()
		<-pub.Context().Done()

		// REQUEST_ERROR, with a code that draft-16 does not have
		busy := wire.RequestExcessiveLoad
		if client.adapter != nil {
			busy = wire.RequestInternalError
		}
		_, err = answering(t, server, func(r *IncomingSubscribe) {
			r.Reject(&RequestError{Code: wire.RequestExcessiveLoad, Reason: "busy", Retry: wire.Some(time.Second)})
		}, func() (*Subscription, error) { return client.Subscribe(t.Context(), SubscribeRequest{Track: trackA}) })
		if re := wantRequestError(t, "refused", err, busy); re.Reason != "busy" || re.Retry != wire.Some(time.Second) {
			t.Errorf("got %+v", re)
		}

		// PUBLISH_NAMESPACE_DONE and PUBLISH_NAMESPACE_CANCEL
		var in *IncomingPublishNamespace
		announce := func() *Announcement {
			a, err := answering(t, server, func(r *IncomingPublishNamespace) { in = r; r.Accept() },
				func() (*Announcement, error) { return client.PublishNamespace(t.Context(), ns("live")) })
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		announce().Withdraw()
		<-in.Context().Done()
		a := announce()
		in.Revoke(wire.StreamExpiredAuthToken)
		<-a.Context().Done()

		// PUBLISH of the server, refused, and unsubscribed from
		_, err = answering(t, client, func(r *IncomingPublish) { r.Reject(&RequestError{Code: wire.RequestUninterested}) },
			func() (*Publication, error) { return server.Publish(t.Context(), PublishRequest{Track: trackB}) })
		wantRequestError(t, "refused", err, wire.RequestUninterested)
		pub, err = answering(t, client, func(r *IncomingPublish) {
			if !bytes.Equal(r.Properties, trackProps16) {
				t.Errorf("properties %x", r.Properties)
			}
			sub, _ = r.Accept(wire.Params{Forward: wire.Some(false)})
		}, func() (*Publication, error) {
			return server.Publish(t.Context(), PublishRequest{Track: trackB, Properties: trackProps16})
		})
		if err != nil || pub.State().Forward {
			t.Fatalf("got %+v, %v", pub.State(), err)
		}
		if _, err := sub.Update(t.Context(), wire.Params{Forward: wire.Some(true), NewGroupRequest: wire.Some(uint64(0))}); err != nil {
			t.Error(err)
		}
		if s := pub.State(); !s.Forward || s.NewGroups != 1 {
			t.Errorf("got %+v", s)
		}
		sub.Close()
		<-pub.Context().Done()

		if client.adapter == nil {
			return
		}
		// A prefix cannot be changed in draft-16.
		n, err := answering(t, server, func(r *IncomingSubscribeNamespace) { r.Accept() },
			func() (*NamespaceSubscription, error) { return client.SubscribeNamespace(t.Context(), ns("live")) })
		if err != nil {
			t.Fatal(err)
		}
		wantRequestError(t, "update of a prefix", n.Update(t.Context(), ns("x")), wire.RequestNotSupported)
	})
}

func TestVersionsNamespaces(t *testing.T) {
	forVersions(t, Config{}, func(t *testing.T, client, server *Session) {
		var in *IncomingSubscribeNamespace
		n, err := answering(t, server, func(r *IncomingSubscribeNamespace) { in = r; r.Accept() },
			func() (*NamespaceSubscription, error) { return client.SubscribeNamespace(t.Context(), ns("live")) })
		if err != nil {
			t.Fatal(err)
		}
		in.Announce(ns("live", "a"))
		in.Withdraw(ns("live", "a"))
		for _, gone := range []bool{false, true} {
			if e, err := n.Next(t.Context()); err != nil || e.Namespace != ns("live", "a") || e.Gone != gone {
				t.Errorf("got %+v, %v", e, err)
			}
		}
		n.Close()
		<-in.Context().Done()

		var tracks *IncomingSubscribeTracks
		ts, err := answering(t, server, func(r *IncomingSubscribeTracks) { tracks = r; r.Accept() },
			func() (*TracksSubscription, error) { return client.SubscribeTracks(t.Context(), ns("live"), false) })
		if err != nil || tracks.Forward || tracks.Prefix != ns("live") {
			t.Fatalf("got %+v, %v", tracks, err)
		}
		p, err := answering(t, client, func(r *IncomingPublish) { r.Accept(wire.Params{Forward: wire.Some(false)}) },
			func() (*Publication, error) { return tracks.Offer(t.Context(), PublishRequest{Track: trackA}) })
		if err != nil || p.State().Forward {
			t.Errorf("got %v", err)
		}
		tracks.Cancel(wire.StreamCancelled)
		<-ts.Context().Done()
	})
}

func TestVersionsFetch(t *testing.T) {
	forVersions(t, Config{}, func(t *testing.T, client, server *Session) {
		sub, err := answering(t, server, func(r *IncomingSubscribe) { r.Accept(AcceptSubscribe{Largest: largestAt(500, 80)}) },
			func() (*Subscription, error) { return client.Subscribe(t.Context(), SubscribeRequest{Track: trackA}) })
		if err != nil {
			t.Fatal(err)
		}
		for _, tc := range []struct {
			name string
			req  FetchRequest
			want [2]wire.Location
		}{
			{"standalone", FetchRequest{Track: trackA, Start: loc(100, 7), End: loc(400, 0)}, [2]wire.Location{loc(100, 7), loc(400, 0)}},
			{"relative", FetchRequest{Joining: sub, JoiningStart: 70}, [2]wire.Location{loc(430, 0), loc(500, 81)}},
			{"absolute", FetchRequest{Joining: sub, JoiningStart: 70, Absolute: true}, [2]wire.Location{loc(70, 0), loc(500, 81)}},
			{"descending", FetchRequest{Track: trackA, End: loc(400, 0), Params: wire.Params{GroupOrder: wire.Some(wire.GroupOrderDescending)}}, [2]wire.Location{loc(0, 0), loc(400, 0)}},
		} {
			items := []FetchObject{
				{Group: 100, Object: 64, Subgroup: 3, Priority: 7, Properties: bigProps, PayloadLen: 5},
				{Group: 100, Object: 65, Subgroup: 4, Priority: 7, PayloadLen: 5},
				{Group: 100, Object: 90, Gap: GapUnknown},
				{Group: 100, Object: 91, Datagram: true, Priority: 8, PayloadLen: 5},
				{Group: 300, Object: 0, Subgroup: 4, Priority: 8, PayloadLen: 5},
				{Group: 300, Object: 1<<64 - 1, Gap: GapNonExistent}, // the rest of the group
			}
			if tc.name == "descending" {
				items[4].Group, items[5].Group = 2, 2
			}
			var w *FetchWriter
			r, err := answering(t, server, func(r *IncomingFetch) {
				if r.Start != tc.want[0] || r.End != tc.want[1] || r.Track != trackA {
					t.Errorf("%s: from %v to %v", tc.name, r.Start, r.End)
				}
				w, _ = r.Accept(FetchOK{End: tc.want[1], Properties: trackProps16})
			}, func() (*FetchReader, error) { return client.Fetch(t.Context(), tc.req) })
			if err != nil {
				t.Fatalf("%s: %v", tc.name, err)
			}
			if ok := r.OK(); ok.End != tc.want[1] || !bytes.Equal(ok.Properties, trackProps16) {
				t.Errorf("%s: %+v", tc.name, ok)
			}
			for _, o := range items {
				if err := w.WriteObject(o, make([]byte, o.PayloadLen)); err != nil {
					t.Errorf("%s: %+v: %v", tc.name, o, err)
				}
			}
			w.Close()
			for _, want := range items {
				if client.adapter != nil {
					want.Object = min(want.Object, max16)
				}
				got, err := r.Next()
				if err != nil || got.Group != want.Group || got.Object != want.Object || got.Subgroup != want.Subgroup ||
					got.Gap != want.Gap || got.Datagram != want.Datagram || got.Priority != want.Priority || !bytes.Equal(got.Properties, want.Properties) {
					t.Errorf("%s: got %+v, %v, want %+v", tc.name, got, err, want)
				}
			}
			if _, err := r.Next(); err != io.EOF {
				t.Errorf("%s: got %v", tc.name, err)
			}
		}
		// FETCH_CANCEL
		var w *FetchWriter
		r, err := answering(t, server, func(r *IncomingFetch) { w, _ = r.Accept(FetchOK{End: loc(9, 0)}) },
			func() (*FetchReader, error) {
				return client.Fetch(t.Context(), FetchRequest{Track: trackA, End: loc(9, 0)})
			})
		if err != nil {
			t.Fatal(err)
		}
		r.Stop(wire.StreamCancelled)
		<-w.Context().Done()
		status, err := answering(t, server, func(r *IncomingTrackStatus) { r.Accept(TrackStatus{Largest: wire.Some(loc(100, 200))}) },
			func() (TrackStatus, error) { return client.TrackStatus(t.Context(), trackA) })
		if err != nil || status.Largest != wire.Some(loc(100, 200)) {
			t.Errorf("got %+v, %v", status, err)
		}
	})
}

// More requests than MAX_REQUEST_ID allows at first go through, one after the other.
func TestDraft16MaxRequestID(t *testing.T) {
	runPair(t, wire.Draft16, Config{MaxRequests: 4}, func(t *testing.T, client, server *Session) {
		go func() {
			for {
				r, err := server.Accept(t.Context())
				if err != nil {
					return
				}
				r.Reject(&RequestError{Code: wire.RequestDoesNotExist})
			}
		}()
		for range 50 {
			_, err := client.TrackStatus(t.Context(), trackA)
			wantRequestError(t, "", err, wire.RequestDoesNotExist)
		}
	})
}

func TestVersionsGoAway(t *testing.T) {
	forVersions(t, Config{}, func(t *testing.T, client, server *Session) {
		server.GoAway("moqt://elsewhere/", 0)
		<-client.GoingAway()
		if g, _ := client.PeerGoAway(); g.URI != "moqt://elsewhere/" {
			t.Errorf("got %+v", g)
		}
	})
}

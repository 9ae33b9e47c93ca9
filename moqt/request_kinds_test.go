package moqt

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// What every request of the peer has in common: the message, and the application's yes.
var incomingKinds = map[string]struct {
	message wire.Message
	accept  func(Request) error
}{
	"SUBSCRIBE": {&wire.Subscribe{Track: trackA}, func(r Request) error {
		return errOf(r.(*IncomingSubscribe).Accept(AcceptSubscribe{}))
	}},
	"PUBLISH": {&wire.Publish{Track: trackA}, func(r Request) error {
		return errOf(r.(*IncomingPublish).Accept(wire.Params{}))
	}},
	"FETCH": {&wire.Fetch{FetchType: wire.FetchStandalone, Track: trackA, End: loc(1, 0)}, func(r Request) error {
		return errOf(r.(*IncomingFetch).Accept(FetchOK{End: loc(1, 0)}))
	}},
	"TRACK_STATUS": {&wire.TrackStatus{Track: trackA}, func(r Request) error {
		return r.(*IncomingTrackStatus).Accept(TrackStatus{})
	}},
	"PUBLISH_NAMESPACE":   {&wire.PublishNamespace{}, func(r Request) error { return r.(*IncomingPublishNamespace).Accept() }},
	"SUBSCRIBE_NAMESPACE": {&wire.SubscribeNamespace{}, func(r Request) error { return r.(*IncomingSubscribeNamespace).Accept() }},
	"SUBSCRIBE_TRACKS":    {&wire.SubscribeTracks{}, func(r Request) error { return r.(*IncomingSubscribeTracks).Accept() }},
}

func TestEveryIncomingRequest(t *testing.T) {
	for name, kind := range incomingKinds {
		t.Run(name, func(t *testing.T) {
			start := func(st *sessionTest) (*peerStream, Request) {
				st.Helper()
				ps := st.request(kind.message)
				r, err := st.s.Accept(st.Context())
				if err != nil {
					st.Fatal(err)
				}
				ps.wantIdle("not answered")
				return ps, r
			}
			runSession(t, testSession{server: true}, func(st *sessionTest) {
				ps, r := start(st)
				refused := &RequestError{Code: wire.RequestUnauthorized, Reason: "no"}
				if err := r.Reject(refused); err != nil {
					st.Error(err)
				}
				ps.wantMessage("refused", &wire.RequestError{Code: wire.RequestUnauthorized, Reason: "no"})
				ps.wantFIN("refused")
				if r.Context().Err() == nil {
					st.Error("goes on")
				}
				if err := kind.accept(r); err == nil {
					st.Error("accepted after it was refused")
				}
				if err := r.Reject(nil); err != ErrAnswered {
					st.Errorf("refused twice: %v", err)
				}
				ps.fin()
			})
			runSession(t, testSession{server: true}, func(st *sessionTest) {
				ps, r := start(st)
				if err := kind.accept(r); err != nil {
					st.Fatal(err)
				}
				ps.message("accepted")
				if err := kind.accept(r); err == nil {
					st.Error("accepted twice")
				}
				if err := r.Reject(nil); err != ErrAnswered {
					st.Errorf("refused after it was accepted: %v", err)
				}
				ps.wantMessageNone("one answer")
			})
			runSession(t, testSession{server: true}, func(st *sessionTest) {
				_, r := start(st)
				st.peer.Close(uint64(wire.SessionUnauthorized), "")
				synctest.Wait()
				var pe *PeerCloseError
				if cause := context.Cause(r.Context()); !errors.As(cause, &pe) {
					st.Errorf("ends with %v", cause)
				}
				if kind.accept(r) == nil {
					st.Error("accepted after the session's end")
				}
			})
			runSession(t, testSession{server: true}, func(st *sessionTest) {
				ps, _ := start(st)
				ps.send(&wire.RequestOK{})
				st.wantClose("answer to nothing", wire.SessionProtocolViolation)
			})
			runSession(t, testSession{server: true}, func(st *sessionTest) {
				ps, _ := start(st)
				ps.send(&wire.GoAway{})
				st.wantAlive("the peer may ask for another place")
				ps.send(&wire.GoAway{})
				st.wantClose("but only once", wire.SessionProtocolViolation)
			})
			runSession(t, testSession{server: true}, func(st *sessionTest) {
				ps, _ := start(st)
				ps.sendHex("3f 0000")
				st.wantClose("unknown message", wire.SessionProtocolViolation)
			})
			runSession(t, testSession{server: true}, func(st *sessionTest) {
				ps, _ := start(st)
				ps.sendHex("02 00")
				ps.fin()
				st.wantClose("FIN in a message", wire.SessionProtocolViolation)
			})
			runSession(t, testSession{server: true}, func(st *sessionTest) {
				ps, r := start(st)
				ps.sendHex("02 00")
				ps.reset(wire.StreamCancelled)
				st.wantAlive("a reset is no fault, also in a message")
				if r.Context().Err() == nil {
					st.Error("goes on")
				}
			})
		})
	}
}

// wantMessageNone checks that nothing more has come; the stream may have ended.
func (ps *peerStream) wantMessageNone(why string) {
	ps.st.Helper()
	ps.poll()
	if len(ps.buf) > 0 {
		ps.st.Fatalf("%s: got %x", why, ps.buf)
	}
}

// What every request of this side has in common.
var outgoingKinds = map[string]struct {
	do  func(ctx context.Context, s *Session) error
	yes wire.Message
}{
	"SUBSCRIBE": {func(ctx context.Context, s *Session) error {
		return errOf(s.Subscribe(ctx, SubscribeRequest{Track: trackA}))
	}, &wire.SubscribeOK{}},
	"PUBLISH": {func(ctx context.Context, s *Session) error {
		return errOf(s.Publish(ctx, PublishRequest{Track: trackA}))
	}, &wire.RequestOK{}},
	"FETCH": {func(ctx context.Context, s *Session) error {
		return errOf(s.Fetch(ctx, FetchRequest{Track: trackA, End: loc(1, 0)}))
	}, &wire.FetchOK{End: loc(1, 0)}},
	"TRACK_STATUS": {func(ctx context.Context, s *Session) error {
		return errOf(s.TrackStatus(ctx, trackA))
	}, &wire.RequestOK{}},
	"PUBLISH_NAMESPACE": {func(ctx context.Context, s *Session) error {
		return errOf(s.PublishNamespace(ctx, ns("x")))
	}, &wire.RequestOK{}},
	"SUBSCRIBE_NAMESPACE": {func(ctx context.Context, s *Session) error {
		return errOf(s.SubscribeNamespace(ctx, ns("x")))
	}, &wire.RequestOK{}},
	"SUBSCRIBE_TRACKS": {func(ctx context.Context, s *Session) error {
		return errOf(s.SubscribeTracks(ctx, ns("x"), true))
	}, &wire.RequestOK{}},
}

func TestEveryOutgoingRequest(t *testing.T) {
	for name, kind := range outgoingKinds {
		t.Run(name, func(t *testing.T) {
			start := func(st *sessionTest, ctx context.Context) (*async[int], *peerStream) {
				st.Helper()
				a := background(st, func() (int, error) { return 0, kind.do(ctx, st.s) })
				ps := st.acceptStream()
				ps.message("request")
				a.wantBlocked("not answered")
				return a, ps
			}
			runSession(t, testSession{}, func(st *sessionTest) {
				a, ps := start(st, context.Background())
				ps.send(kind.yes)
				a.ok("accepted")
			})
			runSession(t, testSession{}, func(st *sessionTest) {
				a, ps := start(st, context.Background())
				ps.send(&wire.RequestError{Code: wire.RequestExcessiveLoad, Retry: wire.Some[wire.Millis](0)})
				ps.fin()
				_, err := a.result("refused")
				if re := wantRequestError(st, "refused", err, wire.RequestExcessiveLoad); re.Retry != wire.Some(time.Duration(0)) {
					st.Errorf("retry %v", re.Retry)
				}
				ps.wantFIN("over")
				st.wantAlive("")
			})
			runSession(t, testSession{}, func(st *sessionTest) {
				ctx, cancel := context.WithCancel(st.Context())
				a, ps := start(st, ctx)
				cancel()
				if _, err := a.result("given up"); !errors.Is(err, context.Canceled) {
					st.Errorf("got %v", err)
				}
				ps.wantReset("given up", wire.StreamCancelled)
				ps.wantStopped("given up", wire.StreamCancelled)
			})
			runSession(t, testSession{}, func(st *sessionTest) {
				a, _ := start(st, context.Background())
				st.s.Close(wire.SessionNoError, "")
				if _, err := a.result("session ended"); err != ErrClosed {
					st.Errorf("got %v", err)
				}
			})
			runSession(t, testSession{}, func(st *sessionTest) {
				a, ps := start(st, context.Background())
				ps.reset(wire.StreamExcessiveLoad)
				var se *StreamError
				if _, err := a.result("reset"); !errors.As(err, &se) || se.Code != uint64(wire.StreamExcessiveLoad) {
					st.Errorf("got %v", err)
				}
				st.wantAlive("")
			})
			runSession(t, testSession{}, func(st *sessionTest) {
				a, ps := start(st, context.Background())
				ps.fin()
				if _, err := a.result("FIN"); err == nil {
					st.Error("no error")
				}
				st.wantAlive("")
			})
			runSession(t, testSession{}, func(st *sessionTest) {
				_, ps := start(st, context.Background())
				ps.sendHex("07 00")
				ps.fin()
				st.wantClose("FIN in the answer", wire.SessionProtocolViolation)
			})
			runSession(t, testSession{}, func(st *sessionTest) {
				_, ps := start(st, context.Background())
				ps.sendHex("07 00")
				time.Sleep(defaultMessageTimeout)
				st.wantClose("half an answer", wire.SessionControlMessageTimeout)
			})
			runSession(t, testSession{pipe: PipeConfig{MaxStreams: 1}}, func(st *sessionTest) {
				busy := background(st, func() (*Announcement, error) { return st.s.PublishNamespace(st.Context(), ns("y")) })
				busy.wantBlocked("not answered")
				ctx, cancel := context.WithTimeout(st.Context(), time.Second)
				defer cancel()
				if err := kind.do(ctx, st.s); !errors.Is(err, context.DeadlineExceeded) {
					st.Errorf("no stream is free: %v", err)
				}
			})
		})
	}
}

func TestQueue(t *testing.T) {
	var q queue[int]
	next, want := 0, 0
	for _, n := range []int{1, 1, 3, 2, 50, 1, 7} {
		for range n {
			q.push(next)
			next++
		}
		for range (n + 1) / 2 {
			if got := *q.front(); got != want || q.pop() != want {
				t.Fatalf("got %d, want %d", got, want)
			}
			want++
		}
		if q.len() != next-want {
			t.Fatalf("%d items, want %d", q.len(), next-want)
		}
	}
	for q.len() > 0 {
		if got := q.pop(); got != want {
			t.Fatalf("got %d, want %d", got, want)
		}
		want++
	}
	if n := testing.AllocsPerRun(100, func() { q.push(1); q.pop() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	for range 100_000 {
		q.push(1)
		q.push(1)
		q.pop()
		q.push(1)
		q.pop()
		q.pop()
	}
	if cap(q.items) > 256 {
		t.Errorf("room for %d items", cap(q.items))
	}
}

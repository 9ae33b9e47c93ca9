package moqt

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

func TestSetup(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		st.wantAlive("after SETUP")
		st.in.wantIdle("nothing else is said")
	})
}

// The exact bytes of the setup exchange.
func TestSetupBytes(t *testing.T) {
	cfg := Config{Authority: "example.net", Path: "/live?x=1"}
	runSession(t, testSession{raw: true, cfg: cfg}, func(st *sessionTest) {
		st.acceptUni().wantHex("client's SETUP", `af00 0020 01 09 "/live?x=1" 04 0b "example.net" 02 06 "moq-c4"`)
	})
	runSession(t, testSession{raw: true, server: true, cfg: cfg}, func(st *sessionTest) {
		st.acceptUni().wantHex("a server tells no path", `af00 0008 07 06 "moq-c4"`)
	})
	runSession(t, testSession{raw: true, cfg: cfg, pipe: PipeConfig{Transport: TransportWebTransport}}, func(st *sessionTest) {
		st.acceptUni().wantHex("WebTransport has told it before", `af00 0008 07 06 "moq-c4"`)
	})
}

func TestSetupPeer(t *testing.T) {
	ts := testSession{server: true, raw: true, pipe: PipeConfig{Authority: "a.example", Path: "/x"}}
	runSession(t, ts, func(st *sessionTest) {
		st.setup(`07 0b "moq-lite-js" c40b53 01`) // @moq/net 0.2.8, with an unknown option
		want := Peer{Implementation: "moq-lite-js", Authority: "a.example", Path: "/x"}
		if got := st.s.Peer(); got.Implementation != want.Implementation || got.Authority != want.Authority || got.Path != want.Path {
			st.Errorf("got %+v, want %+v", got, want)
		}
	})
}

func TestSetupInPieces(t *testing.T) {
	runSession(t, testSession{server: true, raw: true}, func(st *sessionTest) {
		s := st.openUni("af")
		for _, piece := range []string{"00", "00", "02", "07", "00"} {
			if st.s.isReady() {
				st.Fatalf("ready before %s", piece)
			}
			st.write(s, piece)
		}
		if !st.s.isReady() {
			st.Error("not ready")
		}
	})
}

func TestSetupViolations(t *testing.T) {
	refuse := func(authority, path string) error {
		switch {
		case path == "/private":
			return &SessionError{Code: wire.SessionUnauthorized, Reason: "no"}
		case authority == "wrong.example":
			return ErrInvalidAuthority
		}
		return errors.New("no such path")
	}
	wt := PipeConfig{Transport: TransportWebTransport}
	for _, tc := range []struct {
		name    string
		ts      testSession
		streams []string // unidirectional
		want    wire.SessionCode
	}{
		{"path from server", testSession{}, []string{`af00 0003 01 01 "/"`}, wire.SessionInvalidPath},
		{"authority from server", testSession{}, []string{`af00 0003 05 01 "a"`}, wire.SessionInvalidAuthority},
		{"path on WebTransport", testSession{server: true, pipe: wt}, []string{`af00 0003 01 01 "/"`}, wire.SessionInvalidPath},
		{"authority on WebTransport", testSession{server: true, pipe: wt}, []string{`af00 0003 05 01 "a"`}, wire.SessionInvalidAuthority},
		{"malformed path", testSession{server: true}, []string{`af00 0003 01 01 "x"`}, wire.SessionMalformedPath},
		{"malformed authority", testSession{server: true}, []string{`af00 0003 05 01 "/"`}, wire.SessionMalformedAuthority},
		{"unknown path", testSession{server: true, cfg: Config{CheckPath: refuse}}, []string{`af00 0003 01 01 "/"`}, wire.SessionInvalidPath},
		{"unknown authority", testSession{server: true, cfg: Config{CheckPath: refuse}}, []string{`af00 000f 05 0d "wrong.example"`}, wire.SessionInvalidAuthority},
		{"private path", testSession{server: true, cfg: Config{CheckPath: refuse}}, []string{`af00 000a 01 08 "/private"`}, wire.SessionUnauthorized},
		{"option is cut", testSession{}, []string{`af00 0002 07 05`}, wire.SessionKeyValueFormattingError},
		{"option is repeated", testSession{}, []string{`af00 0004 04 00 00 00`}, wire.SessionProtocolViolation},
		{"token alias", testSession{}, []string{`af00 0004 03 02 02 01`}, wire.SessionProtocolViolation},
		{"second SETUP", testSession{}, []string{`af00 0000 af00 0000`}, wire.SessionProtocolViolation},
		{"second control stream", testSession{}, []string{`af00 0000`, `af00 0000`}, wire.SessionProtocolViolation},
		{"request on control stream", testSession{}, []string{`af00 0000 50 0003 01 00 00`}, wire.SessionProtocolViolation},
		{"unknown message", testSession{}, []string{`af00 0000 3f 0000`}, wire.SessionProtocolViolation},
		{"unknown stream type", testSession{}, []string{`06`}, wire.SessionProtocolViolation},
		{"SETUP of draft 16", testSession{}, []string{`20 0003 01 02 20`}, wire.SessionProtocolViolation},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.ts.raw = true
			runSession(t, tc.ts, func(st *sessionTest) {
				for _, s := range tc.streams {
					st.openUni(s)
				}
				st.wantClose("", tc.want)
			})
		})
	}
}

// "A control stream MUST NOT be closed at the underlying transport layer during the session's lifetime. Doing so results
// in the session being closed as a PROTOCOL_VIOLATION."
// [MOQT-18] Section 3.3, Session initialization
func TestControlStreamEnds(t *testing.T) {
	beginnings := map[string]string{
		"in its type":         "af",
		"in the length":       "af00 00",
		"in SETUP":            "af00 0008 07",
		"after SETUP":         "af00 0000",
		"in a GOAWAY's type":  "af00 0000 10",
		"in a GOAWAY's body":  "af00 0000 10 0003 00",
		"after a GOAWAY":      "af00 0000 10 0003 00 00 00",
		"in a GOAWAY's frame": "af00 0000 10 00",
	}
	for name, sent := range beginnings {
		t.Run(name, func(t *testing.T) {
			runSession(t, testSession{raw: true}, func(st *sessionTest) {
				st.openUni(sent).Close()
				st.wantClose("FIN", wire.SessionProtocolViolation)
			})
			runSession(t, testSession{raw: true}, func(st *sessionTest) {
				st.openUni(sent).Reset(0)
				if sent == "af" { // it was not a control stream yet
					st.wantAlive("reset")
					return
				}
				st.wantClose("reset", wire.SessionProtocolViolation)
			})
		})
	}
	runSession(t, testSession{}, func(st *sessionTest) {
		st.in.stop(0)
		st.wantClose("STOP_SENDING", wire.SessionProtocolViolation)
	})
}

func TestSetupTimeout(t *testing.T) {
	runSession(t, testSession{server: true, raw: true}, func(st *sessionTest) {
		time.Sleep(defaultSetupTimeout - time.Millisecond)
		st.wantAlive("before its time")
		time.Sleep(time.Millisecond)
		st.wantClose("no SETUP", wire.SessionControlMessageTimeout)
	})
	runSession(t, testSession{server: true, raw: true, cfg: Config{SetupTimeout: time.Minute}}, func(st *sessionTest) {
		st.openUni("af00 0008 07")
		time.Sleep(defaultMessageTimeout)
		st.wantClose("half a SETUP", wire.SessionControlMessageTimeout)
	})
}

func TestUnknownVersion(t *testing.T) {
	runSession(t, testSession{raw: true, pipe: PipeConfig{Protocol: "moqt-99"}}, func(st *sessionTest) {
		st.wantClose("", wire.SessionVersionNegotiationFailed)
	})
}

func TestSessionEnds(t *testing.T) {
	wantCause := func(st *sessionTest, want any) {
		t.Helper()
		synctest.Wait()
		<-st.done
		cause := context.Cause(st.s.Context())
		if !errors.As(cause, want) {
			st.Errorf("cause is %v, want a %T", cause, want)
		}
		if st.err != cause {
			st.Errorf("Run returned %v, cause is %v", st.err, cause)
		}
	}
	runSession(t, testSession{}, func(st *sessionTest) {
		st.s.Close(wire.SessionNoError, "")
		st.wantClose("closed here", wire.SessionNoError)
		if cause := context.Cause(st.s.Context()); cause != ErrClosed {
			st.Errorf("cause is %v", cause)
		}
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		st.s.Close(wire.SessionInternalError, "oops")
		st.wantClose("closed here", wire.SessionInternalError)
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		st.peer.Close(uint64(wire.SessionNoError), "bye")
		synctest.Wait()
		<-st.done
		if st.err != nil || context.Cause(st.s.Context()) != ErrClosed {
			st.Errorf("Run returned %v, cause is %v", st.err, context.Cause(st.s.Context()))
		}
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		st.peer.Close(uint64(wire.SessionUnauthorized), "go away")
		var pe *PeerCloseError
		wantCause(st, &pe)
		if pe.Code != wire.SessionUnauthorized || pe.Reason != "go away" {
			st.Errorf("got %v", pe)
		}
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		st.conn.Lose(nil)
		var ce *ConnError
		wantCause(st, &ce)
	})
	synctest.Test(t, func(t *testing.T) {
		client, server := Pipe(PipeConfig{})
		ctx, cancel := context.WithCancel(t.Context())
		s := New(client, Config{})
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run returned %v", err)
		}
		var ce *ConnError
		if !errors.As(context.Cause(server.Context()), &ce) || ce.Code != 0 || !ce.App {
			t.Errorf("peer sees %v", context.Cause(server.Context()))
		}
		if err := s.Run(t.Context()); err == nil {
			t.Error("Run can be called twice")
		}
	})
}

// Everything that waits ends with the session.
func TestSessionEndWakesAll(t *testing.T) {
	runSession(t, testSession{raw: true}, func(st *sessionTest) {
		ready := background(st, func() (int, error) { return 0, st.s.Ready(context.Background()) })
		acc := background(st, func() (Request, error) { return st.s.Accept(context.Background()) })
		sub := background(st, func() (*Subscription, error) {
			return st.s.Subscribe(context.Background(), SubscribeRequest{Track: trackA})
		})
		ready.wantBlocked("not ready")
		acc.wantBlocked("no request")
		sub.wantBlocked("not ready")
		st.s.Close(wire.SessionNoError, "")
		for _, err := range []error{errOf(ready.result("Ready")), errOf(acc.result("Accept")), errOf(sub.result("Subscribe"))} {
			if err != ErrClosed {
				st.Errorf("got %v, want %v", err, ErrClosed)
			}
		}
	})
}

func errOf[T any](_ T, err error) error { return err }

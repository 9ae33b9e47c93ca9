package moqt

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// "Unidirectional streams containing Objects or bidirectional stream(s) beginning with a request message could arrive prior
// to the control streams, in which case the data SHOULD be buffered until both control streams arrive and setup is
// complete."
// [MOQT-18] Section 3.3, Session initialization
func TestStreamsBeforeSetup(t *testing.T) {
	runSession(t, testSession{server: true, raw: true}, func(st *sessionTest) {
		publish := st.request(&wire.Publish{Track: trackA, TrackAlias: 9})
		data := st.openUni(`70 09 00 | 00 01 "a"`)
		st.peer.SendDatagram(unhex(`0c 09 01 "b"`))
		st.wantNoRequest("SETUP is not there")
		// The time for an alias does not begin before SETUP.
		time.Sleep(defaultPendingTimeout + time.Second)
		wantNotStopped(st, "held", data)
		st.setup("")
		sub, err := accept[*IncomingPublish](st).Accept(wire.Params{})
		if err != nil {
			st.Fatal(err)
		}
		publish.message("REQUEST_OK")
		st.next(sub)
		if in, err := sub.Next(st.Context()); err != nil || in.Datagram == nil {
			st.Errorf("got %+v, %v", in, err)
		}
	})
	runSession(t, testSession{server: true, raw: true}, func(st *sessionTest) {
		data := st.openUni(`70 09 00 | 00 01 "a"`)
		st.setup("")
		time.Sleep(defaultPendingTimeout - time.Millisecond)
		wantNotStopped(st, "from SETUP on it has its time", data)
		time.Sleep(time.Millisecond)
		wantStopped(st, "over", data, wire.StreamCancelled)
	})
	runSession(t, testSession{server: true, raw: true, cfg: Config{PendingStreams: 2}}, func(st *sessionTest) {
		first := st.openUni(`70 09 00`)
		st.openUni(`70 09 01`)
		st.openUni(`70 09 02`)
		wantStopped(st, "bounded before SETUP, too", first, wire.StreamCancelled)
	})
	runSession(t, testSession{server: true, raw: true}, func(st *sessionTest) {
		ps := st.request(&wire.Subscribe{Track: trackA})
		st.openUni(`70 09 00`)
		time.Sleep(defaultSetupTimeout)
		st.wantClose("never SETUP", wire.SessionControlMessageTimeout)
		_ = ps
	})
	runSession(t, testSession{server: true, raw: true}, func(st *sessionTest) {
		ps := st.request(&wire.Subscribe{Track: trackA})
		ps.reset(wire.StreamCancelled)
		st.setup("")
		st.wantNoRequest("it was cancelled before SETUP")
	})
}

func TestMaxRequests(t *testing.T) {
	runSession(t, testSession{server: true, cfg: Config{MaxRequests: 2}}, func(st *sessionTest) {
		first := st.request(&wire.Subscribe{RequestID: 0, Track: trackA})
		accept[*IncomingSubscribe](st)
		st.request(&wire.Subscribe{RequestID: 2, Track: trackB})
		accept[*IncomingSubscribe](st)
		third := st.request(&wire.PublishNamespace{RequestID: 4})
		third.wantMessage("too many", &wire.RequestError{
			Code: wire.RequestExcessiveLoad, Reason: "too many open requests", Retry: wire.Some[wire.Millis](1000),
		})
		third.wantFIN("too many")
		third.wantStopped("too many", wire.StreamExcessiveLoad)
		first.stop(wire.StreamCancelled)
		st.request(&wire.PublishNamespace{RequestID: 6})
		accept[*IncomingPublishNamespace](st)
		if s := st.s.Stats(); s.RequestsReceived != 3 || s.RequestsRefused != 1 {
			st.Errorf("got %+v", s)
		}
	})
}

// Requests that the peer cancels before the application has taken them do not pile up.
func TestCancelledRequestsAreForgotten(t *testing.T) {
	runSession(t, testSession{server: true, cfg: Config{MaxRequests: 2}}, func(st *sessionTest) {
		for range 20 {
			ps := st.request(&wire.Subscribe{RequestID: st.peerID(), Track: trackA})
			synctest.Wait()
			ps.reset(wire.StreamCancelled)
			ps.stop(wire.StreamCancelled)
			synctest.Wait()
		}
		st.request(&wire.PublishNamespace{RequestID: st.peerID()})
		synctest.Wait()
		st.s.mu.Lock()
		waiting := len(st.s.incoming)
		st.s.mu.Unlock()
		if waiting > 4 {
			st.Errorf("%d requests wait, of which 1 is open", waiting)
		}
		accept[*IncomingPublishNamespace](st)
	})
}

// What a request stream must not begin with, and what it must not be.
func TestRequestGarbage(t *testing.T) {
	for name, tc := range map[string]struct {
		bytes string
		want  wire.SessionCode
	}{
		"unknown type":             {"3f 0000", wire.SessionProtocolViolation},
		"large unknown type":       {"ffffffffffffffffff", wire.SessionProtocolViolation},
		"CLIENT_SETUP":             {"20 0003 01 02 20", wire.SessionProtocolViolation},
		"SETUP":                    {"af00 0000", wire.SessionProtocolViolation},
		"an answer":                {"07 0001 00", wire.SessionProtocolViolation},
		"an update":                {"02 0002 00 00", wire.SessionProtocolViolation},
		"GOAWAY":                   {"10 0002 00 00", wire.SessionProtocolViolation},
		"PUBLISH_DONE":             {"0b 0003 00 00 00", wire.SessionProtocolViolation},
		"empty body":               {"03 0000", wire.SessionProtocolViolation},
		"body too short":           {"06 0002 00 01", wire.SessionProtocolViolation},
		"body too long":            {"06 0005 00 01 0161 00 00", wire.SessionProtocolViolation},
		"empty field":              {"06 0004 00 01 00 00", wire.SessionProtocolViolation},
		"33 fields":                {"06 0003 00 21 00", wire.SessionProtocolViolation},
		"huge number of fields":    {"06 000b 00 ffffffffffffffffff 00", wire.SessionProtocolViolation},
		"huge field":               {"06 000c 00 01 ffffffffffffffffff 00", wire.SessionProtocolViolation},
		"huge name":                {"03 000f 00 01 0161 ffffffffffffffffff 00 00", wire.SessionProtocolViolation},
		"huge parameter count":     {"06 000d 00 01 0161 ffffffffffffffffff", wire.SessionProtocolViolation},
		"huge parameter":           {"06 000f 00 01 0161 01 03 ffffffffffffffffff", wire.SessionProtocolViolation},
		"parameter out of place":   {"06 0007 00 01 0161 01 1001", wire.SessionProtocolViolation},
		"parameter twice":          {"03 000a 00 01 0161 00 02 1001 0001", wire.SessionProtocolViolation},
		"FORWARD 2":                {"03 0008 00 01 0161 00 01 1002", wire.SessionProtocolViolation},
		"GROUP_ORDER 3":            {"03 0008 00 01 0161 00 01 2203", wire.SessionProtocolViolation},
		"filter 5":                 {"03 0009 00 01 0161 00 01 210105", wire.SessionProtocolViolation},
		"moxygen's filter 250":     {"03 000a 00 01 0161 00 01 210280fa", wire.SessionProtocolViolation},
		"fetch type 4":             {"16 0003 00 04 00", wire.SessionProtocolViolation},
		"token":                    {"06 0007 00 01 0161 01 0300", wire.SessionKeyValueFormattingError},
		"property cut":             {"1d 0008 00 01 0161 00 09 00 02", wire.SessionKeyValueFormattingError},
		"property too long":        {"1d 000c 00 01 0161 00 09 00 01 c10000 00", wire.SessionProtocolViolation},
		"not its ids":              {"06 0005 01 01 0161 00", wire.SessionInvalidRequestID},
		"group order of a track":   {"1d 0009 00 01 0161 00 09 00 2203", wire.SessionProtocolViolation},
		"type of a later property": {"1d 0012 00 01 0161 00 09 00 0200 ffffffffffffffffff", wire.SessionProtocolViolation},
	} {
		t.Run(name, func(t *testing.T) {
			runSession(t, testSession{server: true}, func(st *sessionTest) {
				st.requestBytes(unhex(tc.bytes))
				st.wantClose("", tc.want)
			})
		})
	}
}

// Each way a request stream can end, at each point of its first message.
func TestRequestCut(t *testing.T) {
	whole := encode(t, &wire.Subscribe{Track: trackA, Params: wire.Params{SubscriberPriority: wire.Some[uint8](1)}})
	for n := range len(whole) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			runSession(t, testSession{server: true}, func(st *sessionTest) {
				ps := st.requestBytes(whole[:n])
				ps.fin()
				if n == 0 {
					st.wantAlive("a request without a byte is none")
					ps.wantReset("", wire.StreamCancelled)
					return
				}
				st.wantClose("FIN in a message", wire.SessionProtocolViolation)
			})
			runSession(t, testSession{server: true}, func(st *sessionTest) {
				ps := st.requestBytes(whole[:n])
				ps.reset(wire.StreamInternalError)
				st.wantAlive("a reset is no fault")
				ps.wantReset("", wire.StreamCancelled)
				if st.s.open != 0 || st.s.openPeer != 0 {
					st.Error("something is left")
				}
			})
			runSession(t, testSession{server: true}, func(st *sessionTest) {
				if n == 0 {
					return
				}
				st.requestBytes(whole[:n])
				time.Sleep(defaultMessageTimeout)
				st.wantClose("the rest never comes", wire.SessionControlMessageTimeout)
			})
		})
	}
	// A stream that is opened by a later one and says nothing.
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		silent, err := st.peer.OpenStream(st.Context())
		if err != nil {
			st.Fatal(err)
		}
		st.request(&wire.PublishNamespace{})
		accept[*IncomingPublishNamespace](st)
		time.Sleep(defaultMessageTimeout)
		wantStopped(st, "its time is over", silent.(*PipeStream), wire.StreamCancelled)
		st.wantAlive("that is all")
	})
	// A silent data stream.
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		for _, begin := range []string{"", "70", "70 80", "05", "05 80", "f0"} {
			s := st.openUni(begin)
			st.openUni("70 09 00").Reset(0) // makes it known
			time.Sleep(defaultMessageTimeout - time.Millisecond)
			wantNotStopped(st, "has its time", s)
			time.Sleep(time.Millisecond)
			wantStopped(st, "its time is over", s, wire.StreamCancelled)
		}
		if got := st.s.Stats().StreamsStalled; got != 6 {
			st.Errorf("%d stalled", got)
		}
		st.wantAlive("that is all")
	})
}

// Messages of one request may come in any pieces, and any number at once.
func TestRequestPieces(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		var all []byte
		all = append(all, encode(st, &wire.Subscribe{Track: trackA})...)
		for i := range uint64(20) {
			tokens := []wire.Token{{AliasType: wire.TokenUseValue, Value: bytes.Repeat([]byte("t"), int(i*500))}}
			all = append(all, encode(st, &wire.RequestUpdate{
				RequestID: 2 + 2*i, Params: wire.Params{SubscriberPriority: wire.Some(uint8(i)), AuthTokens: tokens},
			})...)
		}
		ps := st.requestBytes(all[:1])
		p := make(chan *Publication, 1)
		go func() {
			r, err := st.s.Accept(st.s.Context())
			if err != nil {
				return
			}
			pub, _ := r.(*IncomingSubscribe).Accept(AcceptSubscribe{})
			p <- pub
		}()
		for rest := all[1:]; len(rest) > 0; {
			n := min(len(rest), 777)
			ps.sendBytes(rest[:n])
			rest = rest[n:]
		}
		ps.wantMessage("", &wire.SubscribeOK{TrackAlias: 1})
		for range 20 {
			ps.wantMessage("", &wire.RequestOK{})
		}
		if got := (<-p).State().Priority; got != 19 {
			st.Errorf("priority %d", got)
		}
		if len(st.s.bigMessages) != 0 {
			st.Error("a long message is still held")
		}
	})
}

// Many long messages of which only a part has come are held only in small number, and none is lost.
func TestBigMessages(t *testing.T) {
	const n = 3 * maxBigMessages
	runSession(t, testSession{server: true, pipe: PipeConfig{StreamWindow: 100_000}}, func(st *sessionTest) {
		var streams []*peerStream
		var rest [][]byte
		for i := range uint64(n) {
			whole := encode(st, &wire.PublishNamespace{RequestID: 2 * i, Namespace: ns("x"), Params: wire.Params{
				AuthTokens: []wire.Token{{AliasType: wire.TokenUseValue, Value: make([]byte, 60_000)}},
			}})
			streams = append(streams, st.requestBytes(whole[:30_000]))
			rest = append(rest, whole[30_000:])
		}
		if got := len(st.s.bigMessages); got != maxBigMessages {
			st.Errorf("%d are read at once", got)
		}
		for i := n - 1; i >= 0; i-- {
			streams[i].sendBytes(rest[i])
		}
		for range n {
			accept[*IncomingPublishNamespace](st).Accept()
		}
		for _, ps := range streams {
			ps.wantMessage("", &wire.RequestOK{})
		}
	})
}

func TestPadding(t *testing.T) {
	runSession(t, testSession{}, func(st *sessionTest) {
		s := st.openUni(`f0132b3e28 000000`)
		for range 10 {
			s.Write(make([]byte, 60_000))
			synctest.Wait()
		}
		s.Close()
		st.openUni(`f0132b3e28 0000`).Reset(0)
		st.wantAlive("padding is thrown away")
		st.write(st.openUni(`f0132b3e28 0000`), `0001`)
		st.wantClose("padding must be zero", wire.SessionProtocolViolation)
	})
}

// One session's end does nothing to another.
func TestOtherSessionUnharmed(t *testing.T) {
	runSession(t, testSession{server: true}, func(good *sessionTest) {
		p, ps := good.subscribed(wire.Params{}, AcceptSubscribe{})
		w, err := p.OpenSubgroup(good.Context(), SubgroupHeader{})
		if err != nil {
			good.Fatal(err)
		}
		w.WriteObject(ObjectHeader{}, []byte("a"))
		for _, garbage := range []func(*sessionTest){
			func(st *sessionTest) { st.openUni("06") },
			func(st *sessionTest) { st.requestBytes([]byte{0x3f, 0, 0}) },
			func(st *sessionTest) { st.peer.SendDatagram([]byte{0x10}) },
			func(st *sessionTest) { st.out.Close() },
			func(st *sessionTest) { st.conn.Lose(nil) },
		} {
			client, server := Pipe(PipeConfig{})
			bad := &sessionTest{T: good.T, conn: server, peer: client, done: make(chan struct{}), s: New(server, Config{})}
			go func() {
				bad.err = bad.s.Run(context.Background())
				close(bad.done)
			}()
			bad.setup("")
			garbage(bad)
			synctest.Wait()
			<-bad.done
		}
		w.WriteObject(ObjectHeader{ID: 1}, []byte("b"))
		good.acceptUni().wantHex("nothing was lost", `30 01 00 | 00 01 "a" | 00 01 "b"`)
		ps.wantIdle("and nothing has happened")
	})
}

// A peer that takes nothing does not hold up the session for ever.
func TestRequestStreamBlocked(t *testing.T) {
	runSession(t, testSession{server: true, pipe: PipeConfig{StreamWindow: 50}}, func(st *sessionTest) {
		st.request(&wire.SubscribeNamespace{})
		req := accept[*IncomingSubscribeNamespace](st)
		req.Accept()
		announce := background(st, func() (int, error) {
			for i := 0; ; i++ {
				if err := req.Announce(ns("some namespace", fmt.Sprint(i))); err != nil {
					return i, err
				}
			}
		})
		announce.wantBlocked("no window")
		time.Sleep(defaultMessageTimeout)
		if _, err := announce.result("given up"); err == nil {
			st.Error("no error")
		}
		if req.Context().Err() == nil {
			st.Error("goes on")
		}
		st.wantAlive("only the request ends")
	})
}

func TestTokens(t *testing.T) {
	value := func(s string) wire.Token { return wire.Token{AliasType: wire.TokenUseValue, Type: 1, Value: []byte(s)} }
	register := func(alias uint64, s string) wire.Token {
		return wire.Token{AliasType: wire.TokenRegister, Alias: alias, Type: 1, Value: []byte(s)}
	}
	use := func(alias uint64) wire.Token { return wire.Token{AliasType: wire.TokenUseAlias, Alias: alias} }
	remove := func(alias uint64) wire.Token { return wire.Token{AliasType: wire.TokenDelete, Alias: alias} }
	ask := func(st *sessionTest, id uint64, tokens ...wire.Token) *peerStream {
		return st.request(&wire.PublishNamespace{RequestID: id, Params: wire.Params{AuthTokens: tokens}})
	}
	want := func(st *sessionTest, why string, tokens ...wire.Token) {
		st.Helper()
		if got := accept[*IncomingPublishNamespace](st).Tokens; fmt.Sprint(got) != fmt.Sprint(tokens) {
			st.Errorf("%s: got %v, want %v", why, got, tokens)
		}
	}
	runSession(t, testSession{server: true, raw: true, cfg: Config{AuthTokenCache: 40}}, func(st *sessionTest) {
		st.acceptUni().wantMessage("", &wire.Setup{
			Implementation: wire.Some("moq-c4"), MaxAuthTokenCacheSize: wire.Some[uint64](40),
		})
		// "... it MUST NOT fail the session with AUTH_TOKEN_CACHE_OVERFLOW. Instead, it MUST treat the option as Alias Type
		// USE_VALUE." [MOQT-18] Section 10.3.1.4, AUTHORIZATION TOKEN
		setup := encode(st, &wire.Setup{AuthTokens: []wire.Token{register(1, "abc"), register(2, "0123456789012345678901234")}})
		st.openUni(fmt.Sprintf("%x", setup))
		if got := st.s.Peer().Tokens; len(got) != 2 || string(got[0].Value) != "abc" || len(got[1].Value) != 25 {
			st.Errorf("got %v", got)
		}
		ask(st, 0, use(1), value("x"))
		want(st, "from SETUP", value("abc"), value("x"))
		if m, ok := ask(st, 2, use(2)).message("unknown").(*wire.RequestError); !ok || m.Code != wire.RequestMalformedAuthToken {
			st.Errorf("got %+v", m)
		}
		ask(st, 4, remove(1))
		want(st, "deleted")
		if m, ok := ask(st, 6, use(1)).message("unknown").(*wire.RequestError); !ok || m.Code != wire.RequestMalformedAuthToken {
			st.Errorf("got %+v", m)
		}
		ask(st, 8, register(1, "def"))
		want(st, "registered anew", value("def"))
		// "... MUST register the Token Alias, in the token cache, even if the message fails for other reasons ..."
		// [MOQT-18] Section 10.2.2, AUTHORIZATION TOKEN Parameter
		refused := st.request(&wire.PublishNamespace{
			RequestID: 10, Namespace: ns("."), Params: wire.Params{AuthTokens: []wire.Token{register(3, "g")}},
		})
		refused.message("REQUEST_ERROR")
		ask(st, 12, use(3))
		want(st, "registered all the same", value("g"))
		ask(st, 14, register(4, "too much now"))
		st.wantClose("", wire.SessionAuthTokenCacheOverflow)
	})
	runSession(t, testSession{server: true, cfg: Config{AuthTokenCache: 0}}, func(st *sessionTest) {
		ask(st, 0, register(1, ""))
		st.wantClose("no aliases allowed", wire.SessionAuthTokenCacheOverflow)
	})
	runSession(t, testSession{server: true, cfg: Config{AuthTokenCache: 100}, raw: true}, func(st *sessionTest) {
		st.openUni("af00 0000")
		ask(st, 0, register(1, "a"))
		want(st, "", value("a"))
		ask(st, 2, register(1, "a"))
		st.wantClose("twice", wire.SessionDuplicateAuthTokenAlias)
	})
}

// Sessions leave no memory behind: neither goroutines, see TestMain, nor what refers to them.
func TestSessionIsCollected(t *testing.T) {
	collected := make(chan struct{})
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		st.subscribed(wire.Params{}, AcceptSubscribe{})
		st.openUni(`70 09 00`)
		runtime.AddCleanup(st.s, func(c chan struct{}) { close(c) }, collected)
	})
	for range 100 {
		runtime.GC()
		select {
		case <-collected:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("the session is still there")
}

package moqt

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

const testVersion = wire.Draft18

// sessionTest runs a session against a peer that the test plays message by message.
type sessionTest struct {
	*testing.T
	s    *Session
	conn *PipeConn // the session's end
	peer *PipeConn // the test's end
	done chan struct{}
	err  error // of Run, once done is closed

	out *PipeStream // the peer's control stream
	in  *peerStream // the session's control stream
}

// testSession is how a session is to be made.
type testSession struct {
	server bool // the session is the server
	cfg    Config
	pipe   PipeConfig
	raw    bool // do not exchange SETUPs
}

// runSession runs f in virtual time. When f returns, the session must end by itself or be closed by the peer, and leave nothing behind.
func runSession(t *testing.T, ts testSession, f func(*sessionTest)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		client, server := Pipe(ts.pipe)
		st := &sessionTest{T: t, conn: client, peer: server, done: make(chan struct{})}
		if ts.server {
			st.conn, st.peer = server, client
		}
		st.s = New(st.conn, ts.cfg)
		go func() {
			st.err = st.s.Run(context.Background())
			close(st.done)
		}()
		defer func() {
			st.peer.Close(0, "")
			synctest.Wait()
			select {
			case <-st.done:
			default:
				t.Error("session did not end")
				st.conn.Lose(nil)
			}
			time.Sleep(time.Hour) // no timer may find anything to do
		}()
		if !ts.raw {
			st.setup("")
		}
		f(st)
	})
}

// setup exchanges SETUPs; options are those of the peer in hex.
func (st *sessionTest) setup(options string) {
	st.Helper()
	st.out = st.openUni(fmt.Sprintf("af00 %04x %s", len(unhex(options)), options))
	st.in = st.acceptUni()
	st.in.wantMessage("SETUP comes first", &wire.Setup{Implementation: wire.Some("moq-c4")})
	if err := st.s.Ready(st.Context()); err != nil {
		st.Fatalf("not ready: %v", err)
	}
}

// unhex decodes hex, which may hold spaces, bars, and quoted text.
func unhex(s string) []byte {
	var b []byte
	for i, part := range strings.Split(s, `"`) {
		if i%2 == 1 {
			b = append(b, part...)
			continue
		}
		d, err := hex.DecodeString(strings.NewReplacer(" ", "", "|", "", "\n", "", "\t", "").Replace(part))
		if err != nil {
			panic(fmt.Sprintf("%q: %v", part, err))
		}
		b = append(b, d...)
	}
	return b
}

// encode returns messages as bytes.
func encode(t testing.TB, msgs ...wire.Message) []byte {
	t.Helper()
	var b []byte
	for _, m := range msgs {
		var err error
		if b, err = wire.AppendMessage(b, m, testVersion); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// openUni opens a stream of the peer and writes to it.
func (st *sessionTest) openUni(hexBytes string) *PipeStream {
	st.Helper()
	s, err := st.peer.OpenUniStream(st.Context())
	if err != nil {
		st.Fatal(err)
	}
	st.write(s, hexBytes)
	return s.(*PipeStream)
}

func (st *sessionTest) write(s SendStream, hexBytes string) {
	st.Helper()
	if _, err := s.Write(unhex(hexBytes)); err != nil {
		st.Fatalf("write: %v", err)
	}
	synctest.Wait()
}

// request opens a request of the peer.
func (st *sessionTest) request(msgs ...wire.Message) *peerStream {
	st.Helper()
	return st.requestBytes(encode(st, msgs...))
}

func (st *sessionTest) requestBytes(b []byte) *peerStream {
	st.Helper()
	s, err := st.peer.OpenStream(st.Context())
	if err != nil {
		st.Fatal(err)
	}
	ps := &peerStream{st: st, s: s.(*PipeStream)}
	ps.sendBytes(b)
	return ps
}

// wantRequest takes the next request of the session.
func (st *sessionTest) wantRequest(why string, want wire.Message) *peerStream {
	st.Helper()
	ps := st.acceptStream()
	ps.wantMessage(why, want)
	return ps
}

func (st *sessionTest) acceptStream() *peerStream {
	st.Helper()
	synctest.Wait()
	ctx, cancel := context.WithTimeout(st.Context(), time.Millisecond)
	defer cancel()
	s, err := st.peer.AcceptStream(ctx)
	if err != nil {
		st.Fatalf("no request: %v", err)
	}
	return &peerStream{st: st, s: s.(*PipeStream)}
}

func (st *sessionTest) acceptUni() *peerStream {
	st.Helper()
	synctest.Wait()
	ctx, cancel := context.WithTimeout(st.Context(), time.Millisecond)
	defer cancel()
	s, err := st.peer.AcceptUniStream(ctx)
	if err != nil {
		st.Fatalf("no unidirectional stream: %v", err)
	}
	return &peerStream{st: st, s: s.(*PipeStream)}
}

// accept takes the next request from the session's side.
func accept[R Request](st *sessionTest) R {
	st.Helper()
	ctx, cancel := context.WithTimeout(st.Context(), time.Second)
	defer cancel()
	r, err := st.s.Accept(ctx)
	if err != nil {
		st.Fatalf("Accept: %v", err)
	}
	req, ok := r.(R)
	if !ok {
		st.Fatalf("got a %T, want %T", r, req)
	}
	return req
}

// wantNoRequest checks that nothing waits for Accept.
func (st *sessionTest) wantNoRequest(why string) {
	st.Helper()
	synctest.Wait()
	ctx, cancel := context.WithTimeout(st.Context(), time.Millisecond)
	defer cancel()
	if r, err := st.s.Accept(ctx); err == nil {
		st.Fatalf("%s: got %T", why, r)
	}
}

// wantClose checks that the session has closed the connection with code, and why.
func (st *sessionTest) wantClose(why string, code wire.SessionCode) {
	st.Helper()
	synctest.Wait()
	var ce *ConnError
	if err := context.Cause(st.peer.Context()); !errors.As(err, &ce) {
		st.Fatalf("%s: session is open, want it closed with %v", why, code)
	}
	if !ce.Remote || !ce.App || ce.Code != uint64(code) {
		st.Fatalf("%s: closed with %v %q (%v), want %v", why, wire.SessionCode(ce.Code), ce.Reason, ce, code)
	}
	select {
	case <-st.done:
	default:
		st.Fatalf("%s: Run goes on", why)
	}
	var se *SessionError
	switch {
	case code == wire.SessionNoError:
		if st.err != nil {
			st.Errorf("%s: Run returned %v", why, st.err)
		}
	case !errors.As(st.err, &se) || se.Code != code:
		st.Errorf("%s: Run returned %v, want %v", why, st.err, code)
	}
}

// wantAlive checks that the session goes on.
func (st *sessionTest) wantAlive(why string) {
	st.Helper()
	synctest.Wait()
	if err := context.Cause(st.s.Context()); err != nil {
		st.Fatalf("%s: session has ended: %v", why, err)
	}
}

// async runs f in the background. The result is fetched with get.
type async[T any] struct {
	st  *sessionTest
	ch  chan struct{}
	v   T
	err error
}

func background[T any](st *sessionTest, f func() (T, error)) *async[T] {
	a := &async[T]{st: st, ch: make(chan struct{})}
	go func() {
		a.v, a.err = f()
		close(a.ch)
	}()
	return a
}

// wantBlocked checks that f has not returned.
func (a *async[T]) wantBlocked(why string) {
	a.st.Helper()
	synctest.Wait()
	select {
	case <-a.ch:
		a.st.Fatalf("%s: returned %v, %v", why, a.v, a.err)
	default:
	}
}

// result returns what f has returned.
func (a *async[T]) result(why string) (T, error) {
	a.st.Helper()
	synctest.Wait()
	select {
	case <-a.ch:
	default:
		a.st.Fatalf("%s: has not returned", why)
	}
	return a.v, a.err
}

// ok returns what f has returned, which must not be an error.
func (a *async[T]) ok(why string) T {
	a.st.Helper()
	v, err := a.result(why)
	if err != nil {
		a.st.Fatalf("%s: %v", why, err)
	}
	return v
}

// peerStream is the peer's end of a stream.
type peerStream struct {
	st  *sessionTest
	s   *PipeStream
	buf []byte
}

func (ps *peerStream) send(msgs ...wire.Message) {
	ps.st.Helper()
	ps.sendBytes(encode(ps.st, msgs...))
}

func (ps *peerStream) sendHex(s string) {
	ps.st.Helper()
	ps.sendBytes(unhex(s))
}

func (ps *peerStream) sendBytes(b []byte) {
	ps.st.Helper()
	if len(b) > 0 {
		if _, err := ps.s.Write(b); err != nil {
			ps.st.Fatalf("write: %v", err)
		}
	}
	synctest.Wait()
}

func (ps *peerStream) fin() {
	ps.s.Close()
	synctest.Wait()
}

func (ps *peerStream) reset(code wire.StreamCode) {
	ps.s.Reset(uint64(code))
	synctest.Wait()
}

func (ps *peerStream) stop(code wire.StreamCode) {
	ps.s.Stop(uint64(code))
	synctest.Wait()
}

// poll reads what has arrived. The error is why no more will come, if anything.
func (ps *peerStream) poll() error {
	synctest.Wait()
	for {
		ps.s.SetReadDeadline(time.Now().Add(time.Nanosecond))
		b := make([]byte, 4096)
		n, err := ps.s.Read(b)
		ps.buf = append(ps.buf, b[:n]...)
		ps.s.SetReadDeadline(time.Time{})
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return nil
			}
			return err
		}
	}
}

// wantMessage checks the next message.
func (ps *peerStream) wantMessage(why string, want wire.Message) {
	ps.st.Helper()
	got := ps.message(why)
	if !reflect.DeepEqual(got, want) {
		ps.st.Fatalf("%s:\n got %v %+v\nwant %v %+v", why, got.Type(), got, want.Type(), want)
	}
}

// message returns the next message.
func (ps *peerStream) message(why string) wire.Message {
	ps.st.Helper()
	end := ps.poll()
	typ, body, n, err := wire.ConsumeFrame(ps.buf, testVersion)
	if err != nil {
		ps.st.Fatalf("%s: no message (%v) in %x, stream: %v", why, err, ps.buf, end)
	}
	m, err := wire.ParseMessage(typ, body, testVersion)
	if err != nil {
		ps.st.Fatalf("%s: %v", why, err)
	}
	ps.buf = ps.buf[n:]
	return m
}

// wantHex checks what has arrived byte by byte.
func (ps *peerStream) wantHex(why, want string) {
	ps.st.Helper()
	end := ps.poll()
	if !bytes.Equal(ps.buf, unhex(want)) {
		ps.st.Fatalf("%s:\n got %x (stream: %v)\nwant %x", why, ps.buf, end, unhex(want))
	}
	ps.buf = nil
}

// wantIdle checks that nothing has arrived and the stream is open.
func (ps *peerStream) wantIdle(why string) {
	ps.st.Helper()
	if err := ps.poll(); err != nil || len(ps.buf) > 0 {
		ps.st.Fatalf("%s: got %x, %v", why, ps.buf, err)
	}
}

// wantFIN checks that the session has finished the stream and nothing is left of it.
func (ps *peerStream) wantFIN(why string) {
	ps.st.Helper()
	if err := ps.poll(); err != io.EOF || len(ps.buf) > 0 {
		ps.st.Fatalf("%s: got %x, %v, want FIN", why, ps.buf, err)
	}
}

// wantReset checks that the session has reset the stream.
func (ps *peerStream) wantReset(why string, code wire.StreamCode) {
	ps.st.Helper()
	err := ps.poll()
	var se *StreamError
	if !errors.As(err, &se) || !se.Remote || se.Code != uint64(code) {
		ps.st.Fatalf("%s: got %x, %v, want reset %v", why, ps.buf, err, code)
	}
}

// wantStopped checks that the session wants no more of what the peer sends.
func (ps *peerStream) wantStopped(why string, code wire.StreamCode) {
	ps.st.Helper()
	wantStopped(ps.st, why, ps.s, code)
}

func wantStopped(st *sessionTest, why string, s *PipeStream, code wire.StreamCode) {
	st.Helper()
	synctest.Wait()
	_, err := s.Write(nil)
	var se *StreamError
	if !errors.As(err, &se) || !se.Remote || se.Code != uint64(code) {
		st.Fatalf("%s: got %v, want it stopped with %v", why, err, code)
	}
}

// wantNotStopped checks that the session still reads what the peer sends.
func wantNotStopped(st *sessionTest, why string, s *PipeStream) {
	st.Helper()
	synctest.Wait()
	if _, err := s.Write(nil); err != nil {
		st.Fatalf("%s: %v", why, err)
	}
}

// wantRequestError checks the error of a refused request.
func wantRequestError(t testing.TB, why string, err error, code wire.RequestCode) *RequestError {
	t.Helper()
	var re *RequestError
	if !errors.As(err, &re) || re.Code != code {
		t.Fatalf("%s: %v, want %v", why, err, code)
	}
	return re
}

var (
	trackA = wire.FullTrackName{Namespace: wire.MustNamespace("live", "a"), Name: "video"}
	trackB = wire.FullTrackName{Namespace: wire.MustNamespace("live", "b"), Name: "video"}
)

func largestAt(group, object uint64) func() (wire.Location, bool) {
	return func() (wire.Location, bool) { return wire.Location{Group: group, Object: object}, true }
}

func loc(group, object uint64) wire.Location { return wire.Location{Group: group, Object: object} }

package quicnet

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/moq-c4/moq-c4/moqt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var transports = []moqt.Transport{moqt.TransportQUIC, moqt.TransportWebTransport}

// forEach runs f for both transports.
func forEach(t *testing.T, f func(*testing.T, moqt.Transport)) {
	t.Helper()
	for _, tr := range transports {
		t.Run(string(tr), func(t *testing.T) { f(t, tr) })
	}
}

// testServer is a running listener with a development certificate.
type testServer struct {
	*Listener
	t    testing.TB
	cert CertificateSource
}

func startServer(t testing.TB, cfg ListenConfig) *testServer {
	t.Helper()
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:0"
	}
	if cfg.Certificate == nil {
		cert, err := NewDevCertificate(DevCertificateConfig{})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Certificate = cert
	}
	cfg.OnSmallBuffers = func(SmallBuffers) {}
	l, err := Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &testServer{l, t, cfg.Certificate}
	done := make(chan error, 1)
	go func() { done <- l.Run(context.Background()) }()
	t.Cleanup(func() {
		l.Close()
		if err := <-done; err != nil && !errors.Is(err, net.ErrClosed) {
			t.Errorf("Run: %v", err)
		}
	})
	return s
}

func scheme(tr moqt.Transport) string {
	if tr == moqt.TransportQUIC {
		return "moqt"
	}
	return "https"
}

func (s *testServer) url(tr moqt.Transport) string {
	return scheme(tr) + "://" + s.Addrs()[0].String() + "/app/path?a=b"
}

// dial connects with the certificate pinned unless cfg says otherwise. The session is closed at the test's end.
func (s *testServer) dial(tr moqt.Transport, cfg DialConfig) (moqt.Conn, error) {
	if cfg.Fingerprint == (Fingerprint{}) && !cfg.Insecure && cfg.RootCAs == nil {
		cfg.Fingerprint = s.cert.Fingerprint()
	}
	cfg.OnSmallBuffers = func(SmallBuffers) {}
	c, err := Dial(context.Background(), s.url(tr), cfg)
	if err == nil {
		s.t.Cleanup(func() { c.Close(0, "") })
	}
	return c, err
}

// connect makes a session.
func (s *testServer) connect(tr moqt.Transport, cfg DialConfig) (client, server moqt.Conn) {
	s.t.Helper()
	client, err := s.dial(tr, cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if server, err = s.Accept(ctx); err != nil {
		s.t.Fatal(err)
	}
	return client, server
}

// connectPair is the usual beginning of a test on loopback.
func connectPair(t testing.TB, tr moqt.Transport) (client, server moqt.Conn) {
	t.Helper()
	return startServer(t, ListenConfig{}).connect(tr, DialConfig{})
}

// bubble runs f in virtual time, once per transport, with a server on a network in memory that sends rate
// bytes per second (0: no limit) with a delay of 10 ms one way.
func bubble(t *testing.T, rate int, f func(*testing.T, moqt.Transport, *simNet)) {
	t.Helper()
	forEach(t, func(t *testing.T, tr moqt.Transport) {
		synctest.Test(t, func(t *testing.T) { f(t, tr, newSimNet(rate, 10*time.Millisecond)) })
	})
}

// uniPair opens a stream at from, writes one byte and accepts it at to.
func uniPair(t testing.TB, from, to moqt.Conn) (moqt.SendStream, moqt.ReceiveStream) {
	t.Helper()
	out, err := from.OpenUniStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out.SetPriority(0) // or it would not get through a flood
	if _, err := out.Write([]byte{'h'}); err != nil {
		t.Fatal(err)
	}
	in, err := to.AcceptUniStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(in, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return out, in
}

func wantStreamError(t testing.TB, why string, err error, want moqt.StreamError) {
	t.Helper()
	if se, ok := errors.AsType[*moqt.StreamError](err); !ok || *se != want {
		t.Errorf("%s: got %#v, want %#v", why, err, want)
	}
}

// wantConnError ignores Err.
func wantConnError(t testing.TB, why string, err error, want moqt.ConnError) {
	t.Helper()
	ce, ok := errors.AsType[*moqt.ConnError](err)
	if !ok || ce.Remote != want.Remote || ce.App != want.App || ce.Code != want.Code || ce.Reason != want.Reason {
		t.Errorf("%s: got %#v, want %#v", why, err, want)
	}
}

// ended waits for the connection's end and returns the reason.
func ended(t testing.TB, c moqt.Conn) error {
	t.Helper()
	select {
	case <-c.Context().Done():
		return context.Cause(c.Context())
	case <-time.After(30 * time.Second):
		t.Fatal("the connection does not end")
		return nil
	}
}

// eventually waits for what another goroutine will have done in a moment.
func eventually(t testing.TB, why string, ok func() bool) {
	t.Helper()
	for range 500 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("not in time: %s", why)
}

// logLines collects log messages.
type logLines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logLines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *logLines) count(message string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), message)
}

package quicnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
)

func TestListenErrors(t *testing.T) {
	cert, err := NewDevCertificate(DevCertificateConfig{})
	if err != nil {
		t.Fatal(err)
	}
	taken, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tt := range []struct {
		cfg  ListenConfig
		want string
	}{
		{ListenConfig{}, "Certificate is missing"},
		{ListenConfig{Certificate: cert, Addr: "4443"}, "want host:port or :port"},
		{ListenConfig{Certificate: cert, Addr: taken.LocalAddr().String()}, "address already in use"},
		{ListenConfig{Certificate: cert, AllowedOrigins: []string{"example.com"}}, "want scheme://host"},
		{ListenConfig{Certificate: cert, AllowedOrigins: []string{"https://example.com/page"}}, "want scheme://host"},
	} {
		if _, err := Listen(tt.cfg); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

// Run and Close in any order leave nothing behind.
func TestRunAndClose(t *testing.T) {
	cert, err := NewDevCertificate(DevCertificateConfig{})
	if err != nil {
		t.Fatal(err)
	}
	listen := func() *Listener {
		l, err := Listen(ListenConfig{Addr: "127.0.0.1:0", Certificate: cert})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := listen()
	l.Close()
	l.Close()
	if err := l.Run(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Run after Close: %v", err)
	}
	if _, err := l.Accept(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after Close: %v", err)
	}

	l = listen()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	if _, err := l.Accept(canceled()); !errors.Is(err, context.Canceled) {
		t.Errorf("Accept: %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
	if pc, err := net.ListenPacket("udp4", l.Addrs()[0].String()); err != nil {
		t.Errorf("the port is not free: %v", err)
	} else {
		pc.Close()
	}

	l = listen()
	go func() { done <- l.Run(t.Context()) }()
	for running := false; !running; {
		l.mu.Lock()
		running = l.running
		l.mu.Unlock()
	}
	if err := l.Run(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("second Run: %v", err)
	}
	l.sockets[0].Close()
	if err := <-done; err == nil {
		t.Error("no error although the socket failed")
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// A closing listener tells every peer at once, accepted or not.
func TestListenerClose(t *testing.T) {
	forEach(t, func(t *testing.T, tr moqt.Transport) {
		s := startServer(t, ListenConfig{})
		client, server := s.connect(tr, DialConfig{})
		waiting, err := s.dial(tr, DialConfig{})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		s.Close()
		remote := moqt.ConnError{Remote: true, App: true, Reason: "server is stopping"}
		wantConnError(t, "client", ended(t, client), remote)
		wantConnError(t, "client that was not accepted", ended(t, waiting), remote)
		wantConnError(t, "server", ended(t, server), moqt.ConnError{App: true, Reason: "server is stopping"})
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("took %v", d)
		}
		eventually(t, "nothing is counted as live", func() bool {
			st := s.Stats()
			return st.QUICLive+st.WebTransportLive+st.Pending == 0
		})
	})
}

// So does it with one whose handshake is complete only on the client's side.
func TestListenerCloseDuringSetup(t *testing.T) {
	bubble(t, 0, func(t *testing.T, tr moqt.Transport, n *simNet) {
		tc := TransportConfig{socket: n.socket}
		s := startServer(t, ListenConfig{TransportConfig: tc})
		synctest.Wait()
		client, err := s.dial(tr, DialConfig{TransportConfig: tc})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		s.Close()
		wantConnError(t, "client", ended(t, client), moqt.ConnError{Remote: true, App: true, Reason: stoppingReason})
		if d := time.Since(start); d > 200*time.Millisecond {
			t.Errorf("took %v", d)
		}
	})
}

func TestStats(t *testing.T) {
	s := startServer(t, ListenConfig{})
	for _, tr := range transports {
		s.connect(tr, DialConfig{})
		c, _ := s.connect(tr, DialConfig{})
		c.Close(0, "")
	}
	want := Stats{
		HandshakesOK: 4, QUICSessions: 2, WebTransportSessions: 2, QUICLive: 1, WebTransportLive: 1,
		UnscheduledStreams: unscheduledStreams.Load(),
	}
	eventually(t, fmt.Sprintf("%+v", want), func() bool { return s.Stats() == want })
	if t.Failed() {
		t.Logf("got %+v", s.Stats())
	}
}

// Many sessions at once, closed by either side at any time.
func TestChurn(t *testing.T) {
	s := startServer(t, ListenConfig{})
	go func() {
		for {
			c, err := s.Accept(context.Background())
			if err != nil {
				return
			}
			go func() {
				for {
					st, err := c.AcceptStream(context.Background())
					if err != nil {
						return
					}
					b, err := io.ReadAll(st)
					if err != nil {
						return
					}
					if string(b) == "close" {
						c.Close(7, "as you like")
						return
					}
					st.Write(b)
					st.Close()
				}
			}()
		}
	}()
	const dials, parallel = 40, 8
	slots := make(chan struct{}, parallel)
	var wg sync.WaitGroup
	for i := range dials {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			c, err := s.dial(transports[i%2], DialConfig{})
			if err != nil {
				t.Error(err)
				return
			}
			word := "hello"
			if i%4 >= 2 {
				word = "close"
			}
			st, err := c.OpenStream(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			st.Write([]byte(word))
			st.Close()
			b, err := io.ReadAll(st)
			if word == "hello" && (string(b) != word || err != nil) {
				t.Errorf("got %q, %v", b, err)
			}
			if word == "close" {
				wantConnError(t, "closed by the server", ended(t, c), moqt.ConnError{Remote: true, App: true, Code: 7, Reason: "as you like"})
			}
			c.Close(0, "")
		})
	}
	wg.Wait()
}

// A session's streams leave nothing behind, however they end.
func TestStreamsLeaveNothing(t *testing.T) {
	bubble(t, 0, func(t *testing.T, tr moqt.Transport, n *simNet) {
		client, server := simPair(t, tr, n, nil)
		go func() {
			for i := 0; ; i++ {
				in, err := client.AcceptUniStream(context.Background())
				if err != nil {
					return
				}
				if i%4 == 3 {
					in.Stop(1)
					continue
				}
				io.Copy(io.Discard, in)
			}
		}()
		cycle := func(streams int) {
			for i := range streams {
				out, err := server.OpenUniStream(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				out.Write([]byte("header"))
				out.SetReliableBoundary()
				out.Write(make([]byte, 1000))
				if i%4 == 1 {
					out.Reset(1)
				} else {
					out.Close()
				}
				if i%10 == 9 { // few at once: what a burst leaves in pools and slices would drown the rest
					time.Sleep(100 * time.Millisecond)
				}
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		cycle(500)
		before := heap()
		cycle(2000)
		grown := heap() - before
		t.Logf("2000 streams: heap grew by %d bytes", grown)
		// Not even the smallest struct of each may stay.
		if grown > 2000*48 {
			t.Errorf("heap grew by %d bytes over 2000 streams", grown)
		}
	})
}

// heap is the live heap in bytes, without what pools keep.
func heap() int64 {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Sessions leave nothing behind.
func TestSessionsLeaveNothing(t *testing.T) {
	forEach(t, func(t *testing.T, tr moqt.Transport) {
		s := startServer(t, ListenConfig{})
		cycle := func() {
			for range 10 {
				c, err := Dial(t.Context(), s.url(tr), DialConfig{Insecure: true, TransportConfig: TransportConfig{OnSmallBuffers: func(SmallBuffers) {}}})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.Accept(t.Context()); err != nil {
					t.Fatal(err)
				}
				c.Close(0, "")
			}
		}
		cycle()
		goroutines := runtime.NumGoroutine()
		cycle()
		eventually(t, "goroutines end with their sessions", func() bool { return runtime.NumGoroutine() <= goroutines+2 })
		s.mu.Lock()
		defer s.mu.Unlock()
		if n := len(s.sessions); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
	})
}

func TestQLog(t *testing.T) {
	forEach(t, func(t *testing.T, tr moqt.Transport) {
		dir := t.TempDir()
		s := startServer(t, ListenConfig{TransportConfig: TransportConfig{QLogDir: dir}})
		client, server := s.connect(tr, DialConfig{TransportConfig: TransportConfig{QLogDir: dir}})
		uniPair(t, client, server)
		client.Close(0, "bye")
		ended(t, server)
		for _, side := range []string{"client", "server"} {
			eventually(t, "complete qlog of the "+side, func() bool { // written after the connection's end
				files, _ := filepath.Glob(filepath.Join(dir, "*_"+side+".sqlog"))
				if len(files) != 1 {
					return false
				}
				b, _ := os.ReadFile(files[0])
				return strings.Contains(string(b), "transport:packet_sent") && strings.Contains(string(b), "connection_closed")
			})
		}
	})
}

func TestChooseProtocol(t *testing.T) {
	ours := []string{"moqt-18", "moqt-16"}
	for _, tt := range []struct {
		header []string
		want   string
	}{
		{nil, ""},
		{[]string{`"moqt-18"`}, "moqt-18"},
		{[]string{`"moqt-16", "moqt-18"`}, "moqt-18"},
		{[]string{`"moqt-16"`, `"moqt-18"`}, "moqt-18"},
		{[]string{`"moqt-19", "moqt-16";q=1`}, "moqt-16"},
		{[]string{`"moqt-19"`}, ""},
		{[]string{`moqt-18`}, ""},
		{[]string{`"moqt-18`}, ""},
		{[]string{`("moqt-18")`}, ""},
		{[]string{`18`}, ""},
	} {
		if got := chooseProtocol(tt.header, ours); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.header, got, tt.want)
		}
		h := http.Header{headerProtocols: tt.header}
		preferProtocol(h, ours)
		if got := h.Get(headerProtocols); tt.want == "" && got != "" || tt.want != "" && got != fmt.Sprintf("%q", tt.want) {
			t.Errorf("%q: left %q", tt.header, got)
		}
	}
}

func TestOrigins(t *testing.T) {
	origins, err := parseOrigins([]string{"https://a.example", "http://localhost:8099"})
	if err != nil {
		t.Fatal(err)
	}
	l := &Listener{origins: origins}
	for origin, want := range map[string]bool{
		"": true, "https://a.example": true, "HTTPS://A.example": true, "http://localhost:8099": true,
		"http://a.example": false, "https://a.example:444": false, "https://b.a.example": false, "http://localhost": false, "null": false,
	} {
		if got := l.originAllowed(origin); got != want {
			t.Errorf("%q: got %v", origin, got)
		}
	}
	if open := (&Listener{}); !open.originAllowed("https://any.example") || !open.originAllowed("null") {
		t.Error("without a list, some are refused")
	}
}

func FuzzChooseProtocol(f *testing.F) {
	f.Add(`"moqt-19", "moqt-16";q=1`)
	f.Add(`("moqt-18" 1.5), ?1, :YWJj:`)
	f.Add(``)
	f.Fuzz(func(t *testing.T, header string) {
		switch got := chooseProtocol([]string{header}, []string{"moqt-18", "moqt-16"}); got {
		case "", "moqt-18", "moqt-16":
		default:
			t.Errorf("%q: got %q", header, got)
		}
	})
}

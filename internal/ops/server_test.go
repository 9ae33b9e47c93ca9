package ops

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startServer runs a server on a free port of this machine and returns its base
// URL and a function that stops it and returns what Run returned.
func startServer(t *testing.T, cfg ServerConfig, pages ...func(*Server)) (url string, stop func() error) {
	t.Helper()
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:0"
	}
	s, err := Listen(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, add := range pages {
		add(s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		http.DefaultClient.CloseIdleConnections()
		return <-ended
	}
	t.Cleanup(func() { stop() })
	_, port, err := net.SplitHostPort(s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return "http://127.0.0.1:" + port, stop
}

func get(t *testing.T, url string, header ...string) (status int, contentType, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(header) == 2 {
		req.Header.Set(header[0], header[1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Content-Type"), string(text)
}

func TestHealthAndReady(t *testing.T) {
	reason := make(chan error, 3)
	reason <- errors.New("draining")
	reason <- nil
	url, stop := startServer(t, ServerConfig{Ready: func() error { return <-reason }})
	for _, test := range []struct {
		path   string
		status int
		body   string
	}{
		{"/healthz", 200, "ok\n"},
		{"/readyz", 503, "not ready: draining\n"},
		{"/readyz", 200, "ready\n"},
		{"/metrics", 404, "404 page not found\n"}, // no registry
		{"/", 404, "404 page not found\n"},
	} {
		status, _, body := get(t, url+test.path)
		if status != test.status || body != test.body {
			t.Errorf("%s: got %d %q, want %d %q", test.path, status, body, test.status, test.body)
		}
	}
	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestMetricsFormats(t *testing.T) {
	url, _ := startServer(t, ServerConfig{Registry: NewRegistry(testBuild)})
	for _, test := range []struct{ accept, contentType, end string }{
		{"", "text/plain", "\n"},
		{"application/openmetrics-text; version=1.0.0", "application/openmetrics-text", "# EOF\n"},
	} {
		status, contentType, body := get(t, url+"/metrics", "Accept", test.accept)
		if status != 200 || !strings.HasPrefix(contentType, test.contentType) || !strings.HasSuffix(body, test.end) {
			t.Errorf("Accept %q: got %d %q", test.accept, status, contentType)
		}
		for _, name := range []string{"moq_build_info{", "go_goroutines", "process_resident_memory_bytes"} {
			if !strings.Contains(body, "\n"+name) {
				t.Errorf("Accept %q: %s is missing", test.accept, name)
			}
		}
	}
}

func TestPprofOnLoopbackOnly(t *testing.T) {
	for _, test := range []struct {
		cfg  ServerConfig
		want int
	}{
		{ServerConfig{}, 200},
		{ServerConfig{Addr: "0.0.0.0:0"}, 404},
		{ServerConfig{Addr: "0.0.0.0:0", PublicPprof: true}, 200},
	} {
		url, _ := startServer(t, test.cfg)
		if status, _, _ := get(t, url+"/debug/pprof/goroutine?debug=1"); status != test.want {
			t.Errorf("%+v: got %d, want %d", test.cfg, status, test.want)
		}
	}
}

func TestAddressInUse(t *testing.T) {
	s, err := Listen(t.Context(), ServerConfig{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := Listen(t.Context(), ServerConfig{Addr: s.Addr().String()}); err == nil || !strings.Contains(err.Error(), s.Addr().String()) {
		t.Errorf("got error %v, want one that names %s", err, s.Addr())
	}
}

// A stopping server lets open requests end.
func TestRunDrains(t *testing.T) {
	started, finish := make(chan bool), make(chan bool)
	url, stop := startServer(t, ServerConfig{DrainTimeout: time.Minute}, func(s *Server) {
		s.Handle("GET /slow", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			close(started)
			<-finish
			plain(w, 200, "done")
		}))
	})
	type answer struct {
		status int
		body   string
	}
	answered := make(chan answer)
	go func() {
		status, _, body := get(t, url+"/slow")
		answered <- answer{status, body}
	}()
	<-started
	stopped := make(chan error)
	go func() { stopped <- stop() }()
	for { // until nothing more is accepted
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			break
		}
		conn.Close()
	}
	select {
	case <-stopped:
		t.Fatal("Run returned while a request was open")
	default:
	}
	close(finish)
	if got := <-answered; got != (answer{200, "done\n"}) {
		t.Errorf("got %+v", got)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Run: %v", err)
	}
}

// A request that does not end is cut off when the drain time is over.
func TestRunCutsOff(t *testing.T) {
	started := make(chan bool)
	url, stop := startServer(t, ServerConfig{DrainTimeout: time.Nanosecond}, func(s *Server) {
		s.Handle("GET /stuck", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(started)
			<-r.Context().Done() // ends when the connection is closed
		}))
	})
	failed := make(chan error)
	go func() {
		resp, err := http.Get(url + "/stuck")
		if err == nil {
			resp.Body.Close()
		}
		failed <- err
	}()
	<-started
	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	if <-failed == nil {
		t.Error("the request was answered")
	}
}

func TestRunReportsFailure(t *testing.T) {
	s, err := Listen(t.Context(), ServerConfig{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := s.Run(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want net.ErrClosed", err)
	}
}

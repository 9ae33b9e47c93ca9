package ops

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// DefaultAddr is where a server listens by default: this machine only.
const DefaultAddr = "127.0.0.1:9464"

// Bounds on what a client of the server may hold.
const (
	readHeaderTimeout = 5 * time.Second
	idleTimeout       = time.Minute
	maxHeaderBytes    = 16 << 10
)

// A ServerConfig configures a [Server].
type ServerConfig struct {
	// Addr is host:port; port 0 takes a free one. Default [DefaultAddr].
	Addr string

	// Registry is what /metrics shows. Default: there is no /metrics.
	Registry *Registry

	// Ready says why the process should get no new work, or nil if it should.
	// It is called by several goroutines at once. Default: always nil.
	Ready func() error

	// PublicPprof serves profiles on an address that others can reach, too.
	// They cost CPU and show the program's inside. Default: on loopback only.
	PublicPprof bool

	// DrainTimeout bounds the wait for open requests when the server stops.
	// Default 2 s.
	DrainTimeout time.Duration

	// Logger is told where the server listens. Default: discard.
	Logger *slog.Logger
}

// A Server serves the operator's side of a process over HTTP:
//
//	/healthz       200 while the process runs
//	/readyz        200, or 503 and why while it should get no new work
//	/metrics       Prometheus or OpenMetrics, as the client asks
//	/debug/pprof/  profiles
//
// [Listen] opens its socket, Run serves and waits for every goroutine it starts.
type Server struct {
	ln           net.Listener
	mux          *http.ServeMux
	http         *http.Server
	drainTimeout time.Duration
	log          *slog.Logger
}

// Listen opens the server's socket, so that a wrong address is known at once.
// Call Run next, or Close.
func Listen(ctx context.Context, cfg ServerConfig) (*Server, error) {
	if cfg.Addr == "" {
		cfg.Addr = DefaultAddr
	}
	if cfg.Ready == nil {
		cfg.Ready = func() error { return nil }
	}
	if cfg.DrainTimeout == 0 {
		cfg.DrainTimeout = 2 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}

	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("metrics and health: %w", err)
	}

	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		plain(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := cfg.Ready(); err != nil {
			plain(w, http.StatusServiceUnavailable, "not ready: "+err.Error())
			return
		}
		plain(w, http.StatusOK, "ready")
	})
	if cfg.Registry != nil {
		mux.Handle("GET /metrics", promhttp.HandlerFor(cfg.Registry.reg, promhttp.HandlerOpts{
			EnableOpenMetrics: true,
			ErrorLog:          slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelError),
		}))
	}
	if cfg.PublicPprof || isLoopback(ln.Addr()) {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}

	return &Server{
		ln:  ln,
		mux: mux,
		http: &http.Server{
			Handler:           guard(ln.Addr(), mux),
			ReadHeaderTimeout: readHeaderTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeaderBytes,
			ErrorLog:          slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug),
		},
		drainTimeout: cfg.DrainTimeout,
		log:          cfg.Logger,
	}, nil
}

// Addr is the address that the server listens on.
func (s *Server) Addr() net.Addr { return s.ln.Addr() }

// Handle adds a page. Call it before Run; pattern is that of [http.ServeMux].
func (s *Server) Handle(pattern string, h http.Handler) { s.mux.Handle(pattern, h) }

// Run serves until ctx ends, then accepts nothing more, waits for the open
// requests for up to DrainTimeout and cuts off the rest. It returns nil then, or
// the error that kept it from serving.
func (s *Server) Run(ctx context.Context) error {
	s.log.Info("metrics and health served", "addr", s.Addr().String())
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(s.ln) }()

	select {
	case err := <-served:
		return fmt.Errorf("metrics and health: %w", errors.Join(err, s.http.Close()))
	case <-ctx.Done():
	}

	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.drainTimeout)
	defer cancel()
	if err := s.http.Shutdown(drain); err != nil {
		s.http.Close()
	}
	<-served
	return nil
}

// Close gives the socket back if Run was never called.
func (s *Server) Close() error { return s.ln.Close() }

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}

// isLoopback reports whether only this machine can reach addr.
func isLoopback(addr net.Addr) bool {
	ap, err := netip.ParseAddrPort(addr.String())
	return err == nil && ap.Addr().IsLoopback()
}

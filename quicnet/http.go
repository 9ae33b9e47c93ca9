package quicnet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// HTTPServer serves plain HTTP on TCP.
type HTTPServer struct {
	listeners []net.Listener
	srv       *http.Server
}

// ListenHTTP binds TCP on the addresses of a [Listener], with the same port numbers: there a page
// looks for the certificate's hash. log may be nil.
func ListenHTTP(addrs []net.Addr, h http.Handler, log *slog.Logger) (*HTTPServer, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &HTTPServer{srv: &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}
	for _, a := range addrs {
		ln, err := net.Listen("tcp", a.String())
		if err != nil {
			s.closeListeners()
			return nil, fmt.Errorf("plain HTTP beside UDP: %w", err)
		}
		s.listeners = append(s.listeners, ln)
	}
	return s, nil
}

// Run serves until ctx ends, lets requests that are being answered finish within a second, and returns nil then.
func (s *HTTPServer) Run(ctx context.Context) error {
	failed := make(chan error, len(s.listeners))
	for _, ln := range s.listeners {
		go func() { failed <- s.srv.Serve(ln) }()
	}
	var err error
	running := len(s.listeners)
	select {
	case <-ctx.Done():
	case err = <-failed:
		running--
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if s.srv.Shutdown(stop) != nil {
		s.srv.Close()
	}
	for range running {
		<-failed
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Close frees the port of a server that does not run.
func (s *HTTPServer) Close() error {
	s.closeListeners()
	return s.srv.Close()
}

func (s *HTTPServer) closeListeners() {
	for _, ln := range s.listeners {
		ln.Close()
	}
}

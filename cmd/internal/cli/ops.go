package cli

import (
	"context"
	"flag"
	"log/slog"

	"github.com/moq-c4/moq-c4/internal/ops"
)

// OpsFlag is the flag --ops of a command that is measured only if that is asked for.
type OpsFlag struct{ addr string }

// AddFlags registers the flag.
func (f *OpsFlag) AddFlags(fs *flag.FlagSet) {
	fs.StringVar(&f.addr, "ops", "off", "`address` of metrics, health and profiles, as "+ops.DefaultAddr+"; \"off\" for none")
}

// Registry returns what the command's metrics go to, nil if there are none.
func (f *OpsFlag) Registry() *ops.Registry {
	if f.addr == "off" {
		return nil
	}
	return ops.NewRegistry(ops.ReadBuild())
}

// Serve serves the metrics until ctx ends. The socket is open when it returns; wait waits for the end. Without
// a registry it does nothing.
func (f *OpsFlag) Serve(ctx context.Context, reg *ops.Registry, log *slog.Logger) (wait func(), err error) {
	if reg == nil {
		return func() {}, nil
	}
	s, err := ops.Listen(ctx, ops.ServerConfig{Addr: f.addr, Registry: reg, Logger: log})
	if err != nil {
		return nil, Usage("--ops %s: %w", f.addr, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Run(ctx); err != nil {
			log.Warn("metrics are no longer served", "error", err)
		}
	}()
	return func() { <-done }, nil
}

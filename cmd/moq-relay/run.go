package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/internal/ops"
	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/quicnet"
	"github.com/moq-c4/moq-c4/quicnet/ackwatch"
	"github.com/moq-c4/moq-c4/relay"
	"github.com/moq-c4/moq-c4/web"
)

// run is the whole command.
func run(ctx context.Context, env cli.Env) error {
	if len(env.Args) > 0 && env.Args[0] == "status" {
		env.Args = env.Args[1:]
		return runStatus(ctx, env)
	}
	return runUntil(ctx, env, func(*process) {})
}

// runUntil runs a relay until ctx ends. started is called when its sockets are open.
func runUntil(ctx context.Context, env cli.Env, started func(*process)) error {
	f, err := parseFlags(env)
	if err != nil {
		return err
	}
	log, level, err := f.log.NewLogger(env.Stderr)
	if err != nil {
		return cli.Usage("%w", err)
	}
	p, err := newProcess(ctx, f, log)
	if err != nil {
		return err
	}
	ctx, drain := context.WithCancel(ctx)
	defer drain()
	if p.ops != nil {
		p.history = newHistory(p)
		a := &admin{process: p, level: level, began: time.Now(), history: p.history, drain: drain}
		a.handle(p.ops)
	}
	started(p)
	return p.run(ctx)
}

// process is a relay with everything around it. Its parts are wired in newProcess and run in run.
type process struct {
	flags    *flags
	log      *slog.Logger
	relay    *relay.Relay
	listener *quicnet.Listener
	pages    *quicnet.HTTPServer
	cert     quicnet.CertificateSource
	renew    func(context.Context) error // keeps the certificate fresh

	certReady func() error // says why there is no certificate yet; nil if there always is one
	closeCert func()       // if renew was not called; may be nil

	qlogs    *quicnet.QLogs // nil without --qlog
	measure  *instruments   // nil with --ops off
	history  *ops.History   // nil with --ops off
	ops      *ops.Server    // nil with --ops off
	draining chan struct{}
}

func newProcess(ctx context.Context, f *flags, log *slog.Logger) (_ *process, err error) {
	p := &process{flags: f, log: log, draining: make(chan struct{})}
	if err := p.loadCertificate(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && p.closeCert != nil {
			p.closeCert()
		}
	}()
	f.relay.Logger = log
	var acks *ackwatch.Sampler
	if f.ops != "off" {
		p.measure = newInstruments(ops.ReadBuild())
		p.measure.attach(&f.relay, f.deliverySample)
		acks = p.measure.acks
	}
	p.relay = relay.New(f.relay)

	if f.qlog != "" {
		if p.qlogs, err = quicnet.NewQLogs(f.qlog, f.qlogBytes, log); err != nil {
			return nil, cli.Usage("--qlog: %w", err)
		}
		p.qlogs.SetEvery(f.qlogEvery)
	}
	transport := quicnet.TransportConfig{QLogs: p.qlogs, Logger: log, OnSmallBuffers: p.smallBuffers, Acks: acks}
	if err := f.cc.Configure(&transport); err != nil {
		return nil, err
	}
	p.listener, err = quicnet.Listen(quicnet.ListenConfig{
		TransportConfig: transport,
		Addr:            f.listen,
		Certificate:     p.cert,
		AllowedOrigins:  list(f.origins),
	})
	if err != nil {
		return nil, cli.Usage("--listen %s: %w", f.listen, err)
	}
	mux := http.NewServeMux()
	mux.Handle("/certificate.sha256", quicnet.CertificateHandler(p.cert))
	mux.Handle("/", web.Handler())
	if p.pages, err = quicnet.ListenHTTP(p.listener.Addrs(), mux, log); err != nil {
		p.listener.Close()
		return nil, cli.Usage("--listen %s: %w", f.listen, err)
	}
	if f.ops != "off" {
		p.measure.export(p.relay, p.listener, f.trackMetrics)
		if p.ops, err = ops.Listen(ctx, ops.ServerConfig{Addr: f.ops, Registry: p.measure.reg, Ready: p.ready, Logger: log}); err != nil {
			p.listener.Close()
			p.pages.Close()
			return nil, cli.Usage("--ops %s: %w", f.ops, err)
		}
	}
	return p, nil
}

func (p *process) loadCertificate() error {
	if p.flags.acme.domains != "" {
		c, err := newACMECertificate(p.flags.acme, p.log)
		if err != nil {
			return err
		}
		p.cert, p.renew, p.certReady, p.closeCert = c, c.Run, c.ready, c.close
		return nil
	}
	if p.flags.cert == "" {
		c, err := quicnet.NewDevCertificate(quicnet.DevCertificateConfig{Names: list(p.flags.certNames), Logger: p.log})
		if err != nil {
			return cli.Usage("development certificate: %w", err)
		}
		p.cert, p.renew = c, c.Run
		return nil
	}
	c, err := quicnet.LoadCertificate(p.flags.cert, p.flags.key, p.log)
	if err != nil {
		return cli.Usage("%w", err)
	}
	p.cert, p.renew = c, c.Run
	return nil
}

// smallBuffers tells of UDP buffers that are smaller than asked for.
func (p *process) smallBuffers(b quicnet.SmallBuffers) {
	p.log.Warn("small UDP buffers lose packets in bursts",
		"read_bytes", b.Read, "write_bytes", b.Write, "wanted_bytes", b.Wanted, "remedy", b.Remedy())
	if p.measure != nil {
		p.measure.buffers.Set(1)
	}
}

// ready says why no new sessions should come here.
func (p *process) ready() error {
	select {
	case <-p.draining:
		return errors.New("draining")
	default:
	}
	if p.certReady != nil {
		return p.certReady()
	}
	return nil
}

// run serves until ctx ends, then drains, and returns when nothing of the process runs any more.
func (p *process) run(ctx context.Context) error {
	// The parts outlive ctx: sessions are drained first.
	parts, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	start := func(name string, f func(context.Context) error) {
		running.Go(func() {
			if err := f(parts); err != nil && parts.Err() == nil {
				stop(fmt.Errorf("%s: %w", name, err))
			}
		})
	}
	start("certificate", p.renew)
	start("relay", p.relay.Run)
	start("transport", p.listener.Run)
	start("pages", p.pages.Run)
	if p.ops != nil {
		start("ops", p.ops.Run)
		start("measurement", p.measure.run)
		start("history", p.history.Run)
	}
	start("sessions", p.accept)
	p.log.Info("relay started", "listen", p.flags.listen, "certificate_sha256", p.cert.Fingerprint().String())

	select {
	case <-ctx.Done():
		p.log.Info("draining", "deadline", p.flags.drain)
		close(p.draining)
		deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.flags.drain)
		defer cancel()
		ended := within(p.flags.drain+hangTime, func() {
			if err := p.relay.Shutdown(deadline); err != nil {
				p.log.Warn("sessions were closed before they had gone", "error", err)
			}
		})
		if !ended {
			p.log.Error("sessions do not end", "sessions", p.relay.Stats().Sessions.Load())
		}
		stop(context.Canceled)
	case <-parts.Done():
	}
	if !within(hangTime, running.Wait) {
		return errors.New("the relay does not end; it is left to the system")
	}
	if err := context.Cause(parts); !errors.Is(err, context.Canceled) {
		return err
	}
	p.log.Info("relay stopped")
	return nil
}

// hangTime is how long something may take that should take no time. Whoever stops a relay wants it gone.
const hangTime = 5 * time.Second

// within reports whether f has returned within d.
func within(d time.Duration, f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// accept serves every connection that comes in, and returns when all have ended.
func (p *process) accept(ctx context.Context) error {
	var sessions sync.WaitGroup
	defer sessions.Wait()
	for {
		conn, err := p.listener.Accept(ctx)
		if err != nil {
			return err
		}
		if p.measure != nil {
			p.measure.acks.Live(int(p.relay.Stats().Sessions.Load()))
		}
		sessions.Go(func() { p.serve(ctx, conn) })
	}
}

func (p *process) serve(ctx context.Context, conn moqt.Conn) {
	began := time.Now()
	info := conn.Info()
	p.log.Debug("session began", "remote", info.RemoteAddr, "transport", string(info.Transport), "protocol", info.Protocol)
	err := p.relay.Serve(ctx, conn)
	p.log.Debug("session over", "remote", info.RemoteAddr, "lasted", time.Since(began), "error", err)
}

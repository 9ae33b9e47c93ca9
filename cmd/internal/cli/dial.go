package cli

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/quicnet"
	"github.com/moq-c4/moq-c4/quicnet/ackwatch"
)

// Dialer connects a command to a relay.
type Dialer struct {
	URL string // the argument

	fingerprint string
	insecure    bool
	qlog        string
	controller  *ControllerFlag // nil: not offered
	config      quicnet.DialConfig
	log         *slog.Logger
}

// AddFlags registers the flags that say how to connect.
func (d *Dialer) AddFlags(fs *flag.FlagSet) {
	fs.StringVar(&d.fingerprint, "tls-fingerprint", "", "SHA-256 of the relay's certificate in `hex`; nothing else is checked then")
	fs.BoolVar(&d.insecure, "tls-insecure", false, "accept any certificate: for tests only")
	fs.StringVar(&d.qlog, "qlog", "", "`directory` that gets a qlog file per connection")
}

// AddControllerFlag registers --cc, for commands that send.
func (d *Dialer) AddControllerFlag(fs *flag.FlagSet) {
	d.controller = &ControllerFlag{}
	d.controller.AddFlags(fs)
}

// A live stream is not worth much a few seconds later, so that a relay that was killed, or cannot be reached any more, is
// given up sooner than the transport would: 6 to 8 s after its last packet. Two keep-alives may get lost.
const (
	idleTimeout = 6 * time.Second
	keepAlive   = 2 * time.Second
)

// Check looks at the flags and the URL. log gets what happens to the connection.
func (d *Dialer) Check(log *slog.Logger) error {
	d.log = log
	u, err := url.Parse(d.URL)
	if err != nil || u.Host == "" || (u.Scheme != "moqt" && u.Scheme != "https") {
		return Usage("bad URL %q: want moqt://host:port/path for QUIC or https://host:port/path for WebTransport", d.URL)
	}
	if d.fingerprint != "" {
		if d.insecure {
			return Usage("--tls-fingerprint and --tls-insecure exclude each other")
		}
		if d.config.Fingerprint, err = quicnet.ParseFingerprint(d.fingerprint); err != nil {
			return Usage("--tls-fingerprint: %w", err)
		}
	}
	if d.insecure {
		d.config.Insecure = true
		log.Warn("the relay's certificate is not checked (--tls-insecure)")
	}
	if d.controller != nil {
		if err := d.controller.Configure(&d.config.TransportConfig); err != nil {
			return err
		}
	}
	d.config.QLogDir, d.config.Logger = d.qlog, log
	d.config.IdleTimeout, d.config.KeepAlive = idleTimeout, keepAlive
	return nil
}

// Local makes it dial a relay of this machine that has a development certificate.
func (d *Dialer) Local(log *slog.Logger, scheme, addr string) {
	d.log, d.URL = log, scheme+"://"+addr+"/"
	d.config.Insecure, d.config.Logger = true, log
	d.config.IdleTimeout, d.config.KeepAlive = idleTimeout, keepAlive
}

// Args returns flags and argument that make another command dial the same.
func (d *Dialer) Args() []string {
	switch {
	case d.config.Insecure:
		return []string{"--tls-insecure", d.URL}
	case d.fingerprint != "":
		return []string{"--tls-fingerprint", d.fingerprint, d.URL}
	}
	return []string{d.URL}
}

// Dial connects once.
func (d *Dialer) Dial(ctx context.Context) (moqt.Conn, error) {
	return quicnet.Dial(ctx, d.URL, d.config)
}

// SessionConfig is that of the sessions on the connections dialled: on QUIC the path and authority of the
// URL go into SETUP.
func (d *Dialer) SessionConfig() moqt.Config {
	cfg := moqt.Config{Logger: d.log}
	if u, err := url.Parse(d.URL); err == nil && u.Scheme == "moqt" {
		cfg.Authority, cfg.Path = u.Host, u.RequestURI()
	}
	return cfg
}

// Backoff is the wait between attempts to connect: it doubles from half a second to ten, with jitter, and
// starts again after Reset.
type Backoff struct{ next time.Duration }

const (
	backoffMin = 500 * time.Millisecond
	backoffMax = 10 * time.Second
)

// Next returns how long to wait before the next attempt.
func (b *Backoff) Next() time.Duration {
	d := max(b.next, backoffMin)
	b.next = min(2*d, backoffMax)
	return d/2 + rand.N(d/2+1)
}

// Reset notes that an attempt went well.
func (b *Backoff) Reset() { b.next = 0 }

// Sleep waits for d or the end of ctx, whose cause it returns then.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ParseNamespace reads a namespace as people write it: its fields with slashes between.
func ParseNamespace(s string) (wire.Namespace, error) {
	if s == "" {
		return wire.Namespace{}, Usage("a namespace is missing: use --namespace, as in --namespace live/demo")
	}
	ns, err := wire.NewNamespace(strings.Split(s, "/")...)
	if err != nil {
		return wire.Namespace{}, Usage("--namespace %q: want fields with slashes between, as live/demo", s)
	}
	return ns, nil
}

// FormatNamespace is the inverse of ParseNamespace, for people to read.
func FormatNamespace(ns wire.Namespace) string {
	fields := ns.Fields()
	for i, f := range fields {
		if q := fmt.Sprintf("%q", f); q[1:len(q)-1] != f || strings.Contains(f, "/") {
			fields[i] = q
		}
	}
	return strings.Join(fields, "/")
}

// Measure makes the connections tell what was acknowledged and what their controllers do.
func (d *Dialer) Measure(acks *ackwatch.Sampler, controllers *quicnet.ControllerMonitor) {
	d.config.Acks, d.config.Monitor = acks, controllers
}

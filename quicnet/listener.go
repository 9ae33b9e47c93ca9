package quicnet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/webtransport-go"

	"github.com/moq-c4/moq-c4/moqt"
)

// ErrClosed is what [Listener.Accept] returns after the listener's end. It matches net.ErrClosed.
var ErrClosed = fmt.Errorf("quicnet: listener closed: %w", net.ErrClosed)

// Defaults of [ListenConfig].
const (
	defaultAddr         = ":4443"
	defaultMaxPending   = 1000
	defaultSetupTimeout = 10 * time.Second
)

// ListenConfig says how a [Listener] serves.
type ListenConfig struct {
	TransportConfig

	// Addr is the UDP address. Without a host it is all addresses of IPv4 and IPv6, "localhost" is
	// 127.0.0.1 and ::1 both. Default: ":4443".
	Addr string

	// Certificate is asked in every handshake. Required.
	Certificate CertificateSource

	// Protocols are the MOQT versions offered, the preferred one first: the server chooses. Default: "moqt-18", "moqt-19", "moqt-16".
	Protocols []string

	// AllowedOrigins are the web pages whose scripts may connect, as "https://example.com" or, for another
	// port, "https://example.com:8443". Clients other than browsers send no origin and are always admitted.
	//
	// Default: all pages. Browsers attach no cookies and no passwords to WebTransport, so a foreign
	// page gains nothing that its author could not have by connecting himself, unless
	// the relay is in a network that he cannot reach: then give a list.
	AllowedOrigins []string

	// MaxPending bounds the connections that are in their handshake or wait for Accept. From a quarter of it on,
	// clients have to prove their address first, which costs them a round trip. Default: 1000.
	MaxPending int

	// SetupTimeout is how long a connection may take from its handshake until Accept hands it over. Default: 10 s.
	SetupTimeout time.Duration

	// ResetSecret is a secret that stays the same when the server is started again, see resetKey.
	// Default: the machine's ID, or random if it has none.
	ResetSecret []byte
}

func (c *ListenConfig) setDefaults() {
	c.TransportConfig.setDefaults()
	if c.Addr == "" {
		c.Addr = defaultAddr
	}
	if len(c.Protocols) == 0 {
		c.Protocols = defaultProtocols
	}
	if c.MaxPending <= 0 {
		c.MaxPending = defaultMaxPending
	}
	if c.SetupTimeout <= 0 {
		c.SetupTimeout = defaultSetupTimeout
	}
}

// Listener accepts MOQT sessions on one UDP port. [Listen] makes it, Run serves until its context ends or Close
// is called; both end all sessions that the listener has accepted.
type Listener struct {
	cfg     ListenConfig
	log     *slog.Logger
	origins map[string]bool // nil: all
	sockets []net.PacketConn
	wt      *webtransport.Server

	accepted chan moqt.Conn
	closing  chan struct{} // closed by Close or the end of Run's context
	done     chan struct{} // closed when everything is freed
	serving  sync.WaitGroup
	count    counters

	// settingUp counts connections and requests on their way to a session, which are worth
	// waiting for when the listener closes: their peers want to know, too.
	settingUp sync.WaitGroup

	mu       sync.Mutex // guards what follows
	running  bool
	closed   bool
	sessions map[moqt.Conn]*quic.Conn // from their start to their end
}

// Listen binds the port. Nothing is served before Run.
func Listen(cfg ListenConfig) (*Listener, error) {
	cfg.setDefaults()
	if cfg.Certificate == nil {
		return nil, errors.New("quicnet: ListenConfig.Certificate is missing")
	}
	origins, err := parseOrigins(cfg.AllowedOrigins)
	if err != nil {
		return nil, err
	}
	sockets, err := listenSockets(cfg.Addr, cfg.socket)
	if err != nil {
		return nil, err
	}
	l := &Listener{
		cfg:      cfg,
		log:      cfg.Logger,
		origins:  origins,
		sockets:  sockets,
		accepted: make(chan moqt.Conn),
		closing:  make(chan struct{}),
		done:     make(chan struct{}),
		sessions: make(map[moqt.Conn]*quic.Conn),
	}
	l.wt = l.newWebTransportServer()
	return l, nil
}

// Addrs are the addresses listened on, with the port in use: one, or two for "localhost".
func (l *Listener) Addrs() []net.Addr {
	addrs := make([]net.Addr, len(l.sockets))
	for i, s := range l.sockets {
		addrs[i] = s.LocalAddr()
	}
	return addrs
}

// Accept waits for the next session. Sessions exist only after their handshake.
func (l *Listener) Accept(ctx context.Context) (moqt.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.closing:
		return nil, ErrClosed
	}
}

// Run serves until ctx ends or Close is called and returns nil then, or the error of a socket that failed.
// When it returns, all sessions have ended and the port is free.
func (l *Listener) Run(ctx context.Context) error {
	l.mu.Lock()
	if l.running || l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	l.running = true
	l.mu.Unlock()
	defer close(l.done)

	tlsConf := &tls.Config{
		// Protocols first: a client that offers both gets raw QUIC.
		NextProtos:     append(slices.Clone(l.cfg.Protocols), alpnH3),
		GetCertificate: l.cfg.Certificate.GetCertificate,
		MinVersion:     tls.VersionTLS13,
	}
	var endpoints []endpoint
	failed := make(chan error, len(l.sockets))
	var err error
	for _, pc := range l.sockets {
		var e endpoint
		if e, err = l.listen(pc, tlsConf); err != nil {
			break
		}
		endpoints = append(endpoints, e)
		l.serving.Go(func() { failed <- l.acceptLoop(e.ln) })
	}
	if err == nil {
		select {
		case <-ctx.Done():
		case <-l.closing:
		case err = <-failed:
			err = fmt.Errorf("listening on %v: %w", l.sockets[0].LocalAddr(), err)
		}
	}
	l.startClosing()
	l.shutdown(endpoints)
	return err
}

// endpoint is what serves one socket.
type endpoint struct {
	tr *quic.Transport
	ln *quic.EarlyListener
}

// listen starts QUIC on the socket. An own transport, because its settings are not within reach of quic.Listen.
func (l *Listener) listen(pc net.PacketConn, tlsConf *tls.Config) (endpoint, error) {
	silenceQUICGo()
	tr := &quic.Transport{
		Conn:                pc,
		ConnContext:         l.newPending,
		VerifySourceAddress: l.underPressure,
		StatelessResetKey:   resetKey(l.cfg.ResetSecret, pc.LocalAddr().String()),
	}
	ln, err := tr.ListenEarly(l.cfg.inject.Server(tr, tlsConf, l.cfg.quicConfig()))
	if err != nil {
		return endpoint{}, err
	}
	checkBuffers(pc, l.cfg.OnSmallBuffers)
	return endpoint{tr, ln}, nil
}

// acceptLoop gives each connection a goroutine, see [Listener.serve].
func (l *Listener) acceptLoop(ln *quic.EarlyListener) error {
	for {
		qc, err := ln.Accept(context.Background())
		if err != nil {
			return err
		}
		l.serving.Go(func() { l.serve(qc) })
	}
}

// serve brings one connection to its session. It returns when raw QUIC's is handed over,
// or when the connection of a WebTransport session has ended.
func (l *Listener) serve(qc *quic.Conn) {
	p := pendingOf(qc)
	p.limit(qc, l.cfg.SetupTimeout)
	if qc.ConnectionState().TLS.NegotiatedProtocol == alpnH3 {
		// At once: the client waits for our SETTINGS before it asks for a session.
		l.serving.Go(func() { p.awaitHandshake(qc) })
		if err := l.wt.ServeQUICConn(qc); err != nil {
			l.log.Debug("http3 connection ended", "remote", qc.RemoteAddr(), "error", err)
			qc.CloseWithError(codeNoError, "")
		}
		return
	}
	if !l.startSetup() {
		qc.CloseWithError(codeNoError, stoppingReason)
		return
	}
	defer l.settingUp.Done()
	if !p.awaitHandshake(qc) {
		return
	}
	if !qc.ConnectionState().SupportsDatagrams.Remote {
		// "The QUIC DATAGRAM extension ... MUST be supported and negotiated in the QUIC connection used for MOQT ..."
		// [MOQT-18] Section 3.1, Session establishment
		qc.CloseWithError(codeProtocolViolation, "MOQT needs QUIC datagrams")
		return
	}
	c := newQUICConn(qc, true, nil)
	if l.track(c, qc) {
		l.serving.Go(func() { l.handOver(c, p) })
	}
}

// startSetup returns false if the listener is closing.
func (l *Listener) startSetup() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.settingUp.Add(1)
	return true
}

// handOver gives the session to Accept.
func (l *Listener) handOver(c moqt.Conn, p *pending) {
	ended := l.count.session(c.Info().Transport)
	context.AfterFunc(c.Context(), func() {
		ended()
		l.untrack(c)
	})
	select {
	case l.accepted <- c:
		p.settle()
	case <-c.Context().Done(): // also when SetupTimeout has passed
	case <-l.closing:
	}
}

// track returns false if the listener is closing; the session is closed then. Those that are tracked are closed by shutdown.
func (l *Listener) track(c moqt.Conn, qc *quic.Conn) bool {
	l.mu.Lock()
	closed := l.closed
	if !closed {
		l.sessions[c] = qc
	}
	l.mu.Unlock()
	if closed {
		c.Close(codeNoError, stoppingReason)
	}
	return !closed
}

func (l *Listener) untrack(c moqt.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sessions, c)
}

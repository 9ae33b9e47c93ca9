package quicnet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/moq-c4/moq-c4/moqt"
)

// defaultPort is that of URLs without one.
// [MOQT-18] Section 3.1.1, MOQT URI Scheme
const defaultPort = 443

const defaultDialTimeout = 10 * time.Second

// DialConfig says how [Dial] connects.
type DialConfig struct {
	TransportConfig

	// Protocols are the MOQT versions offered, the preferred one first. Default: "moqt-18", "moqt-19", "moqt-16".
	Protocols []string

	// Fingerprint pins the server's certificate; nothing else is checked then. Default: the certificate has to be
	// valid for the host by RootCAs.
	Fingerprint Fingerprint

	// Insecure accepts any certificate. Anyone on the path can read and change everything: the caller warns.
	Insecure bool

	// RootCAs are the trusted authorities. Default: those of the system.
	RootCAs *x509.CertPool

	// ServerName is the name that is sent to the server (SNI) and looked for in its certificate. Default: the URL's host.
	ServerName string

	// Origin is what a browser would tell as the page's origin, for servers that want one; WebTransport only. Default: none.
	Origin string

	// Timeout bounds the whole of Dial. Default: 10 s.
	Timeout time.Duration
}

func (c *DialConfig) setDefaults() {
	c.TransportConfig.setDefaults()
	if len(c.Protocols) == 0 {
		c.Protocols = defaultProtocols
	}
	if c.Timeout <= 0 {
		c.Timeout = defaultDialTimeout
	}
}

// target is what a URL asks for.
type target struct {
	url       *url.URL // of the WebTransport request
	transport moqt.Transport
	host      string
	port      int
}

func (t target) String() string { return net.JoinHostPort(t.host, strconv.Itoa(t.port)) }

func parseTarget(rawURL string) (target, error) {
	bad := func(why string) (target, error) {
		return target{}, fmt.Errorf("bad URL %q: %s; want moqt://host:port/path (QUIC) or https://host:port/path (WebTransport)", rawURL, why)
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return bad("it cannot be parsed")
	}
	t := target{url: u, host: u.Hostname(), port: defaultPort}
	switch u.Scheme {
	case "moqt":
		t.transport = moqt.TransportQUIC
	case "https":
		t.transport = moqt.TransportWebTransport
	default:
		return bad("unknown scheme " + strconv.Quote(u.Scheme))
	}
	if t.host == "" {
		return bad("no host")
	}
	if u.User != nil {
		return bad("user names are not supported")
	}
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return bad("bad port")
		}
		t.port = int(n)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	u.Fragment, u.RawFragment = "", "" // for the client's own use
	return t, nil
}

// Dial connects to moqt://host:port/path, which is raw QUIC, or https://host:port/path, which is WebTransport.
// On raw QUIC the caller has to send authority and path in its SETUP.
// Errors are a [*DialError] of one line that says what to do, or ctx's.
func Dial(ctx context.Context, rawURL string, cfg DialConfig) (moqt.Conn, error) {
	cfg.setDefaults()
	t, err := parseTarget(rawURL)
	if err != nil {
		return nil, &DialError{Err: err}
	}
	dctx, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	addrs, err := resolve(dctx, t)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &DialError{Addr: t.String(), Err: err, Hint: "check the host name"}
	}
	c, err := race(dctx, addrs, func(ctx context.Context, addr *net.UDPAddr) (moqt.Conn, error) {
		return dialAddr(ctx, t, addr, &cfg)
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, explain(t, &cfg, err)
	}
	return c, nil
}

// dialAddr connects to one address, with a socket and transport of its own.
func dialAddr(ctx context.Context, t target, addr *net.UDPAddr, cfg *DialConfig) (_ moqt.Conn, err error) {
	network := "udp6"
	if addr.IP.To4() != nil {
		network = "udp4"
	}
	pc, err := cfg.socket(network, ":0")
	if err != nil {
		return nil, err
	}
	silenceQUICGo()
	tr := &quic.Transport{Conn: pc}
	free := func() {
		tr.Close()
		pc.Close()
	}
	conf := cfg.quicConfig()
	ctx, tlsConf := cfg.inject.Client(ctx, tr, cfg.tlsConfig(t), conf)
	qc, err := tr.Dial(ctx, addr, tlsConf, conf)
	if err != nil {
		free()
		return nil, err
	}
	checkBuffers(pc, cfg.OnSmallBuffers)
	if !qc.ConnectionState().SupportsDatagrams.Remote {
		qc.CloseWithError(codeProtocolViolation, "MOQT needs QUIC datagrams")
		free()
		return nil, errors.New("the server has no QUIC datagrams, which MOQT needs")
	}
	release := func() {
		if ae, ok := errors.AsType[*quic.ApplicationError](context.Cause(qc.Context())); ok && !ae.Remote {
			// The socket still answers with CONNECTION_CLOSE, should the first one have got lost.
			time.Sleep(linger(qc, minCloseLinger))
		}
		free()
	}
	if t.transport == moqt.TransportQUIC {
		return newQUICConn(qc, false, release), nil
	}
	c, err := dialWebTransport(ctx, t, qc, cfg, release)
	if err != nil {
		qc.CloseWithError(codeNoError, "")
		free()
		return nil, err
	}
	return c, nil
}

// tlsConfig verifies the server as configured.
func (c *DialConfig) tlsConfig(t target) *tls.Config {
	conf := &tls.Config{
		MinVersion: tls.VersionTLS13,
		RootCAs:    c.RootCAs,
		ServerName: t.host,
		NextProtos: []string{alpnH3},
	}
	if c.ServerName != "" {
		conf.ServerName = c.ServerName
	}
	if t.transport == moqt.TransportQUIC {
		conf.NextProtos = slices.Clone(c.Protocols)
	}
	switch {
	case c.Insecure:
		conf.InsecureSkipVerify = true
	case c.Fingerprint != Fingerprint{}:
		conf.InsecureSkipVerify = true
		conf.VerifyConnection = func(s tls.ConnectionState) error {
			if got := FingerprintOf(s.PeerCertificates[0].Raw); got != c.Fingerprint {
				return &FingerprintError{Want: c.Fingerprint, Got: got}
			}
			return nil
		}
	}
	return conf
}

// header is that of the WebTransport request.
func (c *DialConfig) header() http.Header {
	h := make(http.Header)
	if c.Origin != "" {
		h.Set("Origin", c.Origin)
	}
	return h
}

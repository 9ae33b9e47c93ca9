package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/quicnet"
)

// How often the certificate is looked after. autocert asks for a new one 30 days before the old one ends; what it has then
// is taken over here.
const (
	acmeRefresh = time.Hour
	acmeRetry   = time.Minute // at first; doubled up to acmeRefresh
)

// acmeFlags say how to get a certificate from an authority that speaks ACME, such as Let's Encrypt.
type acmeFlags struct {
	domains   string // comma separated
	cache     string
	email     string
	http      string
	directory string
}

// acmeCertificate is a quicnet.CertificateSource that gets certificates by ACME. The authority proves that the domains
// are this machine's by asking for a file over plain HTTP (HTTP-01), because it speaks no QUIC.
type acmeCertificate struct {
	domains []string
	manager *autocert.Manager
	ln      net.Listener // of the authority's questions
	log     *slog.Logger
	current map[string]*atomic.Pointer[tls.Certificate] // by domain; the map does not change
}

func newACMECertificate(f acmeFlags, log *slog.Logger) (*acmeCertificate, error) {
	c := &acmeCertificate{domains: list(f.domains), log: log, current: make(map[string]*atomic.Pointer[tls.Certificate])}
	for _, d := range c.domains {
		c.current[d] = new(atomic.Pointer[tls.Certificate])
	}
	c.manager = &autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(f.cache), HostPolicy: autocert.HostWhitelist(c.domains...), Email: f.email,
		Client: &acme.Client{DirectoryURL: f.directory},
	}
	var err error
	if c.ln, err = net.Listen("tcp", f.http); err != nil {
		return nil, cli.Usage("--acme-http %s: %w", f.http, err)
	}
	return c, nil
}

// GetCertificate implements quicnet.CertificateSource. It does not wait for the authority: a handshake has no time for that.
func (c *acmeCertificate) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	p := c.current[hello.ServerName]
	if p == nil { // by address, or by another name: the client says what is wrong
		p = c.current[c.domains[0]]
	}
	if cert := p.Load(); cert != nil {
		return cert, nil
	}
	return nil, errors.New("there is no certificate from the ACME authority yet")
}

// Fingerprint implements quicnet.CertificateSource. It is zero until there is a certificate.
func (c *acmeCertificate) Fingerprint() quicnet.Fingerprint {
	cert := c.current[c.domains[0]].Load()
	if cert == nil {
		return quicnet.Fingerprint{}
	}
	return quicnet.FingerprintOf(cert.Certificate[0])
}

// ready says whether there is a certificate for each domain.
func (c *acmeCertificate) ready() error {
	for _, d := range c.domains {
		if c.current[d].Load() == nil {
			return fmt.Errorf("no certificate for %s yet", d)
		}
	}
	return nil
}

// Run answers the authority and keeps the certificates fresh until ctx ends.
func (c *acmeCertificate) Run(ctx context.Context) error {
	srv := &http.Server{
		Handler:           c.manager.HTTPHandler(http.NotFoundHandler()),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      10 * time.Second,
		IdleTimeout:       10 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(c.log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(c.ln) }()
	defer func() {
		srv.Close()
		<-served
	}()
	retry := acmeRetry
	for {
		wait := acmeRefresh
		if c.refresh(ctx) {
			retry = acmeRetry
		} else {
			wait, retry = retry, min(2*retry, acmeRefresh)
		}
		if err := cli.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// refresh takes over what the authority gives, and reports whether each domain has a certificate.
func (c *acmeCertificate) refresh(ctx context.Context) bool {
	ok := true
	for _, d := range c.domains {
		// As a client would that takes ECDSA.
		cert, err := c.manager.GetCertificate(&tls.ClientHelloInfo{
			ServerName: d, SupportedVersions: []uint16{tls.VersionTLS13},
			CipherSuites:     []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
			SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256}, SupportedCurves: []tls.CurveID{tls.CurveP256},
		})
		if ctx.Err() != nil {
			return false
		}
		if err != nil {
			ok = false
			c.log.Error("no certificate from the ACME authority", "domain", d, "error", err)
			continue
		}
		if old := c.current[d].Swap(cert); old == nil || !sameCertificate(old, cert) {
			c.log.Info("certificate from the ACME authority", "domain", d, "until", cert.Leaf.NotAfter)
		}
	}
	return ok
}

func sameCertificate(a, b *tls.Certificate) bool {
	return len(a.Certificate) > 0 && len(b.Certificate) > 0 && string(a.Certificate[0]) == string(b.Certificate[0])
}

// close gives the socket back if Run was never called.
func (c *acmeCertificate) close() { c.ln.Close() }

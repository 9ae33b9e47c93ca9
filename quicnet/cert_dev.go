package quicnet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"math/big"
	"net"
	"os"
	"slices"
	"time"
)

// What browsers demand of a certificate that is known by its hash: ECDSA P-256 and a validity of at most 14 days.
const (
	devLifetime = 13 * 24 * time.Hour
	devBackdate = time.Hour // for clients whose clock is behind; part of devLifetime
	// devRenewBefore leaves two days to clients that got the hash before the renewal and connect after it, and to a machine that slept.
	devRenewBefore = 2 * 24 * time.Hour
	// devCheck bounds the sleep until the renewal: timers stand still while a machine sleeps.
	devCheck = time.Hour
	devRetry = time.Minute
)

// renewAt is when a certificate has to be replaced.
func renewAt(notAfter time.Time) time.Time { return notAfter.Add(-devRenewBefore) }

// DevCertificateConfig says what is in a [DevCertificate].
type DevCertificateConfig struct {
	// Names are further host names and IP addresses. localhost, 127.0.0.1, ::1 and the host's name are always in it.
	Names []string

	// Logger gets a line per renewal. Default: nothing is logged.
	Logger *slog.Logger
}

// DevCertificate is a self-signed certificate for trying things out and for browsers that are given its
// hash. It is made new in each process and replaced while Run runs.
type DevCertificate struct {
	current
	names    []string
	log      *slog.Logger
	notAfter time.Time // owned by Run
}

// NewDevCertificate makes the first certificate.
func NewDevCertificate(cfg DevCertificateConfig) (*DevCertificate, error) {
	names := []string{"localhost", "127.0.0.1", "::1"}
	if host, err := os.Hostname(); err == nil {
		names = append(names, host)
	}
	names = append(names, cfg.Names...)
	slices.Sort(names)
	d := &DevCertificate{names: slices.Compact(names), log: cfg.Logger}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	return d, d.renew(time.Now())
}

// Run replaces the certificate two days before it ends, until ctx ends. Sessions go on; new handshakes get the new one.
func (d *DevCertificate) Run(ctx context.Context) error {
	wait := devCheck
	for {
		t := time.NewTimer(min(wait, max(0, time.Until(renewAt(d.notAfter)))))
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-t.C:
		}
		wait = devCheck
		now := time.Now()
		if now.Before(renewAt(d.notAfter)) {
			continue
		}
		if err := d.renew(now); err != nil {
			d.log.Error("cannot renew the development certificate", "error", err, "retry_in", devRetry)
			if !sleep(ctx, devRetry) {
				return nil
			}
			continue
		}
		d.log.Info("development certificate renewed", "sha256", d.Fingerprint(), "not_after", d.notAfter)
	}
}

// sleep returns false if ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool { return !waitDone(ctx, d) }

func (d *DevCertificate) renew(now time.Time) error {
	notBefore := now.Add(-devBackdate)
	cert, err := selfSigned(d.names, notBefore, notBefore.Add(devLifetime))
	if err != nil {
		return err
	}
	d.notAfter = cert.Leaf.NotAfter
	d.set(cert)
	return nil
}

func selfSigned(names []string, notBefore, notAfter time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "moq development certificate"},
		NotBefore:    notBefore,
		NotAfter:     notAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

package quicnet

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// filePoll is how often the files are looked at.
const filePoll = 5 * time.Second

// FileCertificate is a certificate in PEM files, which are read again when their content changes.
type FileCertificate struct {
	current
	certFile, keyFile string
	log               *slog.Logger

	mu   sync.Mutex        // held while loading
	seen [sha256.Size]byte // content of both files at the last attempt
}

// LoadCertificate reads the certificate chain and its key. log may be nil.
func LoadCertificate(certFile, keyFile string, log *slog.Logger) (*FileCertificate, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	f := &FileCertificate{certFile: certFile, keyFile: keyFile, log: log}
	return f, f.Reload()
}

// Run looks for changes every few seconds until ctx ends. Files that are
// bad, or halfway replaced, leave the certificate in use as it is.
func (f *FileCertificate) Run(ctx context.Context) error {
	for sleep(ctx, filePoll) {
		f.load(false)
	}
	return nil
}

// Reload reads the files now, as on SIGHUP. After an error the certificate in use stays.
func (f *FileCertificate) Reload() error { return f.load(true) }

// load tries each content once, so that a bad one is logged once; force tries it again.
func (f *FileCertificate) load(force bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	certPEM, keyPEM, err := f.read()
	content := contentOf(certPEM, keyPEM, err)
	if !force && content == f.seen {
		return nil
	}
	f.seen = content
	var cert tls.Certificate
	if err == nil {
		if cert, err = tls.X509KeyPair(certPEM, keyPEM); err != nil {
			err = fmt.Errorf("certificate %s with key %s: %w", f.certFile, f.keyFile, err)
		}
	}
	old := f.p.Load()
	if err != nil {
		if old != nil {
			f.log.Warn("cannot load the new certificate, keeping the old one", "error", err)
		}
		return err
	}
	if old != nil && old.fingerprint == FingerprintOf(cert.Certificate[0]) {
		return nil
	}
	f.set(&cert)
	if until := cert.Leaf.NotAfter; time.Now().After(until) {
		f.log.Warn("certificate has expired", "file", f.certFile, "not_after", until)
	}
	if old != nil {
		f.log.Info("certificate replaced", "file", f.certFile, "sha256", f.Fingerprint(), "not_after", cert.Leaf.NotAfter)
	}
	return nil
}

func (f *FileCertificate) read() (certPEM, keyPEM []byte, err error) {
	if certPEM, err = os.ReadFile(f.certFile); err != nil {
		return nil, nil, err
	}
	if keyPEM, err = os.ReadFile(f.keyFile); err != nil {
		return nil, nil, err
	}
	return certPEM, keyPEM, nil
}

// contentOf tells contents, and failures to read them, apart.
func contentOf(certPEM, keyPEM []byte, err error) [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%d %d %v ", len(certPEM), len(keyPEM), err)
	h.Write(certPEM)
	h.Write(keyPEM)
	return [sha256.Size]byte(h.Sum(nil))
}

package quicnet

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
)

// CertificateSource gives a server its certificate. [DevCertificate] and [FileCertificate] are the two kinds.
type CertificateSource interface {
	// GetCertificate is for [tls.Config]: the certificate for the handshake that begins now.
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)

	// Fingerprint is that of the certificate that new handshakes get.
	Fingerprint() Fingerprint
}

// Fingerprint is the SHA-256 of a certificate in DER, as browsers take it in serverCertificateHashes.
type Fingerprint [sha256.Size]byte

// FingerprintOf hashes a certificate in DER.
func FingerprintOf(der []byte) Fingerprint { return sha256.Sum256(der) }

// String is 64 hex digits.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

var errFingerprint = errors.New("a fingerprint is the SHA-256 of the certificate: 64 hex digits, with or without colons")

// ParseFingerprint reads 64 hex digits in either case, with or without colons between the bytes.
func ParseFingerprint(s string) (Fingerprint, error) {
	s = strings.TrimSpace(s)
	if strings.Contains(s, ":") {
		if len(s) != 3*sha256.Size-1 {
			return Fingerprint{}, errFingerprint
		}
		for i := 2; i < len(s); i += 3 {
			if s[i] != ':' {
				return Fingerprint{}, errFingerprint
			}
		}
		s = strings.ReplaceAll(s, ":", "")
	}
	var f Fingerprint
	if len(s) != 2*len(f) {
		return Fingerprint{}, errFingerprint
	}
	if _, err := hex.Decode(f[:], []byte(s)); err != nil {
		return Fingerprint{}, errFingerprint
	}
	return f, nil
}

// current is a certificate that is replaced while it is in use.
type current struct{ p atomic.Pointer[certificate] }

type certificate struct {
	tls         *tls.Certificate
	fingerprint Fingerprint
}

func (c *current) set(cert *tls.Certificate) {
	c.p.Store(&certificate{cert, FingerprintOf(cert.Certificate[0])})
}

// GetCertificate implements [CertificateSource].
func (c *current) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return c.p.Load().tls, nil
}

// Fingerprint implements [CertificateSource].
func (c *current) Fingerprint() Fingerprint { return c.p.Load().fingerprint }

// CertificateHandler serves the fingerprint in hex, for GET /certificate.sha256, to any web page: a page
// needs it before it can connect to a self-signed server, and it is no secret.
func CertificateHandler(src CertificateSource) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		switch r.Method {
		case http.MethodGet, http.MethodHead:
		case http.MethodOptions:
			// Browsers ask first when a public page wants something of a private address.
			h.Set("Access-Control-Allow-Methods", "GET, HEAD")
			h.Set("Access-Control-Allow-Private-Network", "true")
			w.WriteHeader(http.StatusNoContent)
			return
		default:
			h.Set("Allow", "GET, HEAD, OPTIONS")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("Cache-Control", "no-store") // it changes with the certificate
		w.Write([]byte(src.Fingerprint().String()))
	})
}

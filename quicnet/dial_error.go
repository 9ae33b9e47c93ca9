package quicnet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/webtransport-go"

	"github.com/moq-c4/moq-c4/moqt"
)

// DialError says in one line why [Dial] failed and what to do about it.
type DialError struct {
	Addr string // host:port; empty if the URL is bad
	Err  error
	Hint string // what to do; may be empty
}

func (e *DialError) Error() string {
	s := e.Err.Error()
	if e.Addr != "" {
		s = fmt.Sprintf("cannot connect to %s: %s", e.Addr, s)
	}
	if e.Hint != "" {
		s += ": " + e.Hint
	}
	return strings.ReplaceAll(s, "\n", " ")
}

func (e *DialError) Unwrap() error { return e.Err }

// FingerprintError says that the server's certificate is not the pinned one.
type FingerprintError struct{ Want, Got Fingerprint }

func (e *FingerprintError) Error() string {
	return fmt.Sprintf("the server's certificate has fingerprint %v, not %v", e.Got, e.Want)
}

// TLS alerts in QUIC transport errors.
// RFC 9001 Section 4.8, TLS Errors; RFC 8446 Section 6, Alert Protocol
const (
	cryptoError           = 0x100
	alertNoApplicationTLS = 120
)

// isNoProtocol says whether a handshake failed because the sides have no ALPN in common.
func isNoProtocol(err error) bool {
	te, ok := errors.AsType[*quic.TransportError](err)
	return ok && te.ErrorCode == cryptoError+alertNoApplicationTLS
}

// isSilence says whether err is that nobody answered.
func isSilence(err error) bool {
	if _, ok := errors.AsType[*quic.IdleTimeoutError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*quic.HandshakeTimeoutError](err); ok {
		return true
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// explain finds words for the user.
func explain(t target, cfg *DialConfig, err error) *DialError {
	e := &DialError{Addr: t.String(), Err: err}
	switch {
	case isSilence(err):
		e.Err = fmt.Errorf("no answer%w", hidden{err})
		e.Hint = fmt.Sprintf("check that a relay runs there and that UDP port %d is open", t.port)
	case isNoProtocol(err):
		e.Err = fmt.Errorf("%w%w", moqt.ErrNoProtocol, hidden{err})
		e.Hint = fmt.Sprintf("the server speaks none of %s over %s, try the other scheme of moqt:// and https://", strings.Join(cfg.Protocols, ", "), t.transport)
	case errors.Is(err, moqt.ErrNoProtocol):
		e.Hint = "this client speaks " + strings.Join(cfg.Protocols, ", ")
	default:
		e.explainCertificate(t)
		e.explainRefusal(t)
	}
	return e
}

// hidden keeps an error in the chain but out of the text.
type hidden struct{ error }

func (hidden) Error() string   { return "" }
func (h hidden) Unwrap() error { return h.error }

func (e *DialError) explainCertificate(t target) {
	pin := fmt.Sprintf("use --tls-fingerprint with the value that the relay prints at its start or, for development, serves at http://%s/certificate.sha256", t)
	if _, ok := errors.AsType[*FingerprintError](e.Err); ok {
		e.Err = unwrapTo[*FingerprintError](e.Err)
		e.Hint = "a development relay makes a new certificate at each start, get its fingerprint again"
		return
	}
	if host, ok := errors.AsType[x509.HostnameError](e.Err); ok {
		e.Err = fmt.Errorf("the server's certificate is for another name (%w)", host)
		e.Hint = "connect to a name that is in the certificate"
		return
	}
	if inv, ok := errors.AsType[x509.CertificateInvalidError](e.Err); ok && inv.Reason == x509.Expired {
		e.Err = fmt.Errorf("the server's certificate is not valid now (%w)", inv)
		e.Hint = "check the clocks and renew the certificate"
		return
	}
	if ver, ok := errors.AsType[*tls.CertificateVerificationError](e.Err); ok {
		e.Err = fmt.Errorf("the server's certificate is not trusted (%w)", ver.Err)
		e.Hint = pin + ", or --tls-insecure to check nothing"
	}
}

func (e *DialError) explainRefusal(t target) {
	if te, ok := errors.AsType[*quic.TransportError](e.Err); ok && te.Remote && te.ErrorCode == quic.ConnectionRefused {
		e.Err = fmt.Errorf("the server refuses new connections%w", hidden{e.Err})
		e.Hint = "it is busy or stopping, try again later"
		return
	}
	if se, ok := errors.AsType[*statusError](e.Err); ok {
		switch se.code {
		case 404:
			e.Hint = fmt.Sprintf("check the path %q", t.url.Path)
		case 403:
			e.Hint = "the server does not allow this origin or client"
		}
		return
	}
	if _, ok := errors.AsType[*webtransport.RequirementsNotMetError](e.Err); ok {
		e.Err = fmt.Errorf("the server does not do WebTransport (%w)", e.Err)
		e.Hint = "try moqt:// in place of https://"
	}
}

// unwrapTo finds the error of type T in the chain, which must hold one.
func unwrapTo[T error](err error) T {
	e, _ := errors.AsType[T](err)
	return e
}

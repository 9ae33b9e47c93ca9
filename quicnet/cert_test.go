package quicnet

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestFingerprint(t *testing.T) {
	want := FingerprintOf([]byte("abc"))
	// The SHA-256 example of FIPS 180.
	const hexed = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if want.String() != hexed {
		t.Errorf("got %v", want)
	}
	var colons []string
	for i := 0; i < len(hexed); i += 2 {
		colons = append(colons, strings.ToUpper(hexed[i:i+2]))
	}
	for _, s := range []string{hexed, strings.ToUpper(hexed), strings.Join(colons, ":"), " " + hexed + "\n"} {
		if got, err := ParseFingerprint(s); got != want || err != nil {
			t.Errorf("%q: got %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "ba78", hexed + "00", strings.Replace(hexed, "b", "x", 1), strings.Join(colons, "-"), strings.Join(colons, "::"), hexed[:63] + ":"} {
		if _, err := ParseFingerprint(s); err == nil {
			t.Errorf("%q: no error", s)
		}
	}
}

// What browsers demand of a certificate known by its hash: ECDSA P-256, valid now, for at most 14 days.
func TestDevCertificate(t *testing.T) {
	d, err := NewDevCertificate(DevCertificateConfig{Names: []string{"relay.example", "192.0.2.1", "localhost"}})
	if err != nil {
		t.Fatal(err)
	}
	cert, err := d.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	x, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	if key, ok := x.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() {
		t.Errorf("key is %T", x.PublicKey)
	}
	if v := x.NotAfter.Sub(x.NotBefore); v != 13*24*time.Hour {
		t.Errorf("valid for %v", v)
	}
	if since := time.Since(x.NotBefore); since < 50*time.Minute {
		t.Errorf("valid since %v only: clients' clocks differ", since)
	}
	if err := x.CheckSignatureFrom(&x509.Certificate{PublicKey: x.PublicKey, PublicKeyAlgorithm: x509.ECDSA}); err != nil {
		t.Errorf("not self-signed: %v", err)
	}
	host, _ := os.Hostname()
	for _, name := range []string{"localhost", "127.0.0.1", "::1", host, "relay.example", "192.0.2.1"} {
		if err := x.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}
	if want := Fingerprint(sha256.Sum256(cert.Certificate[0])); d.Fingerprint() != want {
		t.Errorf("fingerprint %v, want %v", d.Fingerprint(), want)
	}
	other, err := NewDevCertificate(DevCertificateConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if other.Fingerprint() == d.Fingerprint() {
		t.Error("two certificates are the same")
	}
}

func TestDevCertificateRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logLines
		d, err := NewDevCertificate(DevCertificateConfig{Logger: log.logger()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- d.Run(ctx) }()
		cert := func() *x509.Certificate {
			c, _ := d.GetCertificate(nil)
			return c.Leaf
		}
		first := d.Fingerprint()
		due := renewAt(cert().NotAfter)
		if left := time.Until(due); left < 10*24*time.Hour || left > 11*24*time.Hour {
			t.Errorf("renewal in %v, want about 11 days", left)
		}
		time.Sleep(time.Until(due) - time.Second)
		synctest.Wait()
		if d.Fingerprint() != first {
			t.Error("renewed too early")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if d.Fingerprint() == first {
			t.Error("not renewed")
		}
		// A year on, there was never a moment without a valid certificate.
		seen := map[Fingerprint]bool{}
		for range 365 * 4 {
			time.Sleep(6 * time.Hour)
			synctest.Wait()
			if now, c := time.Now(), cert(); now.Before(c.NotBefore) || now.After(c.NotAfter.Add(-24*time.Hour)) {
				t.Fatalf("at %v the certificate is valid from %v to %v", now, c.NotBefore, c.NotAfter)
			}
			seen[d.Fingerprint()] = true
		}
		if n := len(seen); n < 30 || n > 36 {
			t.Errorf("%d certificates in a year, want one in about 11 days", n)
		}
		if log.count("development certificate renewed") == 0 {
			t.Error("nothing logged")
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// New handshakes get the new certificate.
func TestRenewedCertificateIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newSimNet(0, time.Millisecond)
		tc := TransportConfig{socket: n.socket}
		d, err := NewDevCertificate(DevCertificateConfig{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go d.Run(ctx)
		s := startServer(t, ListenConfig{TransportConfig: tc, Certificate: d})
		synctest.Wait()
		old := d.Fingerprint()
		cert, _ := d.GetCertificate(nil)
		time.Sleep(time.Until(renewAt(cert.Leaf.NotAfter)) - time.Minute)
		session, _ := s.connect(transports[0], DialConfig{TransportConfig: tc, Fingerprint: old})
		time.Sleep(2 * time.Minute)
		if _, err := s.dial(transports[1], DialConfig{TransportConfig: tc, Fingerprint: old}); err == nil {
			t.Error("the old certificate is still given out")
		}
		s.connect(transports[1], DialConfig{TransportConfig: tc})
		if session.Context().Err() != nil {
			t.Error("the renewal ended a session")
		}
	})
}

// writePair writes a new certificate into the files and returns its fingerprint.
func writePair(t *testing.T, certFile, keyFile string) Fingerprint {
	t.Helper()
	now := time.Now()
	cert, err := selfSigned([]string{"localhost"}, now, now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for file, b := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: cert.Certificate[0]},
		keyFile:  {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return FingerprintOf(cert.Certificate[0])
}

func TestFileCertificate(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if _, err := LoadCertificate(certFile, keyFile, nil); err == nil {
		t.Error("no error without files")
	}
	first := writePair(t, certFile, keyFile)
	var log logLines
	f, err := LoadCertificate(certFile, keyFile, log.logger())
	if err != nil {
		t.Fatal(err)
	}
	if f.Fingerprint() != first {
		t.Errorf("got %v, want %v", f.Fingerprint(), first)
	}

	synctest.Test(t, func(t *testing.T) {
		f.log = log.logger()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- f.Run(ctx) }()
		poll := func() {
			time.Sleep(filePoll + time.Second)
			synctest.Wait()
		}
		// Replaced one file at a time: the old pair stays in use until the new one is whole.
		second := writePair(t, certFile+".new", keyFile+".new")
		os.Rename(certFile+".new", certFile)
		poll()
		poll()
		if f.Fingerprint() != first {
			t.Error("a certificate without its key is in use")
		}
		if n := log.count("keeping the old one"); n != 1 {
			t.Errorf("logged %d times, want once", n)
		}
		if err := f.Reload(); err == nil || !strings.Contains(err.Error(), certFile) {
			t.Errorf("got %v", err)
		}
		os.Rename(keyFile+".new", keyFile)
		poll()
		if f.Fingerprint() != second {
			t.Error("the new certificate is not in use")
		}
		if n := log.count("certificate replaced"); n != 1 {
			t.Errorf("logged %d times, want once", n)
		}

		os.WriteFile(certFile, []byte("nonsense"), 0o600)
		poll()
		os.Remove(certFile)
		poll()
		if c, err := f.GetCertificate(nil); err != nil || FingerprintOf(c.Certificate[0]) != second {
			t.Errorf("got %v", err)
		}
		third := writePair(t, certFile, keyFile)
		if err := f.Reload(); err != nil || f.Fingerprint() != third {
			t.Errorf("Reload: %v", err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestExpiredFileIsReported(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	synctest.Test(t, func(t *testing.T) { writePair(t, certFile, keyFile) }) // in the year 2000
	var log logLines
	if _, err := LoadCertificate(certFile, keyFile, log.logger()); err != nil {
		t.Fatal(err)
	}
	if log.count("certificate has expired") != 1 {
		t.Errorf("got %q", log.b.String())
	}
}

func TestCertificateHandler(t *testing.T) {
	var c current
	now := time.Now()
	replace := func() string {
		cert, err := selfSigned([]string{"localhost"}, now, now.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		c.set(cert)
		sum := sha256.Sum256(cert.Certificate[0])
		return hex.EncodeToString(sum[:])
	}
	h := CertificateHandler(&c)
	get := func(method string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, "/certificate.sha256", nil))
		if got := w.Header().Get("Access-Control-Allow-Origin"); got != "*" {
			t.Errorf("%s: Access-Control-Allow-Origin is %q", method, got)
		}
		return w
	}
	for range 2 { // before and after a renewal
		want := replace()
		w := get("GET")
		if got := w.Body.String(); w.Code != 200 || got != want {
			t.Errorf("got %d %q, want %q", w.Code, got, want)
		}
		if got := w.Header().Get("Cache-Control"); got != "no-store" {
			t.Errorf("Cache-Control is %q", got)
		}
	}
	if w := get("OPTIONS"); w.Code != http.StatusNoContent {
		t.Errorf("OPTIONS: %d", w.Code)
	}
	if w := get("POST"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

// The hash is served on the TCP port of the same number, and it is the one that Dial needs.
func TestListenHTTP(t *testing.T) {
	s := startServer(t, ListenConfig{Addr: "localhost:0"})
	mux := http.NewServeMux()
	mux.Handle("/certificate.sha256", CertificateHandler(s.cert))
	web, err := ListenHTTP(s.Addrs(), mux, nil)
	for try := 0; err != nil && try < 10; try++ { // somebody has that TCP port
		s = startServer(t, ListenConfig{Addr: "localhost:0"})
		mux = http.NewServeMux()
		mux.Handle("/certificate.sha256", CertificateHandler(s.cert))
		web, err = ListenHTTP(s.Addrs(), mux, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ListenHTTP(s.Addrs(), mux, nil); err == nil {
		t.Error("the same port twice: no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- web.Run(ctx) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, a := range s.Addrs() {
		rsp, err := client.Get("http://" + a.String() + "/certificate.sha256")
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(rsp.Body)
		rsp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		f, err := ParseFingerprint(string(bytes.TrimSpace(b)))
		if err != nil {
			t.Fatal(err)
		}
		for _, tr := range transports {
			if _, err := s.dial(tr, DialConfig{Fingerprint: f}); err != nil {
				t.Error(err)
			}
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	web, err = ListenHTTP(s.Addrs(), mux, nil)
	if err != nil {
		t.Fatalf("the port is not free: %v", err)
	}
	web.Close()
}

func FuzzParseFingerprint(f *testing.F) {
	f.Add("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
	f.Add(strings.TrimSuffix(strings.Repeat("aB:", 32), ":"))
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParseFingerprint(s)
		if err != nil {
			return
		}
		if again, err := ParseFingerprint(p.String()); err != nil || again != p {
			t.Errorf("%q: %v, %v", s, again, err)
		}
	})
}

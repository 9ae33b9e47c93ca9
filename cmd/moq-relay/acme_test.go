package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/quicnet"
)

// authority is an ACME authority of a test: it believes every signature, but asks for the proof. RFC 8555
type authority struct {
	*testing.T
	*httptest.Server
	key  *ecdsa.PrivateKey
	root *x509.Certificate
	http string // where the domain's web server is

	mu      sync.Mutex
	proved  bool
	issued  []byte // PEM
	domains []string
}

func newAuthority(t *testing.T, proofAt string) *authority {
	a := &authority{T: t, http: proofAt}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	a.root = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test root"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, a.root, a.root, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.root, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.Server = httptest.NewServer(http.HandlerFunc(a.serve))
	t.Cleanup(a.Server.Close)
	return a
}

func (a *authority) serve(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := func(path string) string { return a.URL + path }
	w.Header().Set("Replay-Nonce", rand.Text())
	var body struct{ Payload string }
	json.NewDecoder(r.Body).Decode(&body)
	payload, _ := base64.RawURLEncoding.DecodeString(body.Payload)
	status := func() string {
		switch {
		case a.issued != nil:
			return "valid"
		case a.proved:
			return "ready"
		}
		return "pending"
	}
	answer := func(code int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		json.NewEncoder(w).Encode(v)
	}
	order := func(code int) {
		w.Header().Set("Location", at("/order/1"))
		o := map[string]any{
			"status": status(), "identifiers": []map[string]string{{"type": "dns", "value": "relay.test"}},
			"authorizations": []string{at("/authz/1")}, "finalize": at("/finalize/1"),
		}
		if a.issued != nil {
			o["certificate"] = at("/cert/1")
		}
		answer(code, o)
	}
	challenge := func() map[string]string {
		s := "pending"
		if a.proved {
			s = "valid"
		}
		return map[string]string{"type": "http-01", "url": at("/challenge/1"), "token": "token1", "status": s}
	}
	switch r.URL.Path {
	case "/directory":
		answer(200, map[string]any{"newNonce": at("/nonce"), "newAccount": at("/account"), "newOrder": at("/order"), "meta": map[string]string{"termsOfService": at("/terms")}})
	case "/nonce":
	case "/account":
		w.Header().Set("Location", at("/account/1"))
		answer(201, map[string]string{"status": "valid"})
	case "/order":
		order(201)
	case "/order/1":
		order(200)
	case "/authz/1":
		answer(200, map[string]any{
			"status": challenge()["status"], "identifier": map[string]string{"type": "dns", "value": "relay.test"}, "challenges": []any{challenge()},
		})
	case "/challenge/1":
		ask, err := http.NewRequest(http.MethodGet, "http://"+a.http+"/.well-known/acme-challenge/token1", nil)
		if err != nil {
			a.Error(err)
			return
		}
		ask.Host = "relay.test"
		resp, err := http.DefaultClient.Do(ask)
		if err != nil {
			a.Error(err)
			return
		}
		proof, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if a.proved = resp.StatusCode == 200 && strings.HasPrefix(string(proof), "token1."); !a.proved {
			a.Errorf("the proof is %d %q", resp.StatusCode, proof)
			http.Error(w, "no proof", http.StatusForbidden)
			return
		}
		answer(200, challenge())
	case "/finalize/1":
		var in struct{ CSR string }
		json.Unmarshal(payload, &in)
		der, _ := base64.RawURLEncoding.DecodeString(in.CSR)
		a.issue(der)
		order(200)
	case "/cert/1":
		w.Write(a.issued)
	default:
		a.Errorf("the authority was asked for %s", r.URL.Path)
	}
}

func (a *authority) issue(csr []byte) {
	req, err := x509.ParseCertificateRequest(csr)
	if err != nil {
		a.Error(err)
		return
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: req.DNSNames, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(90 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.root, req.PublicKey, a.key)
	if err != nil {
		a.Error(err)
		return
	}
	a.domains = req.DNSNames
	a.issued = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// A relay gets its certificate from an authority, is not ready before, and keeps it over a restart.
func TestACME(t *testing.T) {
	cache := t.TempDir()
	flags := acmeFlags{domains: "relay.test", cache: cache, http: "127.0.0.1:0"}
	c, err := newACMECertificate(flags, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	proof := httptest.NewServer(c.manager.HTTPHandler(http.NotFoundHandler()))
	defer proof.Close()
	ca := newAuthority(t, strings.TrimPrefix(proof.URL, "http://"))
	c.manager.Client.DirectoryURL = ca.URL + "/directory"

	if _, err := c.GetCertificate(&tls.ClientHelloInfo{ServerName: "relay.test"}); err == nil || c.ready() == nil {
		t.Error("it is ready without a certificate")
	}
	if c.Fingerprint() != (quicnet.Fingerprint{}) {
		t.Error("it has a fingerprint without a certificate")
	}
	if !c.refresh(t.Context()) {
		t.Fatal("it got no certificate")
	}
	if err := c.ready(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"relay.test", "", "other.test"} {
		cert, err := c.GetCertificate(&tls.ClientHelloInfo{ServerName: name})
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(cert.Certificate[0])
		if err != nil || leaf.VerifyHostname("relay.test") != nil || leaf.CheckSignatureFrom(ca.root) != nil {
			t.Errorf("%q got a certificate for %v, %v", name, leaf.DNSNames, err)
		}
	}
	if fmt.Sprint(ca.domains) != "[relay.test]" || c.Fingerprint() == (quicnet.Fingerprint{}) {
		t.Errorf("the authority was asked for %v", ca.domains)
	}

	// The cache holds it: the authority is not needed.
	again, err := newACMECertificate(acmeFlags{domains: "relay.test", cache: cache, http: "127.0.0.1:0", directory: "http://127.0.0.1:1/"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer again.close()
	if !again.refresh(t.Context()) || again.Fingerprint() != c.Fingerprint() {
		t.Error("the certificate was not kept")
	}
}

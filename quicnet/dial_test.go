package quicnet

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
)

func TestParseTarget(t *testing.T) {
	for _, tt := range []struct{ in, addr, transport, url string }{
		{"moqt://relay.example/app?x=y", "relay.example:443", "quic", "moqt://relay.example/app?x=y"},
		{"moqt://relay.example:4443", "relay.example:4443", "quic", "moqt://relay.example:4443/"},
		{"https://[::1]:4443/a%20b#x:y", "[::1]:4443", "webtransport", "https://[::1]:4443/a%20b"},
		{"https://127.0.0.1/", "127.0.0.1:443", "webtransport", "https://127.0.0.1/"},
	} {
		got, err := parseTarget(tt.in)
		if err != nil || got.String() != tt.addr || string(got.transport) != tt.transport || got.url.String() != tt.url {
			t.Errorf("%s: got %v %v %v, %v", tt.in, got, got.transport, got.url, err)
		}
	}
	for in, why := range map[string]string{
		"":                       `unknown scheme ""`,
		"localhost:4443":         `unknown scheme "localhost"`,
		"http://localhost:4443/": `unknown scheme "http"`,
		"moqt:///app":            "no host",
		"moqt://host:0/":         "bad port",
		"moqt://host:99999/":     "bad port",
		"moqt://host:x/":         "cannot be parsed",
		"moqt://user@host/":      "user names",
	} {
		_, err := Dial(t.Context(), in, DialConfig{})
		if _, ok := errors.AsType[*DialError](err); !ok || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: got %v, want %s", in, err, why)
		}
	}
}

// Each failure is one line that says what to do.
func TestCertificateErrors(t *testing.T) {
	good, err := NewDevCertificate(DevCertificateConfig{})
	if err != nil {
		t.Fatal(err)
	}
	pool := func(c CertificateSource) *x509.CertPool {
		cert, _ := c.GetCertificate(nil)
		p := x509.NewCertPool()
		p.AddCert(cert.Leaf)
		return p
	}
	old, err := selfSigned([]string{"127.0.0.1"}, time.Now().Add(-48*time.Hour), time.Now().Add(-24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	expired := new(current)
	expired.set(old)

	for _, tt := range []struct {
		name string
		cert CertificateSource
		cfg  DialConfig
		want string // empty: success
	}{
		{"fingerprint", good, DialConfig{Fingerprint: good.Fingerprint()}, ""},
		{"fingerprint of an expired one", expired, DialConfig{Fingerprint: expired.Fingerprint()}, ""},
		{"insecure", good, DialConfig{Insecure: true}, ""},
		{"root", good, DialConfig{RootCAs: pool(good)}, ""},
		{"root and name", good, DialConfig{RootCAs: pool(good), ServerName: "localhost"}, ""},
		{"wrong fingerprint", good, DialConfig{Fingerprint: Fingerprint{1}}, "not 0100000000000000000000000000000000000000000000000000000000000000: a development relay makes a new certificate at each start, get its fingerprint again"},
		{"unknown authority", good, DialConfig{RootCAs: x509.NewCertPool()}, "is not trusted (x509: certificate signed by unknown authority): use --tls-fingerprint with the value that the relay prints at its start or, for development, serves at http://127.0.0.1:"},
		{"other name", good, DialConfig{RootCAs: pool(good), ServerName: "relay.example"}, "is for another name (x509: certificate is valid for "},
		{"expired", expired, DialConfig{RootCAs: pool(expired)}, "is not valid now (x509: certificate has expired or is not yet valid: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			forEach(t, func(t *testing.T, tr moqt.Transport) {
				s := startServer(t, ListenConfig{Certificate: tt.cert})
				_, err := s.dial(tr, tt.cfg)
				if tt.want == "" {
					if err != nil {
						t.Error(err)
					}
					return
				}
				if err == nil {
					t.Fatal("no error")
				}
				text := err.Error()
				if !strings.HasPrefix(text, "cannot connect to 127.0.0.1:") || !strings.Contains(text, tt.want) || strings.Contains(text, "\n") {
					t.Errorf("got %q, want %q in it", text, tt.want)
				}
				eventually(t, "the server counts it", func() bool { return s.Stats().HandshakesFailed == 1 })
			})
		})
	}
}

func TestNoProtocol(t *testing.T) {
	bubble(t, 0, func(t *testing.T, tr moqt.Transport, n *simNet) {
		tc := TransportConfig{socket: n.socket}
		s := startServer(t, ListenConfig{TransportConfig: tc, Protocols: []string{"moqt-18", "moqt-16"}})
		synctest.Wait()
		_, err := s.dial(tr, DialConfig{TransportConfig: tc, Protocols: []string{"moqt-99"}})
		want := "no common MOQT version: the server speaks none of moqt-99 over quic, try the other scheme of moqt:// and https://"
		if tr == moqt.TransportWebTransport {
			want = `no common MOQT version: the server says "no common MOQT version, this server speaks moqt-18, moqt-16": this client speaks moqt-99`
		}
		if !errors.Is(err, moqt.ErrNoProtocol) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %v", err, want)
		}
		time.Sleep(time.Second)
		if st := s.Stats(); st.NoProtocol != 1 || st.Pending != 0 {
			t.Errorf("got %+v", st)
		}
	})
}

func TestServerChoosesProtocol(t *testing.T) {
	forEach(t, func(t *testing.T, tr moqt.Transport) {
		s := startServer(t, ListenConfig{Protocols: []string{"moqt-18", "moqt-17", "moqt-16"}})
		client, server := s.connect(tr, DialConfig{Protocols: []string{"moqt-19", "moqt-16", "moqt-17"}})
		for _, c := range []moqt.Conn{client, server} {
			if got := c.Info().Protocol; got != "moqt-17" {
				t.Errorf("server %v: got %s", c.Info().Server, got)
			}
		}
	})
}

func TestOriginDenied(t *testing.T) {
	s := startServer(t, ListenConfig{AllowedOrigins: []string{"https://Good.example"}})
	if _, err := s.dial(moqt.TransportWebTransport, DialConfig{}); err != nil {
		t.Errorf("no origin: %v", err)
	}
	if _, err := s.dial(moqt.TransportWebTransport, DialConfig{Origin: "https://good.example"}); err != nil {
		t.Errorf("allowed origin: %v", err)
	}
	_, err := s.dial(moqt.TransportWebTransport, DialConfig{Origin: "https://bad.example"})
	const want = `HTTP status 403 Forbidden, "origin \"https://bad.example\" is not allowed": the server does not allow this origin or client`
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestUnknownHost(t *testing.T) {
	_, err := Dial(t.Context(), "moqt://no-such-host.invalid:4443/", DialConfig{Timeout: 200 * time.Millisecond})
	if err == nil || !strings.HasPrefix(err.Error(), "cannot connect to no-such-host.invalid:4443: ") || !strings.HasSuffix(err.Error(), ": check the host name") {
		t.Errorf("got %v", err)
	}
	if _, err := Dial(canceled(), "moqt://no-such-host.invalid:4443/", DialConfig{}); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

func TestDialLocalhost(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "[::1]", "localhost", ""} {
		t.Run(host, func(t *testing.T) {
			cert, err := NewDevCertificate(DevCertificateConfig{})
			if err != nil {
				t.Fatal(err)
			}
			l, err := Listen(ListenConfig{Addr: host + ":0", Certificate: cert})
			if err != nil && host == "[::1]" {
				t.Skipf("no IPv6 here: %v", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			l.Close()
			s := startServer(t, ListenConfig{Addr: host + ":0", Certificate: cert})
			forEach(t, func(t *testing.T, tr moqt.Transport) {
				_, port, _ := net.SplitHostPort(s.Addrs()[0].String())
				for _, to := range []string{"localhost", "127.0.0.1", "[::1]"} {
					if to != "localhost" && (host == "127.0.0.1" || host == "[::1]") && to != host {
						continue // nobody listens there
					}
					c, err := Dial(t.Context(), scheme(tr)+"://"+to+":"+port+"/", DialConfig{Fingerprint: cert.Fingerprint(), TransportConfig: TransportConfig{OnSmallBuffers: func(SmallBuffers) {}}})
					if err != nil {
						t.Errorf("to %s: %v", to, err)
						continue
					}
					c.Close(0, "")
				}
			})
		})
	}
}

func TestSmallBuffersHook(t *testing.T) {
	var log logLines
	pc, err := listenUDP("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close()
	pc.(*net.UDPConn).SetReadBuffer(64 << 10)
	checkBuffers(pc, logSmallBuffers(log.logger()))
	if log.count("sysctl -w net.core.rmem_max") != 1 {
		t.Errorf("got %q", log.b.String())
	}
}

func TestInterleave(t *testing.T) {
	var in, want []netip.Addr
	for _, s := range []string{"2001:db8::1", "2001:db8::2", "192.0.2.1", "2001:db8::3"} {
		in = append(in, netip.MustParseAddr(s))
	}
	for _, s := range []string{"2001:db8::1", "192.0.2.1", "2001:db8::2", "2001:db8::3"} {
		want = append(want, netip.MustParseAddr(s))
	}
	if got := interleave(in); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := interleave(nil); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestRace(t *testing.T) {
	addrs := []*net.UDPAddr{{IP: net.IPv6loopback}, {IP: net.IPv4(127, 0, 0, 1)}, {IP: net.IPv4(127, 0, 0, 2)}}
	failing := errors.New("certificate")
	type answer struct {
		after time.Duration
		err   error
	}
	for _, tt := range []struct {
		name    string
		answers []answer
		want    time.Duration
		err     error
		tried   int
	}{
		{"first", []answer{{10 * time.Millisecond, nil}}, 10 * time.Millisecond, nil, 1},
		{"silent first", []answer{{time.Hour, nil}, {10 * time.Millisecond, nil}}, loopbackDelay + 10*time.Millisecond, nil, 2},
		{"failing first", []answer{{5 * time.Millisecond, failing}, {10 * time.Millisecond, nil}}, 15 * time.Millisecond, nil, 2},
		{"slow first", []answer{{35 * time.Millisecond, nil}, {time.Hour, nil}}, 35 * time.Millisecond, nil, 2},
		{"all silent but one", []answer{{time.Hour, nil}, {time.Millisecond, failing}, {time.Hour, nil}}, time.Second, failing, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				var tries atomic.Int32
				start := time.Now()
				c, err := race(ctx, addrs, func(ctx context.Context, addr *net.UDPAddr) (moqt.Conn, error) {
					a := tt.answers[tries.Add(1)-1]
					select {
					case <-time.After(a.after):
					case <-ctx.Done():
						return nil, ctx.Err()
					}
					if a.err != nil {
						return nil, a.err
					}
					c, _ := moqt.Pipe(moqt.PipeConfig{})
					return c, nil
				})
				if (c != nil) != (tt.err == nil) || !errors.Is(err, tt.err) {
					t.Errorf("got %v, %v", c, err)
				}
				if d := time.Since(start); d != tt.want || int(tries.Load()) != tt.tried {
					t.Errorf("took %v and %d tries, want %v and %d", d, tries.Load(), tt.want, tt.tried)
				}
			})
		})
	}
	if _, err := race(t.Context(), nil, nil); err == nil {
		t.Error("no address: no error")
	}
}

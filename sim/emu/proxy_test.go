package emu

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/moq-c4/moq-c4/cc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo answers each packet with the same bytes and ECN field, and each TCP connection
// with what it sent, in capitals. Both are on the same port.
func echo(t *testing.T, host string) string {
	t.Helper()
	udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(host)})
	if err != nil {
		t.Skipf("no address %s: %v", host, err)
	}
	prepareSocket(udp)
	tcp, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.ParseIP(host), Port: udp.LocalAddr().(*net.UDPAddr).Port})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{}, 2)
	go func() {
		defer func() { done <- struct{}{} }()
		r := newReader(udp)
		for {
			b, ecn, from, err := r.read()
			if err != nil {
				return
			}
			write(udp, b, ecn, from)
		}
	}()
	go func() {
		defer func() { done <- struct{}{} }()
		for {
			c, err := tcp.Accept()
			if err != nil {
				return
			}
			b, _ := io.ReadAll(c)
			io.WriteString(c, strings.ToUpper(string(b)))
			c.Close()
		}
	}()
	t.Cleanup(func() {
		udp.Close()
		tcp.Close()
		<-done
		<-done
	})
	return udp.LocalAddr().String()
}

// start runs a proxy to the echo server until the test ends.
func start(t *testing.T, c Config) *Proxy {
	t.Helper()
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	p, err := Listen(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return p
}

// dial returns a socket whose reads end with the test's patience.
func dial(t *testing.T, to *net.UDPAddr) *net.UDPConn {
	t.Helper()
	c, err := net.DialUDP("udp", nil, to)
	if err != nil {
		t.Fatal(err)
	}
	prepareSocket(c)
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	t.Cleanup(func() { c.Close() })
	return c
}

// A packet takes twice the delay, arrives as it was sent, and its ECN field with it.
func TestProxy(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		t.Run(host, func(t *testing.T) {
			to := echo(t, host)
			p := start(t, Config{Listen: net.JoinHostPort(host, "0"), To: to, Link: parse(t, "rate=100Mbit/s delay=5ms queue=1bdp")})
			c := dial(t, p.Addr())
			r := newReader(c)
			for ecn := range cc.Codepoint(4) {
				sent := fmt.Sprint("packet ", ecn)
				begin := time.Now()
				if err := write(c, []byte(sent), ecn, netip.AddrPort{}); err != nil {
					t.Fatal(err)
				}
				b, got, _, err := r.read()
				if err != nil || string(b) != sent {
					t.Fatalf("got %q, %v", b, err)
				}
				if d := time.Since(begin); d < 10*ms {
					t.Errorf("there and back in %v", d)
				}
				if ECNSupported && got != ecn {
					t.Errorf("ECN field %d came back as %d", ecn, got)
				}
			}
			s := p.Stats()
			if s.Up.Delivered != 4 || s.Down.Delivered != 4 || s.ClientsAll != 1 || s.Up.Bytes != 4*8 {
				t.Errorf("%+v", s)
			}
			if b, err := json.Marshal(s); err != nil || !strings.Contains(string(b), `"wait_max_us"`) || !strings.Contains(string(b), `"late_max_us"`) {
				t.Errorf("%s, %v", b, err)
			}
		})
	}
}

// Clients have ports of their own, and answers find them. With links of their own they do not
// wait for each other.
func TestProxyClients(t *testing.T) {
	for _, perClient := range []bool{false, true} {
		to := echo(t, "127.0.0.1")
		p := start(t, Config{To: to, Link: parse(t, "rate=10Mbit/s delay=1ms queue=10ms"), PerClient: perClient, MaxClients: 3})
		for i := range 3 {
			c := dial(t, p.Addr())
			for range 20 {
				c.Write(make([]byte, 1250+i)) // 20 ms on the wire, twice what the queue holds
			}
			b := make([]byte, 2000)
			if n, err := c.Read(b); n != 1250+i || err != nil {
				t.Fatalf("client %d got %d bytes, %v", i, n, err)
			}
		}
		refused := dial(t, p.Addr())
		refused.Write([]byte("one too many"))
		fourth := dial(t, p.Addr()) // its packet comes after that
		fourth.Write([]byte("x"))
		for p.Stats().Refused < 2 {
			time.Sleep(time.Millisecond) // until the proxy has read them
		}
		s := p.Stats()
		if s.Clients != 3 || s.Up.DroppedQueue == 0 {
			t.Errorf("%+v", s)
		}
		if perClient != (p.shared == nil) {
			t.Error("wrong kind of link")
		}
	}
}

// A client that is idle is forgotten, with what was counted kept.
func TestProxyIdle(t *testing.T) {
	to := echo(t, "127.0.0.1")
	p := start(t, Config{To: to, Link: parse(t, "rate=10Mbit/s delay=1ms"), PerClient: true, IdleTimeout: 100 * ms})
	c := dial(t, p.Addr())
	for answered := false; !answered; { // on a busy machine a packet may take longer than the client is remembered
		c.Write([]byte("x"))
		c.SetReadDeadline(time.Now().Add(time.Second))
		_, err := c.Read(make([]byte, 10))
		answered = err == nil
	}
	for p.Stats().Clients > 0 {
		time.Sleep(time.Millisecond) // until the timeout has passed
	}
	if s := p.Stats(); s.Up.Delivered < 1 || s.Down.Delivered < 1 || s.ClientsAll < 1 {
		t.Errorf("%+v", s)
	}
}

// TCP goes through as it is, with its end.
func TestProxyTCP(t *testing.T) {
	to := echo(t, "127.0.0.1")
	p := start(t, Config{To: to, Link: parse(t, "for=1us rate=1kbit/s delay=1s; for=1h rate=0")})
	c, err := net.Dial("tcp", p.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "get it\n")
	c.(*net.TCPConn).CloseWrite()
	line, err := bufio.NewReader(c).ReadString('\n')
	if line != "GET IT\n" || err != nil {
		t.Errorf("got %q, %v", line, err)
	}
	if s := p.Stats(); s.TCP != 1 {
		t.Errorf("%+v", s)
	}
}

// A server that is not there yet does not end the proxy.
func TestProxyNoServer(t *testing.T) {
	nobody, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	to := nobody.LocalAddr().String()
	nobody.Close()
	p := start(t, Config{To: to, Link: parse(t, "rate=10Mbit/s delay=1ms")})
	c := dial(t, p.Addr())
	for range 10 {
		c.Write([]byte("x"))
	}
	for p.Stats().Up.Delivered < 10 {
		time.Sleep(time.Millisecond)
	}
	if _, err := p.client(t.Context(), c.LocalAddr().(*net.UDPAddr).AddrPort()); err != nil {
		t.Error(err)
	}
}

func TestListenErrors(t *testing.T) {
	link := parse(t, "rate=10Mbit/s delay=1ms")
	for _, c := range []Config{
		{Link: link},
		{To: "127.0.0.1:4443"},
		{To: "127.0.0.1:0", Link: link},
		{To: "127.0.0.1", Link: link},
		{To: "127.0.0.1:4443", Listen: "127.0.0.1:x", Link: link},
	} {
		if p, err := Listen(c); err == nil {
			p.close()
			t.Errorf("%+v was accepted", c)
		}
	}
	taken := start(t, Config{To: "127.0.0.1:4443", Link: link})
	if p, err := Listen(Config{To: "127.0.0.1:4443", Link: link, Listen: taken.Addr().String()}); err == nil {
		p.close()
		t.Error("a taken port was bound")
	}
}

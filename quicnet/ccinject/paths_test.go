//go:build linux

package ccinject

import (
	"crypto/tls"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/moq-c4/moq-c4/cc"
)

// recorded makes recorders of C4 for collect.
func recorded(c cc.Config) *recorder {
	r := new(recorder)
	newRecorder(r)(c)
	return r
}

// TestRebinding has a NAT forget the client in the middle: packets come from another port. The connection goes on, with a
// controller of ours that begins anew.
func TestRebinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := &link{rate: mbps(20), delay: 10 * time.Millisecond, queue: 100 * time.Millisecond}
		server, client := oobNetwork(t, down, &link{delay: 10 * time.Millisecond})
		servers := &collect[*recorder]{f: recorded}
		var m Monitor
		p := newPair(t, server, client, New(Config{
			Controller: servers.controller, Monitor: func([]string) *Monitor { return &m },
		}), nil)
		c, s := p.connect()
		transfer(t, s, c, 3e6)
		for port := range 2 {
			server.rebind(3000 + port)
			transfer(t, c, s, 1e5) // the server hears from there
			begin := time.Now()
			transfer(t, s, c, 3e6)
			if took := time.Since(begin); took > 1700*time.Millisecond {
				t.Errorf("3 MB took %v after the move", took)
			}
		}
		settle()
		if got, want := p.serverIn.Stats(), (Stats{Installed: 1, Reinstalled: 2}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if got := m.Snapshot(); got.Live != 1 || got.Reinstalled != 2 || got.Entered[StateInitial] < 3 {
			t.Errorf("monitor: %+v", got)
		}
		if s.RemoteAddr().String() != "10.0.0.2:3001" {
			t.Errorf("the server sends to %v", s.RemoteAddr())
		}
		for i, r := range servers.made {
			if r.State() == "initial" || r.samples < 100 {
				t.Errorf("path %d: %s, %d round trips", i, r.State(), r.samples)
			}
		}
		p.close()
		time.Sleep(time.Minute)
	})
}

// TestZeroRTT resumes a TLS session and sends before the handshake. The client's controller is installed while that data is in
// flight, and what it has not seen leave must not confuse it.
func TestZeroRTT(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := oobNetwork(t, &link{delay: 20 * time.Millisecond}, &link{rate: mbps(20), delay: 20 * time.Millisecond, queue: 100 * time.Millisecond})
		servers, clients := &collect[*recorder]{f: recorded}, &collect[*recorder]{f: recorded}
		p := newPair(t, server, client, New(Config{Controller: servers.controller}), New(Config{Controller: clients.controller}))
		conf := quicConfig()
		conf.Allow0RTT = true
		tlsConf, serverConf := p.serverIn.Server(p.server, serverTLS(), conf)
		ln, err := p.server.ListenEarly(tlsConf, serverConf)
		if err != nil {
			t.Fatal(err)
		}
		cache := tls.NewLRUClientSessionCache(1)
		for round := range 2 {
			ctlsConf := clientTLS()
			ctlsConf.ClientSessionCache = cache
			ctx, ctlsConf := p.clientIn.Client(t.Context(), p.client, ctlsConf, conf)
			c, err := p.client.DialEarly(ctx, p.server.Conn.LocalAddr(), ctlsConf, conf)
			if err != nil {
				t.Fatal(err)
			}
			accepted := make(chan *quic.Conn, 1)
			go func() {
				s, err := ln.Accept(t.Context())
				if err != nil {
					t.Error(err)
				}
				accepted <- s
			}()
			str, err := c.OpenUniStream()
			if err != nil {
				t.Fatal(err)
			}
			go str.Write(make([]byte, 2000)) // 0-RTT in the second round
			s := <-accepted
			early, err := s.AcceptUniStream(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(early, make([]byte, 2000)); err != nil {
				t.Fatal(err)
			}
			transfer(t, c, s, 2e6)
			settle() // and for the ticket
			if used := c.ConnectionState().Used0RTT; used != (round == 1) {
				t.Errorf("round %d: 0-RTT %v", round, used)
			}
			c.CloseWithError(0, "")
		}
		p.close()
		time.Sleep(time.Minute)
		for name, in := range map[string]*Injector{"server": p.serverIn, "client": p.clientIn} {
			if got, want := in.Stats(), (Stats{Installed: 2}); got != want {
				t.Errorf("%s: got %+v, want %+v", name, got, want)
			}
		}
		for i, r := range clients.made {
			if r.State() == "initial" || r.samples < 100 {
				t.Errorf("client %d: %s, %d round trips", i, r.State(), r.samples)
			}
		}
	})
}

// TestHandshakeLoss loses packets of the handshake, one by one and two in a row, in each direction. Each handshake succeeds, and each end
// has its controller.
func TestHandshakeLoss(t *testing.T) {
	for first := range 6 {
		for second := first; second < min(first+2, 6); second++ {
			for _, downstream := range []bool{true, false} {
				synctest.Test(t, func(t *testing.T) {
					down, up := &link{delay: 10 * time.Millisecond}, &link{delay: 10 * time.Millisecond}
					lossy := up
					if downstream {
						lossy = down
					}
					lossy.lose = func(n int) bool { return n == first || n == second }
					server, client := oobNetwork(t, down, up)
					p := newPair(t, server, client, New(Config{Controller: newC4}), New(Config{Controller: newC4}))
					begin := time.Now()
					c, s := p.connect()
					<-s.HandshakeComplete()
					transfer(t, s, c, 1e5)
					transfer(t, c, s, 1e5)
					took := time.Since(begin)
					p.close()
					time.Sleep(time.Minute)
					if took > 5*time.Second {
						t.Errorf("without packets %d and %d, downstream %v: %v", first, second, downstream, took)
					}
					for _, in := range []*Injector{p.serverIn, p.clientIn} {
						// A client that begins anew makes the server open two connections.
						if got := in.Stats(); got.Refused > 0 || got.Installed < 1 {
							t.Errorf("without packets %d and %d, downstream %v: %+v", first, second, downstream, got)
						}
					}
				})
			}
		}
	}
}

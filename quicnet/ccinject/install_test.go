package ccinject

import (
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/moq-c4/moq-c4/cc"
)

// collect makes controllers by f and keeps them.
type collect[T cc.Controller] struct {
	mu   sync.Mutex
	made []T
	f    func(cc.Config) T
}

func (c *collect[T]) controller(cfg cc.Config) cc.Controller {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctl := c.f(cfg)
	c.made = append(c.made, ctl)
	return ctl
}

func wide(cc.Config) *fixed { return &fixed{rate: mbps(200), window: 64 << 10} }

// TestBothEnds installs controllers on server and client, with and without a Retry.
func TestBothEnds(t *testing.T) {
	for _, retry := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			server, client := network(&link{delay: 10 * time.Millisecond}, &link{delay: 10 * time.Millisecond})
			servers, clients := &collect[*fixed]{f: wide}, &collect[*fixed]{f: wide}
			p := newPair(t, server, client, New(Config{Controller: servers.controller}), New(Config{Controller: clients.controller}))
			p.server.VerifySourceAddress = func(net.Addr) bool { return retry }
			c, s := p.connect()
			transfer(t, s, c, 3e5)
			transfer(t, c, s, 3e5)
			time.Sleep(100 * time.Millisecond) // for the last ACKs
			stats := c.ConnectionStats()
			p.close()
			time.Sleep(time.Minute)

			for _, end := range []*collect[*fixed]{servers, clients} {
				if len(end.made) != 1 {
					t.Fatalf("retry %v: %d controllers were made", retry, len(end.made))
				}
				f := end.made[0]
				if f.acked < 150 || f.lost > 0 || f.ptos > 0 || f.rtt.Min != 20*time.Millisecond {
					t.Errorf("retry %v: %+v", retry, f)
				}
			}
			if stats.PacketsLost != 0 {
				t.Errorf("retry %v: %+v", retry, stats)
			}
			for _, in := range []*Injector{p.serverIn, p.clientIn} {
				if in.Stats() != (Stats{Installed: 1}) {
					t.Errorf("retry %v: %+v", retry, in.Stats())
				}
			}
		})
	}
}

func TestNilInjector(t *testing.T) {
	var in *Injector
	tr, tlsConf, conf := &quic.Transport{}, clientTLS(), quicConfig()
	if a, b := in.Server(tr, tlsConf, conf); a != tlsConf || b != conf || tr.ConnContext != nil {
		t.Error("Server changed something")
	}
	if ctx, a := in.Client(t.Context(), tr, tlsConf, conf); ctx != t.Context() || a != tlsConf {
		t.Error("Client changed something")
	}
	if in.Stats() != (Stats{}) {
		t.Error(in.Stats())
	}
}

// TestHandshakeGetsThrough has a controller that allows nothing, and a path that loses
// the beginning.
func TestHandshakeGetsThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := &link{delay: 10 * time.Millisecond, cut: true}
		server, client := network(down, &link{delay: 10 * time.Millisecond})
		closed := func(cc.Config) cc.Controller { return &fixed{rate: 1, window: 0} }
		p := newPair(t, server, client, New(Config{Controller: closed}), New(Config{Controller: closed}))
		time.AfterFunc(time.Second, func() {
			down.mu.Lock()
			down.cut = false
			down.mu.Unlock()
		})
		c, s := p.connect()
		<-s.HandshakeComplete()
		transfer(t, s, c, 1000) // the least window, in its own time
		p.close()
		time.Sleep(time.Minute)
	})
}

// TestTimeout cuts the path in the middle. What quic-go drops without a word has to be
// found, or eras of C4 would never end.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := &link{rate: mbps(10), delay: 10 * time.Millisecond, queue: 50 * time.Millisecond}
		server, client := network(down, &link{delay: 10 * time.Millisecond})
		var r recorder
		p := newPair(t, server, client, New(Config{Controller: newRecorder(&r)}), nil)
		c, s := p.connect()
		for _, cut := range []bool{true, false} {
			time.AfterFunc(map[bool]time.Duration{true: time.Second, false: 2 * time.Second}[cut], func() {
				down.mu.Lock()
				down.cut = cut
				down.mu.Unlock()
			})
		}
		transfer(t, s, c, 3e6)
		p.close()
		time.Sleep(time.Minute)
		if r.ptos == 0 {
			t.Errorf("no packet was given up: %+v", r)
		}
	})
}

// TestAppLimited sends a little now and then.
func TestAppLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := network(&link{rate: mbps(20), delay: 10 * time.Millisecond, queue: time.Second}, &link{delay: 10 * time.Millisecond})
		f := &fixed{rate: mbps(20), window: 1 << 20}
		p := newPair(t, server, client, New(Config{Controller: func(cc.Config) cc.Controller { return f }}), nil)
		c, s := p.connect()
		time.Sleep(time.Second)
		for range 5 {
			transfer(t, s, c, 1e5)
			time.Sleep(200 * time.Millisecond)
		}
		p.close()
		time.Sleep(time.Minute)
		if f.dry < 5 || f.dry > 12 {
			t.Errorf("ran dry %d times in 5 bursts", f.dry)
		}
	})
}

// TestECNAndMigration sends over real sockets, where the kernel carries the marks, and moves the client
// to another socket in the middle.
func TestECNAndMigration(t *testing.T) {
	for _, mark := range []cc.Codepoint{cc.ECT1, cc.ECT0, cc.NotECT} {
		servers := &collect[*fixed]{f: func(cc.Config) *fixed { return &fixed{rate: mbps(100), window: 1 << 20, mark: mark} }}
		p := newPair(t, udp(t), udp(t), New(Config{Controller: servers.controller}), nil)
		c, s := p.connect()
		transfer(t, s, c, 1e6)

		other := &quic.Transport{Conn: udp(t)}
		path, err := c.AddPath(other)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := path.Probe(ctx); err != nil {
			t.Fatal(err)
		}
		if err := path.Switch(); err != nil {
			t.Fatal(err)
		}
		transfer(t, c, s, 1e5) // the server moves when it hears from there
		transfer(t, s, c, 1e6)
		p.close()
		other.Close()
		other.Conn.Close()

		want := Stats{Installed: 1, Reinstalled: 1}
		if got := p.serverIn.Stats(); got != want {
			t.Errorf("mark %d: got %+v, want %+v", mark, got, want)
		}
		if len(servers.made) != 2 {
			t.Fatalf("mark %d: %d controllers were made", mark, len(servers.made))
		}
		for i, f := range servers.made {
			if f.acked < 500 { // the last ones may be on their way
				t.Errorf("mark %d: path %d: %d packets acknowledged", mark, i, f.acked)
			}
			if (f.ect != [2]int64{}) != (mark != cc.NotECT) {
				t.Errorf("mark %d: path %d: counts %v", mark, i, f.ect)
			}
		}
		if last := servers.made[1].ect; mark == cc.ECT1 && (last[0] != 0 || last[1] < 1000) ||
			mark == cc.ECT0 && (last[0] < 1000 || last[1] != 0) {
			t.Errorf("mark %d: counts %v", mark, last)
		}
	}
}

var connections = flag.Int("connections", 30, "how many connections TestChurn opens and closes")

// TestChurn opens and closes connections while they transfer: run it with -race and with
// -gcflags=all=-d=checkptr, and with -connections 500.
func TestChurn(t *testing.T) {
	const workers = 6
	each := (*connections + workers - 1) / workers
	var made atomic.Int64
	var m Monitor
	in := New(Config{
		Controller: func(c cc.Config) cc.Controller {
			made.Add(1)
			return newC4(c)
		},
		Monitor: func([]string) *Monitor { return &m },
		Memory:  new(Memory),
	})
	p := newPair(t, udp(t), udp(t), in, in)
	var turn atomic.Int64
	p.server.VerifySourceAddress = func(net.Addr) bool { return turn.Add(1)%3 == 0 }
	p.listen()
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			s, err := p.ln.Accept(context.Background())
			if err != nil {
				return
			}
			wg.Go(func() {
				for {
					r, err := s.AcceptUniStream(context.Background())
					if err != nil {
						return
					}
					wg.Go(func() { // echoes
						w, err := s.OpenUniStream()
						if err != nil {
							return
						}
						w.SetPriority(2, false)
						io.Copy(w, r)
						w.Close()
					})
				}
			})
		}
	})
	var clients sync.WaitGroup
	for w := range workers {
		clients.Go(func() {
			for i := range each {
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				c, err := p.dial(ctx)
				cancel()
				if err != nil {
					t.Errorf("dial: %v", err)
					return
				}
				// Every other one is closed in the middle.
				n := 200_000
				if (w+i)%2 == 0 {
					time.AfterFunc(20*time.Millisecond, func() { c.CloseWithError(1, "") })
				}
				err = tryTransfer(c, c, n)
				if e := (*quic.ApplicationError)(nil); err != nil && !(errors.As(err, &e) && e.ErrorCode == 1) {
					t.Errorf("transfer: %v", err)
				}
				c.CloseWithError(0, "")
			}
		})
	}
	clients.Wait()
	p.ln.Close()
	p.close()
	wg.Wait()
	// A client that repeats its first packet while a Retry is on the way makes the server
	// open two connections.
	if got := in.Stats(); got.Refused > 0 || got.Installed < uint64(2*workers*each) || got.Installed+got.Reinstalled != uint64(made.Load()) {
		t.Errorf("got %+v, %d controllers", got, made.Load())
	}
	for begin := time.Now(); m.Snapshot().Live > 0; time.Sleep(time.Millisecond) {
		if time.Since(begin) > 10*time.Second {
			t.Fatalf("%d connections are still counted", m.Snapshot().Live)
		}
	}
	if got := m.Snapshot(); got.Installed != in.Stats().Installed || got.Entered[StateInitial] < got.Installed {
		t.Errorf("monitor: %+v", got)
	}
}

package emu

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// Proxy forwards UDP between clients and one server over an emulated link.
type Proxy struct {
	cfg Config
	log *slog.Logger
	to  *net.UDPAddr
	udp *net.UDPConn
	tcp *net.TCPListener // nil with Config.NoTCP

	begun time.Time

	running sync.WaitGroup // what Run has started

	mu      sync.Mutex // guards what follows; taken before a wire's
	closed  bool
	clients map[netip.AddrPort]*client
	shared  *wire // nil before the first packet, and with PerClient
	seen    int64 // clients, ever
	refused int64 // packets of clients beyond MaxClients
	conns   int64 // TCP connections passed on
	full    int64 // TCP connections beyond maxConns
	gone    Stats // of the wires of clients that have left
}

// Listen binds the ports. Nothing is forwarded before Run.
func Listen(cfg Config) (*Proxy, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	to, err := resolve(cfg.To)
	if err != nil {
		return nil, err
	}
	p := &Proxy{cfg: cfg, log: cfg.Logger, to: to, begun: time.Now(), clients: make(map[netip.AddrPort]*client)}
	const tries = 10 // with port 0 the TCP port of the same number may be taken
	for i := range tries {
		if err = p.bind(); err == nil {
			break
		}
		if _, port, _ := net.SplitHostPort(cfg.Listen); port != "0" || i == tries-1 {
			return nil, err
		}
	}
	return p, nil
}

func (p *Proxy) bind() error {
	addr, err := net.ResolveUDPAddr("udp", p.cfg.Listen)
	if err != nil {
		return fmt.Errorf("address %q: %w", p.cfg.Listen, err)
	}
	if p.udp, err = net.ListenUDP("udp", addr); err != nil {
		return err
	}
	prepareSocket(p.udp)
	if p.cfg.NoTCP {
		return nil
	}
	local := p.udp.LocalAddr().(*net.UDPAddr)
	p.tcp, err = net.ListenTCP("tcp", &net.TCPAddr{IP: local.IP, Port: local.Port, Zone: local.Zone})
	if err != nil {
		p.udp.Close()
	}
	return err
}

// Addr is the address for clients, UDP and TCP.
func (p *Proxy) Addr() *net.UDPAddr { return p.udp.LocalAddr().(*net.UDPAddr) }

// Run forwards until ctx ends and returns nil then, or the error of the socket that
// failed. When it returns the ports are free. Call it once.
func (p *Proxy) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, p.close)
	defer stop()
	if p.tcp != nil {
		p.running.Go(func() { p.forwardTCP(ctx) })
	}
	err := p.readClients(ctx)
	stopped := ctx.Err() != nil
	cancel()
	p.close()
	p.running.Wait()
	if stopped && errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// close ends all that waits for a socket.
func (p *Proxy) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.udp.Close()
	if p.tcp != nil {
		p.tcp.Close()
	}
	for _, c := range p.clients {
		c.conn.Close()
	}
}

// readClients takes in what clients send.
func (p *Proxy) readClients(ctx context.Context) error {
	r := newReader(p.udp)
	failures := 0
	for {
		b, ecn, from, err := r.read()
		if err != nil {
			if failures++; errors.Is(err, net.ErrClosed) || failures > maxFailures {
				return err
			}
			continue
		}
		failures = 0
		c, err := p.client(ctx, from)
		if err != nil {
			p.log.Warn("a client cannot be served", "client", from, "error", err)
		}
		if c == nil {
			continue
		}
		c.used.Store(time.Now().UnixNano())
		c.wire.submit(Up, c, b, ecn)
	}
}

// maxFailures bounds the errors of a socket in a row. A port that nobody listens
// on gives one for each packet that was sent to it.
const maxFailures = 1000

// client returns the client with this address, nil if there are too many.
func (p *Proxy) client(ctx context.Context, addr netip.AddrPort) (*client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.clients[addr]; c != nil {
		return c, nil
	}
	if p.closed {
		return nil, nil
	}
	if len(p.clients) >= p.cfg.MaxClients {
		p.refused++
		return nil, nil
	}
	conn, err := net.DialUDP("udp", nil, p.to)
	if err != nil {
		return nil, err
	}
	prepareSocket(conn)
	c := &client{proxy: p, addr: addr, conn: conn, wire: p.shared}
	if c.wire == nil {
		seed := p.cfg.Seed
		if p.cfg.PerClient {
			seed += uint64(p.seen)
		}
		if c.wire, err = p.newWire(ctx, seed); err != nil {
			conn.Close()
			return nil, err
		}
		if !p.cfg.PerClient {
			p.shared = c.wire
		}
	}
	p.seen++
	p.clients[addr] = c
	p.log.Info("client", "address", addr, "clients", len(p.clients))
	p.running.Go(c.readServer)
	return c, nil
}

// forget ends a client that is idle or whose socket is closed.
func (p *Proxy) forget(c *client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.conn.Close()
	delete(p.clients, c.addr)
	if p.cfg.PerClient {
		c.wire.stop()
		p.gone.add(c.wire)
	}
	p.log.Info("client has left", "address", c.addr, "clients", len(p.clients))
}

// send puts a packet that has come through on its way.
func (p *Proxy) send(a *Arrival[datagram]) {
	c := a.Packet.client
	var err error
	if a.Direction == Up {
		err = write(c.conn, a.Packet.b, a.ECN, netip.AddrPort{})
	} else {
		err = write(p.udp, a.Packet.b, a.ECN, c.addr)
	}
	if err != nil && !errors.Is(err, net.ErrClosed) {
		p.log.Debug("a packet was not sent", "client", c.addr, "direction", a.Direction.String(), "error", err)
	}
}

// datagram is a packet under way.
type datagram struct {
	b      []byte
	client *client
}

// codepoint is what is left of a TOS or traffic class byte.
func codepoint(tos byte) cc.Codepoint { return cc.Codepoint(tos & 3) }

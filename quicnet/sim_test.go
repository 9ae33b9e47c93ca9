package quicnet

import (
	"net"
	"os"
	"sync"
	"time"
)

// simNet is a network in memory for tests in virtual time.
type simNet struct {
	rate  int           // bytes per second that a socket can send; writing blocks meanwhile. 0: no limit
	delay time.Duration // one way

	mu    sync.Mutex
	conns map[string]*simConn
	port  int
	dead  map[string]bool // sockets whose packets are lost in both directions
}

func newSimNet(rate int, delay time.Duration) *simNet {
	return &simNet{rate: rate, delay: delay, conns: make(map[string]*simConn), dead: make(map[string]bool), port: 40000}
}

// socket is a socketFunc. All sockets are on 127.0.0.1.
func (n *simNet) socket(_, addr string) (net.PacketConn, error) {
	a, err := net.ResolveUDPAddr("udp4", addr)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	a.IP = net.IPv4(127, 0, 0, 1).To4()
	if a.Port == 0 {
		n.port++
		a.Port = n.port
	}
	c := &simConn{n: n, addr: a, arrived: make(chan struct{}, 1), writing: make(chan struct{}, 1)}
	n.conns[a.String()] = c
	return c, nil
}

// kill cuts the socket off.
func (n *simNet) kill(addr net.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dead[addr.String()] = true
}

type simPacket struct {
	at   time.Time
	from net.Addr
	b    []byte
}

type simConn struct {
	n    *simNet
	addr *net.UDPAddr

	writing chan struct{} // holds one token while a packet is being sent; a mutex would stop virtual time

	mu       sync.Mutex
	queue    []simPacket // in the order of arrival
	arrived  chan struct{}
	deadline time.Time
	closed   bool
}

func (c *simConn) WriteTo(b []byte, to net.Addr) (int, error) {
	c.writing <- struct{}{}
	defer func() { <-c.writing }()
	if c.n.rate > 0 {
		time.Sleep(time.Duration(len(b)) * time.Second / time.Duration(c.n.rate))
	}
	c.n.mu.Lock()
	peer := c.n.conns[to.String()]
	lost := c.n.dead[c.addr.String()] || c.n.dead[to.String()]
	c.n.mu.Unlock()
	if peer != nil && !lost {
		peer.mu.Lock()
		peer.queue = append(peer.queue, simPacket{time.Now().Add(c.n.delay), c.addr, append([]byte(nil), b...)})
		peer.mu.Unlock()
		peer.wake()
	}
	return len(b), nil
}

func (c *simConn) wake() {
	select {
	case c.arrived <- struct{}{}:
	default:
	}
}

func (c *simConn) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		c.mu.Lock()
		now := time.Now()
		var wait time.Duration = -1
		switch {
		case c.closed:
			c.mu.Unlock()
			return 0, nil, net.ErrClosed
		case !c.deadline.IsZero() && !now.Before(c.deadline):
			c.mu.Unlock()
			return 0, nil, os.ErrDeadlineExceeded
		case len(c.queue) > 0 && !now.Before(c.queue[0].at):
			p := c.queue[0]
			c.queue = c.queue[1:]
			c.mu.Unlock()
			return copy(b, p.b), p.from, nil
		case len(c.queue) > 0:
			wait = c.queue[0].at.Sub(now)
		}
		c.mu.Unlock()
		if wait < 0 {
			<-c.arrived
			continue
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-c.arrived:
		}
		t.Stop()
	}
}

func (c *simConn) Close() error {
	c.n.mu.Lock()
	if c.n.conns[c.addr.String()] == c {
		delete(c.n.conns, c.addr.String())
	}
	c.n.mu.Unlock()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.wake()
	return nil
}

func (c *simConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	c.deadline = t
	c.mu.Unlock()
	c.wake()
	return nil
}

func (c *simConn) LocalAddr() net.Addr              { return c.addr }
func (c *simConn) SetDeadline(time.Time) error      { return nil }
func (c *simConn) SetWriteDeadline(time.Time) error { return nil }

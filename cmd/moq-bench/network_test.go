package main

import (
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/sim/link"
)

// network is a network in memory for tests in virtual time. A host may sit behind a pair of links of the simulator;
// everything else is instantaneous.
type network struct {
	epoch time.Time
	seed  uint64 // of the jitter

	mu      sync.Mutex
	sockets map[string]*socket
	hosts   int
	lines   []*line
}

func newNetwork() *network { return &network{epoch: time.Now(), sockets: make(map[string]*socket)} }

// host opens the sockets of one host.
type host struct {
	n        *network
	ip       net.IP
	in, out  *line // nil: no delay
	port     int
	onPacket func(at time.Time, b []byte) // sees what leaves the host; may be nil
}

// addHost adds a host. down leads to it, up away from it; nil means no delay.
func (n *network) addHost(down, up *link.Params) *host {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hosts++
	h := &host{n: n, ip: net.IPv4(10, 0, 0, byte(n.hosts)).To4(), port: 40000}
	if down != nil {
		h.in, h.out = n.newLine(*down), n.newLine(*up)
	}
	return h
}

// socket is quicnet.TransportConfig.Socket.
func (h *host) socket(_, addr string) (net.PacketConn, error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	h.n.mu.Lock()
	defer h.n.mu.Unlock()
	p, _ := strconv.Atoi(port)
	if p == 0 {
		h.port++
		p = h.port
	}
	s := &socket{host: h, addr: &net.UDPAddr{IP: h.ip, Port: p}, arrived: make(chan struct{}, 1)}
	h.n.sockets[s.addr.String()] = s
	return s, nil
}

// close ends the network's goroutines.
func (n *network) close() {
	for _, l := range n.lines {
		close(l.done)
	}
}

func (n *network) deliver(p packet) {
	n.mu.Lock()
	s := n.sockets[p.to]
	n.mu.Unlock()
	if s == nil {
		return
	}
	s.mu.Lock()
	s.queue = append(s.queue, p)
	s.mu.Unlock()
	s.wake()
}

type packet struct {
	from net.Addr
	to   string
	b    []byte
}

// line moves the packets of one link when they are due.
type line struct {
	n    *network
	kick chan struct{}
	done chan struct{}

	mu   sync.Mutex
	link *link.Link[packet]
	then func(packet) // where what has arrived goes
	lose int          // so many of the next large packets are lost
	lost int
}

func (n *network) newLine(p link.Params) *line {
	l := &line{n: n, kick: make(chan struct{}, 1), done: make(chan struct{}), link: link.New[packet](p, n.seed+uint64(len(n.lines)), nil), then: n.deliver}
	n.lines = append(n.lines, l)
	go l.run()
	return l
}

func (l *line) submit(p packet) {
	l.mu.Lock()
	if l.lose > 0 && len(p.b) > 1000 {
		l.lose--
		l.lost++
		l.mu.Unlock()
		return
	}
	l.link.Submit(time.Since(l.n.epoch), int32(len(p.b)), cc.NotECT, p)
	l.mu.Unlock()
	l.wake()
}

// change puts other parameters into force.
func (l *line) change(p link.Params) {
	l.mu.Lock()
	l.link.Change(time.Since(l.n.epoch), p)
	l.mu.Unlock()
	l.wake()
}

// loseNext loses the next n large packets.
func (l *line) loseNext(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose = n
}

// queueDelay is how long a packet that is sent now waits for the line.
func (l *line) queueDelay() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.link.QueueDelay(time.Since(l.n.epoch))
}

func (l *line) wake() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

func (l *line) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		l.mu.Lock()
		now := time.Since(l.n.epoch)
		for {
			p, _, ok := l.link.Pop(now)
			if !ok {
				break
			}
			l.then(p)
		}
		next := l.link.Next()
		l.mu.Unlock()
		if next == link.Never {
			next = now + time.Hour
		}
		timer.Reset(next - now)
		select {
		case <-timer.C:
		case <-l.kick:
		case <-l.done:
			return
		}
	}
}

// socket is a net.PacketConn.
type socket struct {
	host    *host
	addr    *net.UDPAddr
	arrived chan struct{}

	mu       sync.Mutex
	queue    []packet
	deadline time.Time
	closed   bool
}

func (s *socket) WriteTo(b []byte, to net.Addr) (int, error) {
	p := packet{from: s.addr, to: to.String(), b: append([]byte(nil), b...)}
	if f := s.host.onPacket; f != nil {
		f(time.Now(), b)
	}
	n := s.host.n
	n.mu.Lock()
	peer := n.sockets[p.to]
	n.mu.Unlock()
	switch {
	case s.host.out != nil:
		s.host.out.submit(p)
	case peer != nil && peer.host.in != nil:
		peer.host.in.submit(p)
	default:
		n.deliver(p)
	}
	return len(b), nil
}

func (s *socket) wake() {
	select {
	case s.arrived <- struct{}{}:
	default:
	}
}

func (s *socket) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		s.mu.Lock()
		switch {
		case s.closed:
			s.mu.Unlock()
			return 0, nil, net.ErrClosed
		case !s.deadline.IsZero() && !time.Now().Before(s.deadline):
			s.mu.Unlock()
			return 0, nil, os.ErrDeadlineExceeded
		case len(s.queue) > 0:
			p := s.queue[0]
			s.queue = s.queue[1:]
			s.mu.Unlock()
			return copy(b, p.b), p.from, nil
		}
		wait := time.Hour
		if !s.deadline.IsZero() {
			wait = time.Until(s.deadline)
		}
		s.mu.Unlock()
		timer := time.NewTimer(wait)
		select {
		case <-s.arrived:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (s *socket) Close() error {
	s.host.n.mu.Lock()
	if s.host.n.sockets[s.addr.String()] == s {
		delete(s.host.n.sockets, s.addr.String())
	}
	s.host.n.mu.Unlock()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.wake()
	return nil
}

func (s *socket) SetReadDeadline(t time.Time) error {
	s.mu.Lock()
	s.deadline = t
	s.mu.Unlock()
	s.wake()
	return nil
}

func (s *socket) LocalAddr() net.Addr              { return s.addr }
func (s *socket) SetDeadline(time.Time) error      { return nil }
func (s *socket) SetWriteDeadline(time.Time) error { return nil }

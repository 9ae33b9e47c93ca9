//go:build linux

package realstack

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/net/ipv4"

	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/sim/emu"
)

// network is a server's and a client's socket with a link between.
type network struct {
	server, client *endpoint
	kick           chan struct{}
	done           chan struct{}

	mu    sync.Mutex // guards what follows
	start time.Time  // of the path's clock
	path  *emu.Path[packet]
	ect1  int // packets handed in that carried it
	big   int // packets dropped because they are larger than the path's MTU
}

type packet struct {
	b  []byte
	to *endpoint
}

// maxPacket is the path's MTU: the largest UDP payload that comes through. The reference's.
const maxPacket = 1440

var (
	serverAddr = &net.UDPAddr{IP: net.IPv4(10, 0, 0, 1).To4(), Port: 4443}
	clientAddr = &net.UDPAddr{IP: net.IPv4(10, 0, 0, 2).To4(), Port: 40000}
)

// newNetwork is for use in a synctest bubble. close it.
func newNetwork(t testing.TB, l emu.Link, seed uint64) *network {
	t.Helper()
	n := &network{start: time.Now(), kick: make(chan struct{}, 1), done: make(chan struct{})}
	var err error
	if n.path, err = emu.NewPath[packet](l, seed, 0, nil); err != nil {
		t.Fatal(err)
	}
	n.server, n.client = n.endpoint(serverAddr, emu.Down), n.endpoint(clientAddr, emu.Up)
	n.server.peer, n.client.peer = n.client, n.server
	go n.run()
	return n
}

func (n *network) close() { close(n.done) }

// restart lets the link's timeline begin at a time.
func (n *network) restart(at time.Time) {
	n.mu.Lock()
	n.path.Restart(time.Since(n.start), at.Sub(n.start))
	n.mu.Unlock()
	n.wake()
}

func (n *network) stats() (up, down emu.Counters) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.path.Stats()
}

func (n *network) wake() {
	select {
	case n.kick <- struct{}{}:
	default:
	}
}

// run delivers packets when they are due.
func (n *network) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		n.mu.Lock()
		now := time.Since(n.start)
		for {
			a, ok := n.path.Pop(now)
			if !ok {
				break
			}
			a.Packet.to.deliver(a.Packet.b, a.ECN)
		}
		next := n.path.Next()
		n.mu.Unlock()
		timer.Reset(min(next-now, time.Hour))
		select {
		case <-timer.C:
		case <-n.kick:
		case <-n.done:
			return
		}
	}
}

// endpoint is a socket. To quic-go it looks like the kernel's, see quic.OOBCapablePacketConn.
type endpoint struct {
	net  *network
	addr *net.UDPAddr
	peer *endpoint
	way  emu.Direction

	mu       sync.Mutex // guards what follows
	queue    []received
	deadline time.Time
	closed   bool
	arrived  chan struct{}
}

type received struct {
	b   []byte
	ecn cc.Codepoint
}

func (n *network) endpoint(addr *net.UDPAddr, way emu.Direction) *endpoint {
	return &endpoint{net: n, addr: addr, way: way, arrived: make(chan struct{}, 1)}
}

// open is quicnet's TransportConfig.Socket.
func (e *endpoint) open(string, string) (net.PacketConn, error) { return e, nil }

func (e *endpoint) deliver(b []byte, ecn cc.Codepoint) {
	e.mu.Lock()
	e.queue = append(e.queue, received{b, ecn})
	e.mu.Unlock()
	e.wake()
}

func (e *endpoint) wake() {
	select {
	case e.arrived <- struct{}{}:
	default:
	}
}

// ReadBatch reads what is there, at least one packet.
func (e *endpoint) ReadBatch(ms []ipv4.Message, _ int) (int, error) {
	for {
		e.mu.Lock()
		now := time.Now()
		switch {
		case e.closed:
			e.mu.Unlock()
			return 0, net.ErrClosed
		case !e.deadline.IsZero() && !now.Before(e.deadline):
			e.mu.Unlock()
			return 0, os.ErrDeadlineExceeded
		case len(e.queue) > 0:
			n := 0
			for n < len(ms) && n < len(e.queue) {
				p := &e.queue[n]
				m := &ms[n]
				m.N, m.Addr = copy(m.Buffers[0], p.b), e.peer.addr
				m.NN = putTOS(m.OOB, p.ecn)
				n++
			}
			e.queue = append(e.queue[:0], e.queue[n:]...)
			e.mu.Unlock()
			return n, nil
		}
		deadline := e.deadline
		e.mu.Unlock()
		if deadline.IsZero() {
			<-e.arrived
			continue
		}
		timer := time.NewTimer(deadline.Sub(now))
		select {
		case <-timer.C:
		case <-e.arrived:
		}
		timer.Stop()
	}
}

// WriteMsgUDP sends a packet, or several of them if the control messages ask for segmentation.
func (e *endpoint) WriteMsgUDP(b, oob []byte, _ *net.UDPAddr) (n, oobn int, err error) {
	e.mu.Lock()
	closed := e.closed
	e.mu.Unlock()
	if closed {
		return 0, 0, net.ErrClosed
	}
	ecn, segment := parseControl(oob)
	if segment == 0 {
		segment = max(1, len(b))
	}
	sent := len(b)
	e.net.mu.Lock()
	defer e.net.wake()
	defer e.net.mu.Unlock()
	for len(b) > 0 {
		p := b[:min(segment, len(b))]
		b = b[len(p):]
		if ecn == cc.ECT1 {
			e.net.ect1++
		}
		if len(p) > maxPacket {
			e.net.big++
			continue
		}
		e.net.path.Submit(time.Since(e.net.start), e.way, len(p), ecn, packet{append([]byte(nil), p...), e.peer})
	}
	return sent, len(oob), nil
}

func (e *endpoint) SetReadDeadline(t time.Time) error {
	e.mu.Lock()
	e.deadline = t
	e.mu.Unlock()
	e.wake()
	return nil
}

func (e *endpoint) Close() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.wake()
	return nil
}

var errUnused = errors.New("not used by quic-go on such a socket")

func (e *endpoint) ReadMsgUDP(_, _ []byte) (n, oobn, flags int, addr *net.UDPAddr, err error) {
	return 0, 0, 0, nil, errUnused
}
func (e *endpoint) ReadFrom([]byte) (int, net.Addr, error) { return 0, nil, errUnused }
func (e *endpoint) WriteTo(b []byte, a net.Addr) (int, error) {
	n, _, err := e.WriteMsgUDP(b, nil, nil)
	return n, err
}
func (e *endpoint) LocalAddr() net.Addr                   { return e.addr }
func (e *endpoint) SetDeadline(t time.Time) error         { return e.SetReadDeadline(t) }
func (e *endpoint) SetWriteDeadline(time.Time) error      { return nil }
func (e *endpoint) SetReadBuffer(int) error               { return nil }
func (e *endpoint) SetWriteBuffer(int) error              { return nil }
func (e *endpoint) SyscallConn() (syscall.RawConn, error) { return noOptions{}, nil }

// noOptions grants every socket option without looking at it: "don't fragment", ECN and
// segmentation offload.
type noOptions struct{}

func (noOptions) Control(func(uintptr)) error    { return nil }
func (noOptions) Read(func(uintptr) bool) error  { return nil }
func (noOptions) Write(func(uintptr) bool) error { return nil }

// putTOS writes the control message with which the kernel hands the TOS byte over.
func putTOS(b []byte, ecn cc.Codepoint) int {
	h := (*syscall.Cmsghdr)(unsafe.Pointer(&b[0]))
	h.Level, h.Type = syscall.IPPROTO_IP, syscall.IP_TOS
	h.SetLen(syscall.CmsgLen(1))
	b[syscall.CmsgLen(0)] = byte(ecn)
	return syscall.CmsgSpace(1)
}

const udpSegment = 103 // UDP_SEGMENT of linux/udp.h

// parseControl reads the control messages of a packet to be sent.
func parseControl(oob []byte) (ecn cc.Codepoint, segment int) {
	ms, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		panic(err)
	}
	for _, m := range ms {
		switch {
		case m.Header.Level == syscall.IPPROTO_IP && m.Header.Type == syscall.IP_TOS:
			ecn = cc.Codepoint(m.Data[0] & 3)
		case m.Header.Level == syscall.IPPROTO_UDP && m.Header.Type == udpSegment:
			segment = int(binary.NativeEndian.Uint16(m.Data))
		}
	}
	return ecn, segment
}

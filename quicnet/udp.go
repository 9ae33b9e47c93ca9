package quicnet

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
)

// socketBuffer is what quic-go asks the kernel for, in bytes and for each direction.
const socketBuffer = 7 << 20

// SmallBuffers are UDP buffer sizes in bytes as the kernel counts them (on Linux the double of
// what can be used), of which at least one is less than Wanted.
type SmallBuffers struct {
	Read, Write, Wanted int
}

// Remedy is the command that lets the kernel grant more.
func (SmallBuffers) Remedy() string {
	return "sysctl -w net.core.rmem_max=7500000 net.core.wmem_max=7500000"
}

func logSmallBuffers(log *slog.Logger) func(SmallBuffers) {
	return func(b SmallBuffers) {
		log.Warn("small UDP buffers lose packets in bursts",
			"read_bytes", b.Read, "write_bytes", b.Write, "wanted_bytes", b.Wanted, "remedy", b.Remedy())
	}
}

// socketFunc opens a UDP socket. network is "udp", "udp4" or "udp6".
type socketFunc func(network, addr string) (net.PacketConn, error)

func listenUDP(network, addr string) (net.PacketConn, error) {
	return net.ListenPacket(network, addr)
}

// silenceQUICGo keeps quic-go from printing its own, second warning about buffers; this is its only switch.
var silenceQUICGo = sync.OnceFunc(func() {
	const key = "QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING"
	if _, set := os.LookupEnv(key); !set {
		os.Setenv(key, "true")
	}
})

// checkBuffers reports if the kernel did not grant what quic-go has asked for when it took the socket.
func checkBuffers(pc net.PacketConn, report func(SmallBuffers)) {
	c, ok := pc.(*net.UDPConn)
	if !ok {
		return
	}
	b := SmallBuffers{Wanted: socketBuffer}
	b.Read, b.Write, ok = bufferSizes(c)
	if ok && (b.Read < socketBuffer || b.Write < socketBuffer) {
		report(b)
	}
}

// listenSockets opens the sockets of a server address: one, or for "localhost" one per address family,
// because a browser that is given the name tries ::1 and does not fall back.
func listenSockets(addr string, open socketFunc) ([]net.PacketConn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("listen address %q: want host:port or :port", addr)
	}
	if host != "localhost" {
		pc, err := open("udp", addr)
		if err != nil {
			return nil, err
		}
		return []net.PacketConn{pc}, nil
	}
	v4, err := open("udp4", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return nil, err
	}
	_, port, _ = net.SplitHostPort(v4.LocalAddr().String())
	v6, err := open("udp6", net.JoinHostPort("::1", port))
	if err != nil {
		return []net.PacketConn{v4}, nil // a machine without IPv6
	}
	return []net.PacketConn{v4, v6}, nil
}

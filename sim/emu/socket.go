package emu

import (
	"net"
	"net/netip"

	"github.com/moq-c4/moq-c4/cc"
)

// socketBuffer is what is asked of the kernel for each socket and direction, in
// bytes: the queue has to be in the link, not in the socket, and must not
// overflow there.
const socketBuffer = 4 << 20

// prepareSocket asks for room and for the ECN field. Neither is essential.
func prepareSocket(c *net.UDPConn) {
	_ = c.SetReadBuffer(socketBuffer)
	_ = c.SetWriteBuffer(socketBuffer)
	receiveECN(c)
}

// reader reads packets from a socket. Not for several goroutines.
type reader struct {
	conn   *net.UDPConn
	b, oob []byte
}

// maxDatagram is the largest UDP payload.
const maxDatagram = 65535

func newReader(c *net.UDPConn) *reader {
	return &reader{conn: c, b: make([]byte, maxDatagram), oob: make([]byte, 128)}
}

// read returns the next packet, which is valid until the next call.
func (r *reader) read() (b []byte, ecn cc.Codepoint, from netip.AddrPort, err error) {
	n, oobn, _, from, err := r.conn.ReadMsgUDPAddrPort(r.b, r.oob)
	if err != nil {
		return nil, 0, from, err
	}
	return r.b[:n], parseECN(r.oob[:oobn]), from, nil
}

// write sends a packet; to is invalid if the socket is connected.
func write(c *net.UDPConn, b []byte, ecn cc.Codepoint, to netip.AddrPort) error {
	addr := to.Addr()
	if !to.IsValid() {
		addr = c.RemoteAddr().(*net.UDPAddr).AddrPort().Addr()
	}
	_, _, err := c.WriteMsgUDPAddrPort(b, controlECN(ecn, addr), to)
	return err
}

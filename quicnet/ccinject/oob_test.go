//go:build linux

package ccinject

import (
	"encoding/binary"
	"errors"
	"net"
	"syscall"
	"testing"

	"golang.org/x/net/ipv4"
)

// oobEnd is an end whose packets carry an ECN field, so that quic-go uses ECN, and GSO and path MTU discovery as well. quic-go
// sets options on a real socket for that, through which no packet ever goes.
type oobEnd struct {
	*end
	options *net.UDPConn
}

// oobNetwork is network with ECN.
func oobNetwork(t *testing.T, down, up *link) (server, client *oobEnd) {
	a, b := network(down, up)
	ends := [2]*oobEnd{{end: a}, {end: b}}
	for _, e := range ends {
		e.options = udp(t).(*net.UDPConn)
	}
	return ends[0], ends[1]
}

func (e *oobEnd) Close() error {
	e.options.Close()
	return e.end.Close()
}

func (e *oobEnd) SyscallConn() (syscall.RawConn, error) { return e.options.SyscallConn() }
func (e *oobEnd) SetReadBuffer(int) error               { return nil }
func (e *oobEnd) SetWriteBuffer(int) error              { return nil }

func (e *oobEnd) ReadMsgUDP([]byte, []byte) (int, int, int, *net.UDPAddr, error) {
	return 0, 0, 0, nil, errors.New("quic-go reads batches")
}

// segmentSize is UDP_SEGMENT, which package syscall lacks.
const segmentSize = 103

// WriteMsgUDP sends what the control messages make of b: segments, with a mark.
func (e *oobEnd) WriteMsgUDP(b, oob []byte, _ *net.UDPAddr) (int, int, error) {
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return 0, 0, err
	}
	var mark byte
	size := len(b)
	for _, m := range messages {
		switch {
		case m.Header.Level == syscall.IPPROTO_IP && m.Header.Type == syscall.IP_TOS:
			mark = m.Data[0] & 3
		case m.Header.Level == syscall.IPPROTO_UDP && m.Header.Type == segmentSize:
			size = int(binary.NativeEndian.Uint16(m.Data))
		}
	}
	for rest := b; len(rest) > 0; {
		n := min(size, len(rest))
		e.out.send(rest[:n], mark)
		rest = rest[n:]
	}
	return len(b), len(oob), nil
}

// ReadBatch returns one packet.
func (e *oobEnd) ReadBatch(into []ipv4.Message, _ int) (int, error) {
	p, from, err := e.next()
	if err != nil {
		return 0, err
	}
	m := &into[0]
	m.N, m.Addr = copy(m.Buffers[0], p.b), from
	mark := make([]byte, syscall.CmsgSpace(1))
	binary.NativeEndian.PutUint64(mark, uint64(syscall.CmsgLen(1)))
	binary.NativeEndian.PutUint32(mark[8:], syscall.IPPROTO_IP)
	binary.NativeEndian.PutUint32(mark[12:], syscall.IP_TOS)
	mark[16] = p.ecn
	m.NN = copy(m.OOB, mark)
	return 1, nil
}

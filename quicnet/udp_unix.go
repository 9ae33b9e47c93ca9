//go:build unix

package quicnet

import (
	"net"
	"syscall"
)

// bufferSizes are the socket's buffers in bytes.
func bufferSizes(c *net.UDPConn) (read, write int, ok bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, 0, false
	}
	var rerr, werr error
	err = raw.Control(func(fd uintptr) {
		read, rerr = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF)
		write, werr = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF)
	})
	return read, write, err == nil && rerr == nil && werr == nil
}

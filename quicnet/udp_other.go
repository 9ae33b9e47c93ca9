//go:build !unix

package quicnet

import "net"

// bufferSizes cannot tell on this system.
func bufferSizes(*net.UDPConn) (read, write int, ok bool) { return 0, 0, false }

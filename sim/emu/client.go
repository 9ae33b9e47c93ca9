package emu

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"time"
)

// client is an address that packets came from, with a socket of its own towards
// the server, so that the server tells clients apart by their ports.
type client struct {
	proxy *Proxy
	addr  netip.AddrPort
	conn  *net.UDPConn
	wire  *wire
	used  atomic.Int64 // Unix time in ns at which something came from either side
}

// readServer takes in what the server sends to this client. It ends when the
// socket is closed or the client has been idle for long.
func (c *client) readServer() {
	defer c.proxy.forget(c)
	r := newReader(c.conn)
	idle := c.proxy.cfg.IdleTimeout
	failures := 0
	for {
		c.conn.SetReadDeadline(time.Now().Add(idle))
		b, ecn, _, err := r.read()
		switch {
		case err == nil:
			failures = 0
			c.used.Store(time.Now().UnixNano())
			c.wire.submit(Down, c, b, ecn)
		case errors.Is(err, os.ErrDeadlineExceeded):
			if time.Since(time.Unix(0, c.used.Load())) >= idle {
				return
			}
		default:
			if failures++; errors.Is(err, net.ErrClosed) || failures > maxFailures {
				return
			}
		}
	}
}

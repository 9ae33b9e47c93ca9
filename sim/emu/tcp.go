package emu

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// maxConns bounds the TCP connections passed on at a time.
const maxConns = 256

const tcpDialTimeout = 5 * time.Second

// forwardTCP passes connections on until the listener is closed.
func (p *Proxy) forwardTCP(ctx context.Context) {
	room := make(chan struct{}, maxConns)
	for {
		c, err := p.tcp.AcceptTCP()
		if err != nil {
			if ctx.Err() == nil {
				p.log.Warn("TCP is not passed on any more", "error", err)
			}
			return
		}
		select {
		case room <- struct{}{}:
		default: // a browser opens a handful
			c.Close()
			p.mu.Lock()
			p.full++
			p.mu.Unlock()
			continue
		}
		p.mu.Lock()
		p.conns++
		p.mu.Unlock()
		p.running.Go(func() {
			defer func() { <-room }()
			p.forwardConn(ctx, c)
		})
	}
}

func (p *Proxy) forwardConn(ctx context.Context, client *net.TCPConn) {
	defer client.Close()
	d := net.Dialer{Timeout: tcpDialTimeout}
	conn, err := d.DialContext(ctx, "tcp", p.to.String())
	if err != nil {
		p.log.Debug("TCP: the server does not answer", "error", err)
		return
	}
	server := conn.(*net.TCPConn)
	defer server.Close()
	stop := context.AfterFunc(ctx, func() {
		client.Close()
		server.Close()
	})
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { copyHalf(server, client) })
	both.Go(func() { copyHalf(client, server) })
	both.Wait()
}

// copyHalf passes on one direction and its end. If that cannot be done the
// connection is of no use.
func copyHalf(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil || to.CloseWrite() != nil {
		to.Close()
		from.Close()
	}
}

package quicnet

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
)

// pending is a connection from its first packet until Accept hands it over. Their number is bounded:
// each costs memory and, in its handshake, a signature, and the peer may have forged its address.
type pending struct {
	l    *Listener
	stop func() bool // stops waiting for the connection's end

	mu       sync.Mutex
	shaken   bool // the handshake is complete
	over     bool // handed over or ended
	reason   *atomic.Uint64
	deadline *time.Timer
}

type pendingKey struct{}

var errTooManyPending = errors.New("too many connections are in their handshake")

// newPending is called by quic-go for the first packet of each connection.
func (l *Listener) newPending(ctx context.Context, info *quic.ClientInfo) (context.Context, error) {
	if n := l.count.pending.Add(1); n > int64(l.cfg.MaxPending) {
		l.count.pending.Add(-1)
		l.count.refused.Add(1)
		return nil, errTooManyPending
	}
	p := &pending{l: l, reason: &l.count.setupFailed}
	p.stop = context.AfterFunc(ctx, func() { p.ended(context.Cause(ctx), info.RemoteAddr) })
	return context.WithValue(ctx, pendingKey{}, p), nil
}

// underPressure asks clients to prove their address.
func (l *Listener) underPressure(net.Addr) bool {
	return l.count.pending.Load() >= int64(max(1, l.cfg.MaxPending/4))
}

func pendingOf(qc *quic.Conn) *pending {
	return qc.Context().Value(pendingKey{}).(*pending)
}

// limit closes the connection if it is still pending after d.
func (p *pending) limit(qc *quic.Conn, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.deadline = time.AfterFunc(d, func() {
		p.blame(&p.l.count.setupTimeout)
		qc.CloseWithError(codeInternalError, "no session in time")
	})
}

// awaitHandshake returns false if the connection ended before the handshake was complete.
func (p *pending) awaitHandshake(qc *quic.Conn) bool {
	select {
	case <-qc.HandshakeComplete():
	case <-qc.Context().Done():
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shaken {
		p.shaken = true
		p.l.count.handshakesOK.Add(1)
	}
	return true
}

// blame says what to count when the connection ends without having been handed over.
func (p *pending) blame(c *atomic.Uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reason = c
}

// settle ends the pending state of a connection that became a session.
func (p *pending) settle() {
	p.stop()
	p.finish()
}

// finish returns false if the state had ended before.
func (p *pending) finish() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return false
	}
	p.over = true
	if p.deadline != nil {
		p.deadline.Stop()
	}
	p.l.count.pending.Add(-1)
	return true
}

func (p *pending) ended(cause error, remote net.Addr) {
	if !p.finish() {
		return
	}
	p.mu.Lock()
	shaken, reason := p.shaken, p.reason
	p.mu.Unlock()
	if !shaken {
		p.l.count.handshakesFailed.Add(1)
		if isNoProtocol(cause) {
			p.l.count.noProtocol.Add(1)
		}
		p.l.log.Debug("handshake failed", "remote", remote, "error", cause)
		return
	}
	reason.Add(1)
	p.l.log.Debug("connection ended before its session", "remote", remote, "error", cause)
}

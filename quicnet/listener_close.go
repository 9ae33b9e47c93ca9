package quicnet

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
)

// minCloseLinger is the least time for which a closing listener still answers late packets with
// CONNECTION_CLOSE, in case the first one got lost.
const minCloseLinger = 20 * time.Millisecond

// setupLinger bounds the wait for connections that are about to become sessions, to be closed properly.
const setupLinger = 250 * time.Millisecond

// stoppingReason is what the peers are told.
const stoppingReason = "server is stopping"

// Close ends the listener and every session of it, so that all peers know at once, and frees the port. It
// returns when all that is done. Who wants to say more than "server is stopping" closes the sessions before.
func (l *Listener) Close() error {
	if l.startClosing() {
		// Run was never called: there is nothing but the sockets.
		for _, s := range l.sockets {
			s.Close()
		}
		close(l.done)
	}
	<-l.done
	return nil
}

// startClosing is idempotent. It says whether the caller has to close the sockets, because Run will not.
func (l *Listener) startClosing() (neverRan bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.closed = true
	close(l.closing)
	return !l.running
}

// shutdown runs once, at the end of Run, with l.closed set.
func (l *Listener) shutdown(endpoints []endpoint) {
	for _, e := range endpoints {
		e.ln.Close() // refuses handshakes; the sessions go on
	}

	l.mu.Lock()
	open := maps.Clone(l.sessions)
	l.mu.Unlock()
	var last time.Duration
	var wg sync.WaitGroup
	for c, qc := range open {
		if c.Info().Transport == moqt.TransportQUIC { // WebTransport's Close waits by itself
			last = max(last, linger(qc, minCloseLinger))
		}
		wg.Go(func() { c.Close(codeNoError, stoppingReason) })
	}
	wg.Wait()
	l.awaitSetup(setupLinger)
	l.wt.Close() // connections without a session
	if last > 0 {
		time.Sleep(last)
	}

	for _, e := range endpoints {
		e.tr.Close() // ends what is left of the handshakes
	}
	l.serving.Wait()
	for _, s := range l.sockets {
		s.Close()
	}
}

// awaitSetup waits for connections on their way to a session, but not longer than d.
func (l *Listener) awaitSetup(d time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	l.serving.Go(func() { // ends with the connections at the latest
		l.settingUp.Wait()
		cancel()
	})
	waitDone(ctx, d)
}

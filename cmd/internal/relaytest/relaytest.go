// Package relaytest runs a relay in the process of a test, on a real socket: for tests of what talks to a relay.
package relaytest

import (
	"context"
	"sync"
	"testing"

	"github.com/moq-c4/moq-c4/quicnet"
	"github.com/moq-c4/moq-c4/relay"
)

// Relay is a relay on a port of its own of 127.0.0.1.
type Relay struct {
	*relay.Relay
	Addr string              // host and port
	Hash quicnet.Fingerprint // of its certificate
}

// Start runs a relay until the test ends. It speaks the given versions, all if there are none.
func Start(t testing.TB, protocols ...string) *Relay {
	t.Helper()
	cert, err := quicnet.NewDevCertificate(quicnet.DevCertificateConfig{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := quicnet.Listen(quicnet.ListenConfig{Addr: "127.0.0.1:0", Certificate: cert, Protocols: protocols})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		l.Close()
		running.Wait()
	})
	r := relay.New(relay.Config{})
	running.Go(func() { l.Run(ctx) })
	running.Go(func() { r.Run(ctx) })
	running.Go(func() {
		for {
			conn, err := l.Accept(ctx)
			if err != nil {
				return
			}
			running.Go(func() { r.Serve(ctx, conn) })
		}
	})
	return &Relay{Relay: r, Addr: l.Addrs()[0].String(), Hash: cert.Fingerprint()}
}

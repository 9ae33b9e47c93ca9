package main

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/c4"
	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/quicnet"
	"github.com/moq-c4/moq-c4/relay"
	"github.com/moq-c4/moq-c4/sim/link"
)

// stack is publisher, relay and subscribers in virtual time: everything is the real thing but the kernel's sockets. The
// publisher is next to the relay; the way to each subscriber is a pair of links of the simulator.
type stack struct {
	*testing.T
	ctx     context.Context
	net     *network
	relay   *relay.Relay
	origin  *origin
	server  *host
	addr    string
	running sync.WaitGroup

	sessions []*moqt.Session // of clients
}

// runStack runs f with a stack whose origin plays the synthetic call, and ends everything afterwards.
func runStack(t *testing.T, cfg relay.Config, f func(st *stack)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		st := &stack{T: t, ctx: ctx, net: newNetwork(), relay: relay.New(cfg)}
		st.server = st.net.addHost(nil, nil)
		st.addr = st.server.ip.String() + ":4443"
		cert, err := quicnet.NewDevCertificate(quicnet.DevCertificateConfig{})
		if err != nil {
			t.Fatal(err)
		}
		l, err := quicnet.Listen(quicnet.ListenConfig{
			Addr: st.addr, Certificate: cert,
			TransportConfig: quicnet.TransportConfig{Socket: st.server.socket, Controller: newC4},
		})
		if err != nil {
			t.Fatal(err)
		}
		if st.origin, err = newOrigin(benchNamespace); err != nil {
			t.Fatal(err)
		}
		var listening sync.WaitGroup
		listening.Go(func() { l.Run(context.Background()) })
		st.running.Go(func() { st.relay.Run(ctx) })
		st.running.Go(func() { st.origin.relay.Run(ctx) })
		st.running.Go(func() {
			for {
				conn, err := l.Accept(ctx)
				if err != nil {
					return
				}
				st.running.Go(func() { st.relay.Serve(ctx, conn) })
			}
		})
		up, down := moqt.Pipe(moqt.PipeConfig{})
		announced := make(chan struct{})
		st.running.Go(func() { st.relay.Serve(ctx, down) })
		st.running.Go(func() {
			st.origin.relay.Connect(ctx, up, moqt.Config{}, []wire.Namespace{benchNamespace}, func() { close(announced) })
		})
		<-announced
		f(st)
		// The clients first: two that close one connection would wait with a mutex, which stops virtual time.
		for _, s := range st.sessions {
			s.Close(wire.SessionNoError, "")
		}
		time.Sleep(time.Second) // for the relay to hear of it
		cancel()
		st.running.Wait()
		l.Close()
		listening.Wait()
		time.Sleep(time.Minute) // quic-go remembers closed connections for a while
		st.net.close()
	})
}

func newC4(c cc.Config) cc.Controller { return c4.New(c, c4.Default()) }

// play begins the call.
func (st *stack) play() {
	st.running.Go(func() { st.origin.play(st.ctx) })
	st.running.Go(func() { st.origin.pour(st.ctx) })
}

// path is the way to a subscriber: a rate in bit/s, the round trip without queues, and the bottleneck's queue.
func path(rate float64, rtt, queue time.Duration) (down, up *link.Params) {
	return &link.Params{Rate: rate, Delay: rtt / 2, Queue: queue}, &link.Params{Rate: 100e6, Delay: rtt / 2, Queue: time.Second}
}

// dial connects a host with the relay.
func (st *stack) dial(tr moqt.Transport, h *host) *moqt.Session {
	st.Helper()
	scheme := map[moqt.Transport]string{moqt.TransportQUIC: "moqt", moqt.TransportWebTransport: "https"}[tr]
	conn, err := quicnet.Dial(st.ctx, scheme+"://"+st.addr+"/", quicnet.DialConfig{
		Insecure: true, TransportConfig: quicnet.TransportConfig{Socket: h.socket},
	})
	if err != nil {
		st.Fatal(err)
	}
	s := moqt.New(conn, moqt.Config{Authority: st.addr, Path: "/"})
	st.sessions = append(st.sessions, s)
	st.running.Go(func() { s.Run(st.ctx) })
	if err := s.Ready(st.ctx); err != nil {
		st.Fatal(err)
	}
	return s
}

// watch lets a viewer receive from a host until the returned function is called.
func (st *stack) watch(tr moqt.Transport, h *host, v *viewer) (stop func()) {
	st.Helper()
	s := st.dial(tr, h)
	ctx, cancel := context.WithCancel(st.ctx)
	done := make(chan error, 1)
	ready := make(chan struct{})
	v.ready = func() { close(ready) }
	st.running.Go(func() { done <- v.watch(ctx, s) })
	select {
	case <-ready:
	case err := <-done:
		st.Fatal(err)
	}
	return func() {
		cancel()
		if err := <-done; err != nil {
			st.Error(err)
		}
	}
}

package main

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// Times of a run beside the measurement.
const (
	startTimeout = 30 * time.Second // for all subscribers to have subscribed
	settleTime   = 3 * time.Second  // for windows and buffers to have grown
)

var benchNamespace = wire.MustNamespace("bench", "call")

// load is a number of subscribers.
type load struct {
	counts    *counts
	measuring atomic.Bool
	ready     atomic.Int64

	running sync.WaitGroup
	mu      sync.Mutex
	err     error // the first that a subscriber ended with
	stop    context.CancelFunc
}

// startLoad runs n times receive and waits until all have called ready.
func startLoad(ctx context.Context, n int, receive func(ctx context.Context, l *load) error) (*load, error) {
	l := &load{counts: newCounts()}
	ctx, l.stop = context.WithCancel(ctx)
	for range n {
		l.running.Go(func() {
			if err := receive(ctx, l); err != nil && ctx.Err() == nil {
				l.mu.Lock()
				if l.err == nil {
					l.err = err
				}
				l.mu.Unlock()
			}
		})
	}
	deadline := time.Now().Add(startTimeout)
	for l.ready.Load() < int64(n) {
		if err := l.failed(); err != nil {
			return nil, l.end(err)
		}
		if time.Now().After(deadline) {
			return nil, l.end(fmt.Errorf("%d of %d subscribers are there after %v", l.ready.Load(), n, startTimeout))
		}
		if err := cli.Sleep(ctx, 20*time.Millisecond); err != nil {
			return nil, l.end(err)
		}
	}
	return l, nil
}

func (l *load) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// end stops all subscribers and waits for them.
func (l *load) end(err error) error {
	l.stop()
	l.running.Wait()
	return err
}

// measured is what a process under load did in a stretch of time.
type measured struct {
	Seconds   float64 `json:"seconds"`
	Delivered uint64  `json:"delivered_bytes"`
	CPU       float64 `json:"cpu_seconds"`
	RSS       int64   `json:"rss_bytes"` // at the end
}

// mbps is the rate of what was delivered, Mbit/s.
func (m measured) mbps() float64 { return float64(8*m.Delivered) / m.Seconds / 1e6 }

// cpuPerGB is the processor time per 10^9 bytes delivered, seconds.
func (m measured) cpuPerGB() float64 { return m.CPU / (float64(m.Delivered) / 1e9) }

// measure looks at a process and what its subscribers get for a while. p may be nil: then only the subscribers count.
func (l *load) measure(ctx context.Context, p *process, d time.Duration) (m measured, err error) {
	if err := cli.Sleep(ctx, settleTime); err != nil {
		return m, err
	}
	l.measuring.Store(true)
	defer l.measuring.Store(false)
	began, bytes := time.Now(), l.counts.bytes.Load()
	var cpu time.Duration
	if p != nil {
		if cpu, err = p.cpu(); err != nil {
			return m, err
		}
	}
	if err := cli.Sleep(ctx, d); err != nil {
		return m, err
	}
	m.Seconds, m.Delivered = time.Since(began).Seconds(), l.counts.bytes.Load()-bytes
	if p != nil {
		after, err := p.cpu()
		if err != nil {
			return m, err
		}
		m.CPU = (after - cpu).Seconds()
		if m.RSS, err = p.rss(); err != nil {
			return m, err
		}
	}
	return m, l.failed()
}

// freePort returns a UDP and TCP port of the loopback address that nobody uses now.
func freePort() (addr string, err error) {
	for range 20 {
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		udp, err := net.ListenPacket("udp", tcp.Addr().String())
		tcp.Close()
		if err == nil {
			udp.Close()
			return tcp.Addr().String(), nil
		}
	}
	return "", fmt.Errorf("no free port")
}

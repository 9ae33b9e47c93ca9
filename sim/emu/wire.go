package emu

import (
	"context"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// wire is a path with the goroutine that takes packets out of it when they are
// due. Its clock starts when it is made.
type wire struct {
	proxy  *Proxy
	start  time.Time
	nap    time.Duration // longest sleep that nothing interrupts
	cancel context.CancelFunc
	kick   chan struct{} // wakes run before the time it waits for

	mu    sync.Mutex // guards what follows
	path  *Path[datagram]
	until time.Duration // what run waits for
	late  lateness
}

// lateness says how punctual a wire was.
type lateness struct {
	packets  int64
	sum, max time.Duration
}

// burst bounds the packets that run takes out at once.
const burst = 64

// newWire is called with the proxy's lock.
func (p *Proxy) newWire(ctx context.Context, seed uint64) (*wire, error) {
	path, err := NewPath[datagram](p.cfg.Link, seed, p.cfg.MaxBytes, nil)
	if err != nil {
		return nil, err
	}
	w := &wire{proxy: p, start: time.Now(), nap: napMax, path: path, kick: make(chan struct{}, 1)}
	for _, ph := range p.cfg.Link.Phases {
		// a packet that is submitted during a nap is not due before its end
		w.nap = min(w.nap, max(napMin, min(ph.Up.Delay, ph.Down.Delay)))
	}
	ctx, w.cancel = context.WithCancel(ctx)
	p.running.Go(func() { w.run(ctx) })
	return w, nil
}

// Bounds of naps. The runtime's timers are up to 1 ms late, so that the last
// stretch before a packet is due is slept by the operating system's.
const (
	napMin = 100 * time.Microsecond
	napMax = time.Millisecond
)

// stop ends run. What is under way is lost.
func (w *wire) stop() { w.cancel() }

func (w *wire) submit(d Direction, c *client, b []byte, ecn cc.Codepoint) {
	w.mu.Lock()
	w.path.Submit(time.Since(w.start), d, len(b), ecn, datagram{append([]byte(nil), b...), c})
	wake := w.path.Next() < w.until
	w.mu.Unlock()
	if wake {
		select {
		case w.kick <- struct{}{}:
		default:
		}
	}
}

// run delivers until ctx ends.
func (w *wire) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	due := make([]Arrival[datagram], 0, burst)
	phase := -1
	for ctx.Err() == nil {
		w.mu.Lock()
		now := time.Since(w.start)
		due = due[:0]
		for len(due) < burst {
			a, ok := w.path.Pop(now)
			if !ok {
				break
			}
			w.late.add(now - a.At)
			due = append(due, a)
		}
		next, current := w.path.Next(), w.path.Phase()
		w.until = next
		w.mu.Unlock()

		if current != phase {
			phase = current
			w.logPhase(now, phase)
		}
		for i := range due {
			w.proxy.send(&due[i])
		}
		clear(due)
		if next > now {
			w.wait(ctx, timer, next)
		}
	}
}

// wait returns at the time until, or earlier.
func (w *wire) wait(ctx context.Context, timer *time.Timer, until time.Duration) {
	d := until - time.Since(w.start)
	if d <= 0 {
		return
	}
	if d <= 2*napMax {
		nap(min(d, w.nap))
		return
	}
	timer.Reset(min(d-napMax, time.Hour))
	select {
	case <-timer.C:
	case <-w.kick:
	case <-ctx.Done():
	}
}

func (w *wire) logPhase(now time.Duration, phase int) {
	ph := &w.proxy.cfg.Link.Phases[phase]
	w.proxy.log.Info("link", "at", now.Round(time.Millisecond), "down_bits_per_second", ph.Down.Rate, "up_bits_per_second", ph.Up.Rate,
		"delay", ph.Down.Delay, "queue", ph.Down.Queue, "jitter", ph.Down.Jitter)
}

func (l *lateness) add(d time.Duration) {
	l.packets++
	l.sum += d
	l.max = max(l.max, d)
}

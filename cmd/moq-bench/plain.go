package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/quicnet"
)

// rolePlain is the role of a process that sends the bytes of the synthetic call with quic-go alone: what
// the relay is compared to.
const rolePlain = "plain-sender"

// The synthetic call: bytes of the first and the other frames of a group, with what MOQT adds to each.
var (
	plainVideo = [2][2]int{{37_500, 3_750}, {62_500, 6_250}}
	plainAudio = 80
)

const (
	plainOverhead  = 16 // bytes: header, properties and length of an object
	framesPerGroup = 30
	framePeriod    = time.Second / 30
	audioPeriod    = 20 * time.Millisecond
)

// beat is a clock that many goroutines follow.
type beat struct {
	mu   sync.Mutex
	tick chan struct{}
}

func newBeat() *beat { return &beat{tick: make(chan struct{})} }

func (b *beat) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tick
}

func (b *beat) run(ctx context.Context, period time.Duration) {
	t := time.NewTicker(period)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			b.mu.Lock()
			close(b.tick)
			b.tick = make(chan struct{})
			b.mu.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

// runPlain sends to everyone who connects. As from a relay, frames go to all at the same time.
func runPlain(ctx context.Context, f *flags) error {
	cert, err := quicnet.NewDevCertificate(quicnet.DevCertificateConfig{})
	if err != nil {
		return err
	}
	l, err := quicnet.Listen(quicnet.ListenConfig{Addr: f.listen, Certificate: cert})
	if err != nil {
		return cli.Usage("--listen: %w", err)
	}
	var running sync.WaitGroup
	defer running.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	video, audio := newBeat(), newBeat()
	running.Go(func() { l.Run(ctx) })
	running.Go(func() { video.run(ctx, framePeriod) })
	running.Go(func() { audio.run(ctx, audioPeriod) })
	for {
		conn, err := l.Accept(ctx)
		if err != nil {
			return context.Cause(ctx)
		}
		for _, sizes := range plainVideo {
			running.Go(func() { sendPlainVideo(conn, video, sizes) })
		}
		running.Go(func() { sendPlainAudio(conn, audio) })
	}
}

func sendPlainVideo(conn moqt.Conn, b *beat, sizes [2]int) {
	ctx := conn.Context()
	frame := make([]byte, sizes[0]+plainOverhead)
	for {
		var stream moqt.SendStream
		for i := range framesPerGroup {
			select {
			case <-b.next():
			case <-ctx.Done():
				return
			}
			size := sizes[1]
			if i == 0 {
				size = sizes[0]
				var err error
				if stream, err = conn.OpenUniStream(ctx); err != nil {
					return
				}
			}
			if _, err := stream.Write(frame[:size+plainOverhead]); err != nil {
				return
			}
		}
		stream.Close()
	}
}

func sendPlainAudio(conn moqt.Conn, b *beat) {
	packet := make([]byte, plainAudio+plainOverhead)
	for {
		select {
		case <-b.next():
		case <-conn.Context().Done():
			return
		}
		if conn.SendDatagram(packet) != nil {
			return
		}
	}
}

// receivePlain reads all that a plain sender sends.
func receivePlain(ctx context.Context, d *cli.Dialer, c *counts) error {
	conn, err := dialPatiently(ctx, d)
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	defer conn.Close(0, "")
	running.Go(func() {
		for {
			b, err := conn.ReceiveDatagram(ctx)
			if err != nil {
				return
			}
			c.bytes.Add(uint64(len(b)))
		}
	})
	for {
		stream, err := conn.AcceptUniStream(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("plain sender: %w", err)
		}
		running.Go(func() {
			buf := make([]byte, 32<<10)
			for {
				n, err := stream.Read(buf)
				c.bytes.Add(uint64(n))
				if err != nil {
					if !errors.Is(err, io.EOF) && ctx.Err() == nil {
						c.lost.Add(1)
					}
					return
				}
			}
		})
	}
}

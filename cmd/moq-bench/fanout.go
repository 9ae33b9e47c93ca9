package main

import (
	"context"
	"fmt"
	"os"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/moqt"
)

// fanoutResult is one round of the fan-out: the relay, and plain quic-go with the same bytes.
type fanoutResult struct {
	Relay    measured `json:"relay"`
	IdleRSS  int64    `json:"relay_idle_rss_bytes"` // with a publisher and one subscriber, who has left
	Objects  uint64   `json:"objects"`
	Lost     uint64   `json:"lost"`
	AudioP99 float64  `json:"audio_delay_p99_ms"`
	VideoP99 float64  `json:"video_delay_p99_ms"`
	Plain    measured `json:"plain_quic"`
	PlainRSS int64    `json:"plain_quic_idle_rss_bytes"`
}

// fanout runs one round.
func fanout(ctx context.Context, f *flags) (r fanoutResult, err error) {
	if err := fanoutRelay(ctx, f, &r); err != nil {
		return r, fmt.Errorf("relay: %w", err)
	}
	if f.remote {
		return r, nil
	}
	if err := fanoutPlain(ctx, f, &r); err != nil {
		return r, fmt.Errorf("plain quic-go: %w", err)
	}
	return r, nil
}

func fanoutRelay(ctx context.Context, f *flags, r *fanoutResult) error {
	var relay *process
	publish, subscribe := f.dialer, f.dialer
	if !f.remote {
		addr, err := freePort()
		if err != nil {
			return err
		}
		if relay, err = start(ctx, f.relay, "--listen", addr, "--ops", "off", "--log-level", "warn"); err != nil {
			return err
		}
		defer relay.stop()
		publish.Local(f.log, "moqt", addr)
		subscribe.Local(f.log, map[string]string{"quic": "moqt", "webtransport": "https"}[f.transport], addr)
	}
	if err := awaitRelay(ctx, &publish); err != nil {
		return err
	}
	origin, err := startOrigin(ctx, &publish, "")
	if err != nil {
		return err
	}
	defer origin.stop()
	if relay != nil {
		// One subscriber first, so that what a track costs is not taken for what a subscriber costs.
		first, err := startLoad(ctx, 1, subscribeCall(&subscribe))
		if err != nil {
			return err
		}
		m, err := first.measure(ctx, relay, settleTime)
		if first.end(err) != nil {
			return err
		}
		r.IdleRSS = m.RSS
	}
	l, err := startLoad(ctx, f.subscribers, subscribeCall(&subscribe))
	if err != nil {
		return err
	}
	r.Relay, err = l.measure(ctx, relay, f.duration)
	if err := l.end(err); err != nil {
		return err
	}
	r.Objects, r.Lost = l.counts.objects.Load(), l.counts.lost.Load()
	r.AudioP99, r.VideoP99 = l.counts.quantile(audio, 0.99), l.counts.quantile(video, 0.99)
	return nil
}

func fanoutPlain(ctx context.Context, f *flags, r *fanoutResult) error {
	addr, err := freePort()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	sender, err := start(ctx, self, rolePlain, "--listen", addr)
	if err != nil {
		return err
	}
	defer sender.stop()
	d := f.dialer
	d.Local(f.log, map[string]string{"quic": "moqt", "webtransport": "https"}[f.transport], addr)
	if err := awaitRelay(ctx, &d); err != nil {
		return err
	}
	receive := func(ctx context.Context, l *load) error {
		l.ready.Add(1)
		return receivePlain(ctx, &d, l.counts)
	}
	first, err := startLoad(ctx, 1, receive)
	if err != nil {
		return err
	}
	m, err := first.measure(ctx, sender, settleTime)
	if first.end(err) != nil {
		return err
	}
	r.PlainRSS = m.RSS
	l, err := startLoad(ctx, f.subscribers, receive)
	if err != nil {
		return err
	}
	r.Plain, err = l.measure(ctx, sender, f.duration)
	return l.end(err)
}

// subscribeCall makes the function that receives the call for startLoad.
func subscribeCall(d *cli.Dialer) func(context.Context, *load) error {
	return func(ctx context.Context, l *load) error {
		s := subscriber{dialer: d, namespace: benchNamespace, counts: l.counts, measuring: &l.measuring, ready: func() { l.ready.Add(1) }}
		return s.run(ctx)
	}
}

// startOrigin starts a process that publishes at a relay, or listens itself if listen is set.
func startOrigin(ctx context.Context, d *cli.Dialer, listen string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{roleOrigin}
	if listen != "" {
		args = append(args, "--listen", listen)
	} else {
		args = append(args, d.Args()...)
	}
	return start(ctx, self, args...)
}

// awaitRelay waits until somebody accepts connections.
func awaitRelay(ctx context.Context, d *cli.Dialer) error {
	conn, err := dialPatiently(ctx, d)
	if err != nil {
		return err
	}
	return conn.Close(0, "")
}

// dialPatiently connects to a server that may be starting, or busy with the connections of all the others.
func dialPatiently(ctx context.Context, d *cli.Dialer) (moqt.Conn, error) {
	var backoff cli.Backoff
	for try := 1; ; try++ {
		conn, err := d.Dial(ctx)
		if err == nil {
			return conn, nil
		}
		if try == 8 {
			return nil, fmt.Errorf("no answer after %d attempts: %w", try, err)
		}
		if err := cli.Sleep(ctx, backoff.Next()/4); err != nil {
			return nil, err
		}
	}
}

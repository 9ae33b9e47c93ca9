package main

import (
	"context"
	"fmt"
)

// delayResult is one round of the delay measurement: capture to subscriber, ms.
type delayResult struct {
	Direct quantiles `json:"direct"`
	Relay  quantiles `json:"relay"`
}

type quantiles struct {
	AudioP50 float64 `json:"audio_p50"`
	AudioP99 float64 `json:"audio_p99"`
	VideoP50 float64 `json:"video_p50"`
	VideoP99 float64 `json:"video_p99"`
}

// delay runs one round: one subscriber directly at the publisher, then one through a relay.
func delay(ctx context.Context, f *flags) (r delayResult, err error) {
	if r.Direct, err = delayDirect(ctx, f); err != nil {
		return r, fmt.Errorf("direct: %w", err)
	}
	if r.Relay, err = delayRelay(ctx, f); err != nil {
		return r, fmt.Errorf("relay: %w", err)
	}
	return r, nil
}

func delayDirect(ctx context.Context, f *flags) (q quantiles, err error) {
	addr, err := freePort()
	if err != nil {
		return q, err
	}
	d := f.dialer
	d.Local(f.log, "moqt", addr)
	origin, err := startOrigin(ctx, &d, addr)
	if err != nil {
		return q, err
	}
	defer origin.stop()
	if err := awaitRelay(ctx, &d); err != nil {
		return q, err
	}
	return delayOf(ctx, f, subscribeCall(&d))
}

func delayRelay(ctx context.Context, f *flags) (q quantiles, err error) {
	addr, err := freePort()
	if err != nil {
		return q, err
	}
	d := f.dialer
	d.Local(f.log, "moqt", addr)
	relay, err := start(ctx, f.relay, "--listen", addr, "--ops", "off", "--log-level", "warn")
	if err != nil {
		return q, err
	}
	defer relay.stop()
	if err := awaitRelay(ctx, &d); err != nil {
		return q, err
	}
	origin, err := startOrigin(ctx, &d, "")
	if err != nil {
		return q, err
	}
	defer origin.stop()
	return delayOf(ctx, f, subscribeCall(&d))
}

func delayOf(ctx context.Context, f *flags, receive func(context.Context, *load) error) (q quantiles, err error) {
	l, err := startLoad(ctx, 1, receive)
	if err != nil {
		return q, err
	}
	_, err = l.measure(ctx, nil, f.duration)
	if err := l.end(err); err != nil {
		return q, err
	}
	return quantiles{
		AudioP50: l.counts.quantile(audio, 0.5), AudioP99: l.counts.quantile(audio, 0.99),
		VideoP50: l.counts.quantile(video, 0.5), VideoP99: l.counts.quantile(video, 0.99),
	}, nil
}

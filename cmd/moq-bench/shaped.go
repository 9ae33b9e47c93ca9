package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/sim/emu"
)

// The paths of the shaped measurements: 40 ms of round trip, and a queue of twice that.
const (
	busyLink  = "rate=4Mbit/s delay=20ms queue=80ms"
	slowLink  = "for=12s rate=2Mbit/s delay=20ms queue=80ms; rate=10Mbit/s delay=20ms queue=80ms"
	slowTime  = 12 * time.Second
	linkDelay = 20 * time.Millisecond
)

// shapedResult is one round of the measurements over an emulated bottleneck; times in ms.
type shapedResult struct {
	// The call with a bulk track behind it, on a path of 4 Mbit/s; "empty" is the same track alone on it.
	AudioEmptyP99 float64 `json:"audio_empty_p99"`
	AudioP99      float64 `json:"audio_p99"`
	LowEmptyP95   float64 `json:"low_empty_p95"`
	LowP95        float64 `json:"low_p95"`
	MidWhole      int     `json:"mid_groups_whole"`
	MidGivenUp    int     `json:"mid_groups_given_up"`
	BulkMbps      float64 `json:"bulk_mbps"`

	// The call on a path of 2 Mbit/s, and after it has become 10 Mbit/s.
	SlowAudioBeyond float64 `json:"slow_audio_p99_beyond_path"`
	SlowAudioLost   int     `json:"slow_audio_lost"`
	SlowLowFPS      float64 `json:"slow_low_fps"`
	SlowMidGivenUp  int     `json:"slow_mid_groups_given_up"`
	BackAfter       int     `json:"groups_until_whole_again"` // 0: the first that began on the fast path
}

// shaped runs one round.
func shaped(ctx context.Context, f *flags) (r shapedResult, err error) {
	addr, err := freePort()
	if err != nil {
		return r, err
	}
	d := f.dialer
	d.Local(f.log, "moqt", addr)
	relay, err := start(ctx, f.relay, "--listen", addr, "--ops", "off", "--log-level", "warn", "--cc", "c4")
	if err != nil {
		return r, err
	}
	defer relay.stop()
	if err := awaitRelay(ctx, &d); err != nil {
		return r, err
	}
	origin, err := startOrigin(ctx, &d, "")
	if err != nil {
		return r, err
	}
	defer origin.stop()
	if err := besideBulk(ctx, f, addr, &r); err != nil {
		return r, fmt.Errorf("4 Mbit/s: %w", err)
	}
	if err := onSlowPath(ctx, f, addr, &r); err != nil {
		return r, fmt.Errorf("2 Mbit/s: %w", err)
	}
	return r, nil
}

func besideBulk(ctx context.Context, f *flags, addr string, r *shapedResult) error {
	for _, m := range []struct {
		tracks []string
		take   func(v *viewer, from, to time.Time)
	}{
		{[]string{audioTrack}, func(v *viewer, from, to time.Time) {
			r.AudioEmptyP99 = millis(quantile(v.seen[audioTrack].delays(from, to), .99))
		}},
		{[]string{lowTrack}, func(v *viewer, from, to time.Time) {
			r.LowEmptyP95 = millis(quantile(v.seen[lowTrack].delays(from, to), .95))
		}},
		{[]string{audioTrack, lowTrack, midTrack, bulkTrack}, func(v *viewer, from, to time.Time) {
			r.AudioP99 = millis(quantile(v.seen[audioTrack].delays(from, to), .99))
			r.LowP95 = millis(quantile(v.seen[lowTrack].delays(from, to), .95))
			for _, g := range v.seen[midTrack].between(from, to.Add(-time.Second)) {
				if g.complete {
					r.MidWhole++
				} else {
					r.MidGivenUp++
				}
			}
			r.BulkMbps = 8 * float64(v.seen[bulkTrack].bytes) / time.Since(v.began).Seconds() / 1e6
		}},
	} {
		v := newViewer(benchNamespace, m.tracks, []string{midTrack})
		err := throughLink(ctx, f, addr, busyLink, v, func() error {
			if err := cli.Sleep(ctx, settleTime); err != nil {
				return err
			}
			from := time.Now()
			if err := cli.Sleep(ctx, f.duration); err != nil {
				return err
			}
			to := time.Now()
			if err := cli.Sleep(ctx, time.Second); err != nil { // what is under way
				return err
			}
			v.mu.Lock()
			defer v.mu.Unlock()
			m.take(v, from, to)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func onSlowPath(ctx context.Context, f *flags, addr string, r *shapedResult) error {
	v := newViewer(benchNamespace, []string{audioTrack, lowTrack, midTrack}, []string{midTrack})
	return throughLink(ctx, f, addr, slowLink, v, func() error {
		from := v.began.Add(settleTime)
		back := v.began.Add(slowTime)
		if err := cli.Sleep(ctx, time.Until(back.Add(7*time.Second))); err != nil {
			return err
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		to := back.Add(-time.Second)
		audio := v.seen[audioTrack].delays(from, to)
		r.SlowAudioBeyond = millis(quantile(audio, .99) - linkDelay)
		r.SlowAudioLost = max(0, int(to.Sub(from)/audioPeriod)-len(audio))
		r.SlowLowFPS = float64(len(v.seen[lowTrack].delays(from, to))) / to.Sub(from).Seconds()
		for _, g := range v.seen[midTrack].between(from, to) {
			if g.stopped {
				r.SlowMidGivenUp++
			}
		}
		after := v.seen[midTrack].between(back, back.Add(5*time.Second))
		r.BackAfter = slices.IndexFunc(after, func(g *groupSeen) bool { return g.complete })
		return nil
	})
}

// throughLink lets a viewer watch over an emulated link while measure runs.
func throughLink(ctx context.Context, f *flags, addr, spec string, v *viewer, measure func() error) error {
	l, err := emu.ParseLink(spec)
	if err != nil {
		return err
	}
	proxy, err := emu.Listen(emu.Config{Listen: "127.0.0.1:0", To: addr, Link: l, NoTCP: true})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { proxy.Run(ctx) })
	d := f.dialer
	d.Local(f.log, map[string]string{"quic": "moqt", "webtransport": "https"}[f.transport], proxy.Addr().String())
	ready, ended := make(chan struct{}), make(chan error, 1)
	v.began = time.Now() // the link's time begins with the first packet
	v.ready = sync.OnceFunc(func() { close(ready) })
	watching, leave := context.WithCancel(ctx)
	running.Go(func() {
		ended <- d.WithSession(watching, func(ctx context.Context, s *moqt.Session) error { return v.watch(ctx, s) })
	})
	defer leave()
	select {
	case <-ready:
	case err := <-ended:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return measure()
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

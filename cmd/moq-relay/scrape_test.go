//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/clitest"
	"github.com/moq-c4/moq-c4/cmd/internal/frames"
	"github.com/moq-c4/moq-c4/internal/ops"
	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/quicnet"
	"github.com/moq-c4/moq-c4/relay"
)

// BenchmarkScrape reads the metrics of a relay with 1,000 sessions, 20 tracks with series of their own and every
// histogram in use.
func BenchmarkScrape(b *testing.B) {
	const sessions, tracks = 1000, 20
	in := newInstruments(clitest.TestBuild)
	cfg := relay.Config{}
	in.attach(&cfg, 64)
	r := relay.New(cfg)
	in.export(r, new(quicnet.Listener), tracks)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { r.Run(ctx) })
	for range sessions {
		client, server := moqt.Pipe(moqt.PipeConfig{})
		s := moqt.New(client, moqt.Config{})
		running.Go(func() { r.Serve(ctx, server) })
		running.Go(func() { s.Run(ctx) })
		if err := s.Ready(ctx); err != nil {
			b.Fatal(err)
		}
	}
	for i := range tracks {
		t, err := r.Publish(wire.FullTrackName{Namespace: wire.MustNamespace("live"), Name: fmt.Sprint("video-", i)}, nil)
		if err != nil {
			b.Fatal(err)
		}
		t.Write(relay.LocalObject{Payload: make([]byte, 100)})
	}
	for s := range frames.NumStages {
		for _, kind := range []string{"audio", "video", "data", "x"} {
			for p := range 256 {
				for ms := range 200 {
					in.frames.Delay(s, kind, uint8(p)).Observe(time.Duration(ms*ms) * time.Millisecond / 10)
				}
			}
		}
	}
	server, err := ops.Listen(ctx, ops.ServerConfig{Addr: "127.0.0.1:0", Registry: in.reg})
	if err != nil {
		b.Fatal(err)
	}
	running.Go(func() { server.Run(ctx) })
	url := "http://" + server.Addr().String() + "/metrics"
	defer http.DefaultClient.CloseIdleConnections()
	var bytes int64
	began := cpu(b)
	for b.Loop() {
		resp, err := http.Get(url)
		if err != nil {
			b.Fatal(err)
		}
		bytes, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(bytes), "bytes/scrape")
	b.ReportMetric(float64((cpu(b)-began).Microseconds())/1000/float64(b.N), "cpu-ms/scrape")
}

// cpu is the processor time that the process has used, client included.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

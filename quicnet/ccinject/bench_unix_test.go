//go:build unix

package ccinject

import (
	"syscall"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/moq-c4/moq-c4/cc"
)

// BenchmarkLoopback sends 32 MB over real sockets under each controller in turn, and tells the processor time of both
// ends, in all and in relation to that of quic-go's own controller. Taking turns makes the ratio fair
// on a machine that has other work; twenty rounds or more give it to some percent:
//
//	go test -run xxx -bench Loopback -benchtime 40x ./quicnet/ccinject
func BenchmarkLoopback(b *testing.B) {
	const (
		size = 32 << 20
		gb   = size / 1e9
	)
	kinds := []struct {
		name         string
		f            Factory
		client, from *quic.Conn
		cpu          time.Duration
	}{
		{name: "stock"},
		{name: "adapter", f: func(cc.Config) cc.Controller { return &fixed{window: 128 << 10} }}, // alone, without pacing
		{name: "c4", f: newC4},
	}
	for i := range kinds {
		k := &kinds[i]
		var in *Injector
		if k.f != nil {
			in = New(Config{Controller: k.f})
		}
		p := newPair(b, udp(b), udp(b), in, nil)
		defer p.close()
		k.client, k.from = p.connect()
		transfer(b, k.from, k.client, size)
	}
	for b.Loop() {
		for i := range kinds {
			k := &kinds[i]
			begin := processorTime(b)
			transfer(b, k.from, k.client, size)
			k.cpu += processorTime(b) - begin
		}
	}
	for _, k := range kinds {
		b.ReportMetric(k.cpu.Seconds()/float64(b.N)/gb, k.name+"-s/GB")
		b.ReportMetric(k.cpu.Seconds()/kinds[0].cpu.Seconds(), k.name+"/stock")
	}
	b.ReportMetric(0, "ns/op")
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

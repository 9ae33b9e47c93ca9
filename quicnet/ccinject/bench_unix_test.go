//go:build unix

package ccinject

import (
	"syscall"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/c4"
	"github.com/moq-c4/moq-c4/cc"
)

// BenchmarkLoopback sends 64 MB over real sockets and tells the processor time of both ends.
// Use -count and take turns: a single figure says little.
func BenchmarkLoopback(b *testing.B) {
	for _, bb := range []struct {
		name string
		f    Factory
	}{
		{"stock", nil},
		{"unpaced", func(cc.Config) cc.Controller { return &fixed{window: 128 << 10} }}, // the adapter alone
		{"c4", func(c cc.Config) cc.Controller { return c4.New(c, c4.Default()) }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			const size = 64 << 20
			var in *Injector
			if bb.f != nil {
				in = New(Config{Controller: bb.f})
			}
			p := newPair(b, udp(b), udp(b), in, nil)
			defer p.close()
			c, s := p.connect()
			transfer(b, s, c, size/8)
			begin := processorTime(b)
			for b.Loop() {
				transfer(b, s, c, size)
			}
			b.SetBytes(size)
			b.ReportMetric((processorTime(b)-begin).Seconds()/float64(b.N)/size*1e9, "cpu-s/GB")
		})
	}
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

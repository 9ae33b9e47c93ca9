package ccinject

import (
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/moq-c4/moq-c4/c4"
	"github.com/moq-c4/moq-c4/cc"
)

// call sends, for d of virtual time, audio in datagrams of 80 bytes each 20 ms, and video at 30
// frames a second on a stream per group of one second: 100 kB at first, then 4 kB each. It
// returns the delays of the audio after the first two bursts, which show a controller the path.
func call(t *testing.T, d time.Duration, down, up *link, controller Factory) (delays []time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server, client := network(down, up)
		var in *Injector
		if controller != nil {
			in = New(Config{Controller: controller})
		}
		p := newPair(t, server, client, in, nil)
		c, s := p.connect()
		<-s.HandshakeComplete()
		begin := time.Now()
		received := make(chan []time.Duration, 1)
		go func() {
			var list []time.Duration
			for {
				b, err := c.ReceiveDatagram(c.Context())
				if err != nil {
					received <- list
					return
				}
				sent := time.Duration(binary.BigEndian.Uint64(b))
				if sent >= 1500*time.Millisecond {
					list = append(list, time.Since(begin)-sent)
				}
			}
		}()
		go discardStreams(c)
		go func() {
			for time.Since(begin) < d {
				s.SendDatagram(binary.BigEndian.AppendUint64(nil, uint64(time.Since(begin)))[:8:8])
				time.Sleep(20 * time.Millisecond)
			}
		}()
		var group *quic.SendStream
		for frame := 0; time.Since(begin) < d; frame++ {
			size := 4000
			if frame%30 == 0 {
				if group != nil {
					group.Close()
				}
				var err error
				if group, err = s.OpenUniStream(); err != nil {
					t.Fatal(err)
				}
				group.SetPriority(4, false)
				size = 100_000
			}
			group.Write(make([]byte, size))
			time.Sleep(time.Until(begin.Add(time.Duration(frame+1) * time.Second / 30)))
		}
		time.Sleep(time.Second)
		p.close()
		time.Sleep(time.Minute)
		delays = <-received
	})
	return delays
}

func worst(list []time.Duration) (longest, mean time.Duration) {
	for _, d := range list {
		longest = max(longest, d)
		mean += d / time.Duration(len(list))
	}
	return longest, mean
}

// TestAudioBesideVideo compares with quic-go's own controller: there, the first frame of each
// group waits in the network's queue with audio behind it. With C4 it waits in the
// sender, where audio passes.
func TestAudioBesideVideo(t *testing.T) {
	run := func(f Factory) (longest, mean time.Duration) {
		list := call(t, 10*time.Second,
			&link{rate: mbps(10), delay: 20 * time.Millisecond, queue: 100 * time.Millisecond},
			&link{delay: 20 * time.Millisecond}, f)
		if len(list) < 400 {
			t.Errorf("%d audio frames arrived", len(list))
		}
		return worst(list)
	}
	stockLongest, stockMean := run(nil)
	longest, mean := run(func(c cc.Config) cc.Controller { return c4.New(c, c4.Default()) })
	t.Logf("audio delay: stock mean %v, longest %v; c4 mean %v, longest %v", stockMean, stockLongest, mean, longest)
	if longest > stockLongest/2 || mean > stockMean {
		t.Errorf("c4 mean %v, longest %v; stock mean %v, longest %v", mean, longest, stockMean, stockLongest)
	}
}

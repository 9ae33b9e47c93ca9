package ccinject

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestRoomInFirstWindow has the first frame of a video fill the first window, and audio come a moment later. It must not wait for
// a round trip.
func TestRoomInFirstWindow(t *testing.T) {
	for _, rtt := range []time.Duration{10 * time.Millisecond, 40 * time.Millisecond, 120 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			down := &link{rate: mbps(10), delay: rtt / 2, queue: 100 * time.Millisecond}
			server, client := network(down, &link{delay: rtt / 2})
			p := newPair(t, server, client, New(Config{Controller: newC4}), nil)
			c, s := p.connect()
			<-s.HandshakeComplete()
			time.Sleep(rtt) // the handshake is confirmed
			begin := time.Now()
			go func() {
				str, err := s.OpenUniStream()
				if err != nil {
					t.Error(err)
					return
				}
				str.SetPriority(4, false)
				str.Write(make([]byte, 100_000))
			}()
			for _, after := range []time.Duration{2 * time.Millisecond, rtt * 2 / 5, rtt * 3 / 5} {
				time.Sleep(time.Until(begin.Add(after)))
				sent := time.Now()
				if err := s.SendDatagram(make([]byte, 100)); err != nil {
					t.Fatal(err)
				}
				if _, err := c.ReceiveDatagram(t.Context()); err != nil {
					t.Fatal(err)
				}
				waited := time.Since(sent) - rtt/2 - mbps(10).TimeFor(10*1280)
				t.Logf("RTT %v: audio %v after the video waited %v", rtt, after, waited)
				if waited > max(rtt/3, firstRTT) {
					t.Errorf("RTT %v: audio %v after the video waited %v", rtt, after, waited)
				}
			}
			p.close()
			time.Sleep(time.Minute)
		})
	}
}

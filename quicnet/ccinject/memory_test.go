package ccinject

import (
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

func addr(s string) net.Addr {
	a, err := net.ResolveUDPAddr("udp", net.JoinHostPort(s, "1234"))
	if err != nil {
		panic(err)
	}
	return a
}

func TestMemory(t *testing.T) {
	m := &Memory{MaxAge: time.Minute, MaxSize: 3}
	now := time.Unix(1_000_000, 0)
	seed := cc.Seed{Window: 100_000, RTT: 50 * time.Millisecond}
	half := cc.Seed{Window: 50_000, RTT: 50 * time.Millisecond}
	want := func(why, a string, at time.Duration, want cc.Seed) {
		t.Helper()
		if got, ok := m.take(addr(a), now.Add(at)); got != want || ok != (want != cc.Seed{}) {
			t.Errorf("%s: got %+v, %v", why, got, ok)
		}
	}
	m.put(addr("192.0.2.1"), seed, now)
	want("another address", "192.0.2.2", 0, cc.Seed{})
	want("half of it", "192.0.2.1", time.Minute, half)
	want("only once", "192.0.2.1", time.Minute, cc.Seed{})
	m.put(addr("192.0.2.1"), seed, now)
	want("the same in IPv6", "::ffff:192.0.2.1", 0, half)
	m.put(addr("192.0.2.1"), seed, now)
	want("too old", "192.0.2.1", time.Minute+1, cc.Seed{})
	m.put(addr("192.0.2.1"), seed, now)
	want("from the future", "192.0.2.1", -1, cc.Seed{})
	m.put(addr("2001:db8::1"), seed, now)
	want("the same network", "2001:db8::ffff:2", 0, half)
	m.put(addr("2001:db8::1"), seed, now)
	want("another network", "2001:db8:0:1::1", 0, cc.Seed{})
	for _, a := range []string{"127.0.0.1", "::1", "0.0.0.0"} {
		m.put(addr(a), seed, now)
		want("not on the network", a, 0, cc.Seed{})
	}
	m.put(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}, seed, now)
	m.put(addr("192.0.2.9"), cc.Seed{}, now)
	if m.Len() != 1 {
		t.Errorf("%d remembered", m.Len())
	}
	for i := range 10 {
		m.put(addr(fmt.Sprintf("192.0.2.%d", i)), seed, now.Add(time.Duration(i)))
	}
	if m.Len() != 3 || m.order.Len() != 3 {
		t.Errorf("%d remembered, in order %d", m.Len(), m.order.Len())
	}
	want("made room", "192.0.2.6", 0, cc.Seed{})
	want("the newest", "192.0.2.9", time.Second, half)
	m.put(addr("192.0.2.1"), seed, now.Add(time.Hour))
	if m.Len() != 1 {
		t.Errorf("%d remembered after an hour", m.Len())
	}
	var off *Memory
	off.put(addr("192.0.2.1"), seed, now)
	if _, ok := off.take(addr("192.0.2.1"), now); ok || off.Len() != 0 {
		t.Error("a nil Memory remembers")
	}
}

// TestCarefulResume makes two connections, one after the other. The path may change in between.
func TestCarefulResume(t *testing.T) {
	run := func(memory *Memory, n int, pause time.Duration, change func(down, up *link)) (took time.Duration, s Snapshot, dropped int) {
		synctest.Test(t, func(t *testing.T) {
			down := &link{rate: mbps(20), delay: 100 * time.Millisecond, queue: 200 * time.Millisecond}
			up := &link{delay: 100 * time.Millisecond}
			server, client := network(down, up)
			var m Monitor
			p := newPair(t, server, client, New(Config{
				Controller: newC4, Memory: memory, Monitor: func([]string) *Monitor { return &m },
			}), nil)
			c, from := p.connect()
			transfer(t, from, c, 4e6)
			c.CloseWithError(0, "")
			time.Sleep(pause)
			down.mu.Lock()
			if change != nil {
				change(down, up)
			}
			dropped = down.dropped
			down.mu.Unlock()

			begin := time.Now()
			c, err := p.dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if from, err = p.ln.Accept(t.Context()); err != nil {
				t.Fatal(err)
			}
			transfer(t, from, c, n)
			took = time.Since(begin)
			s = m.Snapshot()
			down.mu.Lock()
			dropped = down.dropped - dropped
			down.mu.Unlock()
			p.close()
			time.Sleep(time.Minute)
		})
		return took, s, dropped
	}
	without, _, _ := run(nil, 1e6, time.Second, nil)
	with, s, _ := run(&Memory{}, 1e6, time.Second, nil)
	t.Logf("1 MB over 20 Mbit/s and 200 ms: %v, with a seed %v", without, with)
	if s.SeedsOffered != 1 || s.SeedsUsed != 1 {
		t.Errorf("%d offered, %d used", s.SeedsOffered, s.SeedsUsed)
	}
	if with > without*85/100 {
		t.Errorf("%v with a seed, %v without", with, without)
	}

	took, s, _ := run(&Memory{}, 2e6, time.Second, func(down, up *link) { down.delay, up.delay = 20*time.Millisecond, 20*time.Millisecond })
	t.Logf("another path: %v, %d offered, %d used", took, s.SeedsOffered, s.SeedsUsed)
	if s.SeedsOffered != 1 || s.SeedsUsed != 0 {
		t.Errorf("another path: %d offered, %d used", s.SeedsOffered, s.SeedsUsed)
	}

	// A quarter of the rate is left. The jump must not cost much more than the usual start.
	slower := func(down, up *link) { down.rate /= 4 }
	without, _, droppedWithout := run(nil, 2e6, time.Second, slower)
	with, s, droppedWith := run(&Memory{}, 2e6, time.Second, slower)
	t.Logf("a quarter of the rate is left: %v, %d drops; with a seed %v, %d drops", without, droppedWithout, with, droppedWith)
	if with > without*120/100 {
		t.Errorf("a quarter of the rate: %v with a seed, %v without; %d used", with, without, s.SeedsUsed)
	}
}

package main

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/relay"
)

// pourInto keeps a track busy with 50 objects of the size a second, 10 to a group.
func (st *stack) pourInto(t *orderTrack, size int) {
	st.running.Go(func() {
		for n := uint64(0); st.ctx.Err() == nil; n++ {
			t.write(n/10, n%10, size)
			time.Sleep(20 * time.Millisecond)
		}
	})
}

// REQUEST_UPDATE changes priority and forward state of a running subscription within one round trip.
func TestUpdateWithinARoundTrip(t *testing.T) {
	const rate, slack = 4e6, 15 * time.Millisecond
	for _, tr := range transports {
		t.Run(string(tr), func(t *testing.T) {
			runStack(t, relay.Config{}, func(st *stack) {
				s := st.dial(tr, st.net.addHost(path(rate, pathRTT, pathQueue)))
				var subs [2]*moqt.Subscription
				var bytes [2]atomic.Int64
				for i, name := range []string{"a", "b"} {
					track := st.publish(&orderTrack{name: name})
					var err error
					subs[i], err = s.Subscribe(st.ctx, moqt.SubscribeRequest{
						Track:  wire.FullTrackName{Namespace: wire.MustNamespace("order"), Name: name},
						Params: wire.Params{SubscriberPriority: wire.Some(uint8(10 * (i + 1)))},
					})
					if err != nil {
						t.Fatal(err)
					}
					st.pourInto(track, 20_000)
					st.running.Go(func() { countBytes(st, subs[i], &bytes[i]) })
				}
				share := func(d time.Duration) (a, b int64) { // bytes of each within d
					a, b = bytes[0].Load(), bytes[1].Load()
					time.Sleep(d)
					return bytes[0].Load() - a, bytes[1].Load() - b
				}
				time.Sleep(settled)
				if a, b := share(time.Second); b > a/20 {
					t.Fatalf("the less urgent track got %d bytes beside %d", b, a)
				}

				// b overtakes a.
				update := func(i int, p wire.Params) {
					if _, err := subs[i].Update(st.ctx, p); err != nil {
						t.Error(err)
					}
				}
				go update(1, wire.Params{SubscriberPriority: wire.Some[uint8](5)})
				time.Sleep(pathRTT + slack)
				if a, b := share(time.Second); a > b/20 {
					t.Errorf("from a round trip after the update on: %d bytes of the track that was overtaken, %d of the other", a, b)
				}

				// b pauses: what is under way arrives, and then a has all.
				go update(1, wire.Params{Forward: wire.Some(false)})
				time.Sleep(pathRTT + slack)
				if a, b := share(time.Second); b > 0 || a < rate/8/2 {
					t.Errorf("from a round trip after the pause on: %d bytes of the paused track, %d of the other", b, a)
				}

				// And is back.
				go update(1, wire.Params{Forward: wire.Some(true)})
				time.Sleep(pathRTT + slack)
				if a, b := share(time.Second); a > b/20 {
					t.Errorf("from a round trip after the resumption on: %d bytes of the less urgent track, %d of the other", a, b)
				}
			})
		})
	}
}

// countBytes reads what a subscription brings.
func countBytes(st *stack, sub *moqt.Subscription, n *atomic.Int64) {
	for {
		in, err := sub.Next(st.ctx)
		if err != nil {
			return
		}
		st.running.Go(func() {
			for {
				if _, err := in.Subgroup.Next(); err != nil {
					return
				}
				for {
					b, err := in.Subgroup.ReadChunk()
					if err != nil {
						break
					}
					n.Add(int64(len(b)))
				}
			}
		})
	}
}

// An object that becomes ready while less urgent ones keep the path busy goes out with the next packet or the one after it.
func TestOnePacketAtMost(t *testing.T) {
	for _, tr := range transports {
		t.Run(string(tr), func(t *testing.T) {
			runStack(t, relay.Config{}, func(st *stack) {
				bulk := st.publish(&orderTrack{name: "bulk", subscriber: 20, publisher: 6})
				urgent := st.publish(&orderTrack{name: "urgent", subscriber: 10, publisher: 6})
				h := st.net.addHost(path(4e6, pathRTT, pathQueue))
				var mu sync.Mutex    // guards the next two
				var sent []time.Time // packets to the host, at the relay's socket
				var under []time.Duration
				st.server.onPacket = func(at time.Time, b []byte) {
					mu.Lock()
					defer mu.Unlock()
					if len(b) > 1000 {
						sent = append(sent, at)
						under = append(under, h.in.queueDelay())
					}
				}
				s := st.dial(tr, h)
				arrivals := make(chan arrival, 1000)
				st.receiveObjects(s, []*orderTrack{bulk, urgent}, arrivals)
				st.pourInto(bulk, 20_000)
				time.Sleep(settled)
				worst, waited := 0, time.Duration(0)
				for g := range uint64(40) {
					synctest.Wait()
					mu.Lock()
					before, ready := len(sent), time.Now()
					mu.Unlock()
					urgent.local.Write(relay.LocalObject{Group: g, Priority: urgent.publisher, Payload: make([]byte, 600), EndOfGroup: true})
					var at time.Time
					for at.IsZero() {
						if a := <-arrivals; a.track == urgent && a.group == g {
							at = a.at
						}
					}
					// The packet that brought it is the one that left so long ago.
					n := 0
					mu.Lock()
					for n < len(sent)-before && sent[before+n].Add(under[before+n]+pathRTT/2+3*time.Millisecond).Before(at) {
						n++
					}
					mu.Unlock()
					worst = max(worst, n)
					waited = max(waited, at.Sub(ready))
					time.Sleep(37 * time.Millisecond)
				}
				t.Logf("at most %d packets of a less urgent stream went before; it took %v at most", worst, waited)
				if worst > 1 {
					t.Errorf("%d packets of a less urgent stream went before", worst)
				}
			})
		})
	}
}

// A subscriber that never reads costs bounded memory and is told by resets, and the 49 others keep their delays.
func TestSubscriberThatNeverReads(t *testing.T) {
	const others = 49
	runStack(t, relay.Config{CacheTrackBytes: 8 << 20}, func(st *stack) {
		var viewers []*viewer
		var stops []func()
		for range others {
			v := newViewer(benchNamespace, []string{audioTrack}, nil)
			viewers = append(viewers, v)
			stops = append(stops, st.watch(moqt.TransportQUIC, st.net.addHost(path(10e6, pathRTT, pathQueue)), v))
		}
		big := st.publish(&orderTrack{name: "big", publisher: 6})
		s := st.dial(moqt.TransportQUIC, st.net.addHost(path(20e6, pathRTT, pathQueue)))
		sub, err := s.Subscribe(st.ctx, moqt.SubscribeRequest{Track: wire.FullTrackName{Namespace: wire.MustNamespace("order"), Name: "big"}})
		if err != nil {
			t.Fatal(err)
		}
		st.pourInto(big, 80_000) // 4 MB/s: in a moment more than its windows take
		time.Sleep(7 * time.Second)
		st.play()
		from, heap := time.Now(), heapNow()
		time.Sleep(5 * time.Second)
		to := time.Now()
		grown := heapNow() - heap
		time.Sleep(100 * time.Millisecond) // what is under way
		for _, stop := range stops {
			stop()
		}
		t.Logf("heap has grown by %d bytes while 20 MB came; %d streams were cut", grown, st.relay.Stats().Cuts[relay.CutLag].Load()+st.relay.Stats().Cuts[relay.CutEvicted].Load())
		if grown > 8<<20 {
			t.Errorf("heap has grown by %d bytes while 20 MB came", grown)
		}
		if n := st.relay.Stats().Cursors.Load(); n > 20 {
			t.Errorf("%d streams are open to it", n)
		}
		var all []time.Duration
		for _, v := range viewers {
			all = append(all, v.seen[audioTrack].delays(from, to)...)
		}
		if want := others * 250; len(all) < want {
			t.Errorf("%d of %d audio frames came to the others", len(all), want)
		}
		p99 := sortedQuantile(all, .99)
		t.Logf("audio p99 of the others is %v beyond the path", p99-pathRTT/2)
		if p99 > pathRTT/2+time.Millisecond {
			t.Errorf("audio p99 of the others is %v beyond the path", p99-pathRTT/2)
		}

		// When it reads at last, it sees what it has missed.
		ctx, cancel := context.WithTimeout(st.ctx, 30*time.Second)
		defer cancel()
		for {
			in, err := sub.Next(ctx)
			if err != nil {
				t.Fatalf("no stream was reset with TOO_FAR_BEHIND: %v", err)
			}
			for err == nil {
				if _, err = in.Subgroup.Next(); err == nil {
					_, err = io.Copy(io.Discard, in.Subgroup)
				}
			}
			var reset *moqt.StreamError
			if errors.As(err, &reset) && wire.StreamCode(reset.Code) == wire.StreamTooFarBehind {
				break
			}
		}
	})
}

// heapNow returns the bytes in use.
func heapNow() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

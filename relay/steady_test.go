package relay

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// long is how many times longer the tests of long runs take, by MOQ_LONG.
func long(t *testing.T) int {
	n := 1
	if v := os.Getenv("MOQ_LONG"); v != "" {
		if _, err := fmt.Sscan(v, &n); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// drain reads everything that a subscription brings, until it ends.
func (rt *relayTest) drain(s *moqt.Subscription) {
	rt.running.Go(func() {
		for {
			in, err := s.Next(rt.ctx)
			if err != nil {
				return
			}
			if in.Subgroup == nil {
				continue
			}
			for {
				if _, err := in.Subgroup.Next(); err != nil {
					break
				}
				for {
					if _, err := in.Subgroup.ReadChunk(); err != nil {
						break
					}
				}
			}
		}
	})
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// However many groups go through, the relay keeps nothing of those that have left the cache: at 100 groups per second
// the heap grows by less than 100 bytes a group, with and without subscribers.
func TestHeapIsFlat(t *testing.T) {
	for _, subscribers := range []int{0, 1, 8} {
		t.Run(fmt.Sprint(subscribers), func(t *testing.T) {
			runRelay(t, Config{Linger: time.Hour, CacheAge: time.Second}, func(rt *relayTest) {
				pub := rt.publisher()
				first := rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{})
				if subscribers == 0 {
					first.Close()
				} else {
					rt.drain(first)
				}
				for range subscribers - 1 {
					rt.drain(rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{}))
				}
				track := pub.track("video")
				payload := make([]byte, 50)
				group := uint64(0)
				send := func(n int) {
					for range n {
						w, err := track.OpenSubgroup(rt.ctx, moqt.SubgroupHeader{Group: group, FirstObject: true})
						if err != nil {
							t.Fatal(err)
						}
						w.WriteObject(moqt.ObjectHeader{}, payload)
						w.Close()
						group++
						time.Sleep(10 * time.Millisecond)
					}
					synctest.Wait()
				}
				send(500)
				before := heap()
				groups := 2000 / max(1, subscribers/4) * long(t)
				send(groups)
				if slope := float64(heap()-before) / float64(groups); slope > 100 {
					t.Errorf("the heap has grown by %.0f bytes per group", slope)
				}
			})
		})
	}
}

// Viewers come and go all the time, some without a word, while the tracks go on: nothing is left of them.
func TestChurn(t *testing.T) {
	const tracks, viewers, perSecond = 20, 10, 500
	runRelay(t, Config{Linger: 100 * time.Millisecond}, func(rt *relayTest) {
		pub := rt.publisher()
		peers := make([]*peer, viewers)
		for i := range peers {
			peers[i] = rt.dial(moqt.PipeConfig{})
		}
		synctest.Wait()
		before := runtime.NumGoroutine()

		ctx, stop := context.WithCancel(rt.ctx)
		rt.running.Go(func() { // the publisher
			for g := uint64(0); ctx.Err() == nil; g++ {
				pub.mu.Lock()
				asked := make([]*moqt.Publication, 0, len(pub.tracks))
				for _, p := range pub.tracks {
					asked = append(asked, p)
				}
				pub.mu.Unlock()
				for _, p := range asked {
					if w, err := p.OpenSubgroup(ctx, moqt.SubgroupHeader{Group: g}); err == nil {
						w.WriteObject(moqt.ObjectHeader{}, make([]byte, 100))
						w.Close()
					}
				}
				time.Sleep(50 * time.Millisecond)
			}
		})
		var busy [viewers][tracks]atomic.Bool
		rng := rand.New(rand.NewPCG(3, 4))
		for range perSecond * 2 * long(t) {
			v, tr := rng.IntN(viewers), rng.IntN(tracks)
			stay, crash := time.Duration(rng.IntN(300))*time.Millisecond, rng.IntN(100) == 0
			rt.running.Go(func() {
				if crash { // a session of its own, that is lost
					p := rt.dial(moqt.PipeConfig{})
					p.Subscribe(ctx, moqt.SubscribeRequest{Track: name(fmt.Sprint(tr))})
					time.Sleep(stay)
					p.conn.Lose(errors.New("killed"))
					return
				}
				if !busy[v][tr].CompareAndSwap(false, true) {
					return // one at a time
				}
				defer busy[v][tr].Store(false)
				s, err := peers[v].Subscribe(ctx, moqt.SubscribeRequest{Track: name(fmt.Sprint(tr))})
				if err != nil {
					t.Errorf("refused: %v", err)
					return
				}
				time.Sleep(stay)
				s.Close()
			})
			time.Sleep(time.Second / perSecond)
		}
		time.Sleep(10 * time.Second)
		stop()
		rt.eventually("nothing is left", func() bool {
			st := &rt.relay.stats
			return st.Tracks.Load()+st.Subscribers.Load()+st.Upstreams.Load()+st.Cursors.Load() == 0
		})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := runtime.NumGoroutine(); n > before+2 { // one that has just ended may be counted
			t.Errorf("%d goroutines, before %d", n, before)
		}
		if n := rt.relay.stats.Sessions.Load(); n != viewers+1 {
			t.Errorf("%d sessions, want %d", n, viewers+1)
		}
		rt.relay.mu.Lock()
		defer rt.relay.mu.Unlock()
		for s := range rt.relay.sessions {
			if len(s.tracks)+len(s.upstreams) > 0 {
				t.Errorf("a session has %d subscriptions and %d upstreams on its books", len(s.tracks), len(s.upstreams))
			}
		}
		if n := rt.relay.CacheBytes(); n != 0 {
			t.Errorf("the cache holds %d bytes", n)
		}
	})
}

package relay

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// A subscription that follows an announcement, at once or up to 5 ms later, is never refused: a thousand times, eight at a
// time, over paths of different length.
func TestAnnounceThenSubscribe(t *testing.T) {
	const rounds, parallel = 1000, 8
	runRelay(t, Config{}, func(rt *relayTest) {
		rng := rand.New(rand.NewPCG(1, 2))
		var workers sync.WaitGroup
		for worker := range parallel {
			// The random numbers are drawn here, so that every run has the same.
			latency := func() moqt.PipeConfig {
				return moqt.PipeConfig{Latency: time.Duration(rng.IntN(3)) * time.Millisecond}
			}
			pub, sub := rt.dial(latency()), rt.dial(latency())
			delays := make([]time.Duration, rounds/parallel)
			for i := range delays {
				delays[i] = time.Duration(max(0, rng.IntN(6000)-1000)) * time.Microsecond
			}
			rt.running.Go(func() {
				for {
					req, err := pub.Accept(rt.ctx)
					if err != nil {
						return
					}
					if s, ok := req.(*moqt.IncomingSubscribe); ok {
						s.Accept(moqt.AcceptSubscribe{})
					}
				}
			})
			workers.Go(func() {
				for i, delay := range delays {
					ns := wire.MustNamespace("race", strconv.Itoa(worker), strconv.Itoa(i))
					a, err := pub.PublishNamespace(rt.ctx, ns)
					if err != nil {
						t.Errorf("round %d of %d: announce: %v", i, worker, err)
						return
					}
					time.Sleep(delay)
					s, err := sub.Subscribe(rt.ctx, moqt.SubscribeRequest{Track: wire.FullTrackName{Namespace: ns, Name: "x"}})
					if err != nil {
						t.Errorf("round %d of %d, %v after the announcement: %v", i, worker, delay, err)
						return
					}
					s.Close()
					a.Withdraw()
				}
			})
		}
		workers.Wait()
	})
}

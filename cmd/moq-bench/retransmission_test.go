package main

import (
	"context"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/relay"
)

// afterLoss pours a less urgent track over a path of 4 Mbit/s, loses so many packets in a row, again and again, and
// returns how long small objects of a more urgent one take at most, sent each 10 ms from the loss on.
func afterLoss(t *testing.T, lose int) (worst time.Duration) {
	t.Helper()
	runStack(t, relay.Config{}, func(st *stack) {
		bulk := st.publish(&orderTrack{name: "bulk", subscriber: 20, publisher: 6})
		urgent := st.publish(&orderTrack{name: "urgent", subscriber: 10, publisher: 6})
		h := st.net.addHost(path(4e6, pathRTT, pathQueue))
		s := st.dial(moqt.TransportQUIC, h)
		drained := make(chan arrival, 1000)
		st.receiveObjects(s, []*orderTrack{bulk}, drained)
		st.running.Go(func() {
			for {
				select {
				case <-drained:
				case <-st.ctx.Done():
					return
				}
			}
		})
		arrivals := make(chan arrival, 1000)
		st.receiveObjects(s, []*orderTrack{urgent}, arrivals)
		ctx, end := context.WithCancel(st.ctx)
		st.running.Go(func() {
			for n := uint64(0); ctx.Err() == nil; n++ {
				bulk.write(n/50, n%50, 20_000)
				time.Sleep(20 * time.Millisecond)
			}
		})
		time.Sleep(settled)
		sent := make(map[uint64]time.Time)
		g := uint64(0)
		for range 10 {
			h.in.loseNext(lose)
			for range 20 {
				sent[g] = time.Now()
				urgent.local.Write(relay.LocalObject{Group: g, Priority: urgent.publisher, Payload: make([]byte, 600), EndOfGroup: true})
				g++
				time.Sleep(10 * time.Millisecond)
			}
			time.Sleep(500 * time.Millisecond)
		}
		end()
		for range g {
			a := <-arrivals
			worst = max(worst, a.at.Sub(sent[a.group]))
		}
	})
	return worst
}

// quic-go sends lost data before new data, whatever the urgencies. So what a less urgent stream has lost delays a more urgent one
// by the time that it takes to send it again, and by nothing else; an object can have been in a lost packet itself, and
// that takes a round trip and a half to be noticed and repaired.
func TestRetransmissionsOfOthers(t *testing.T) {
	const lose = 12
	const again = lose * 1400 * 8 * time.Second / 4e6
	clean, lossy := afterLoss(t, 0), afterLoss(t, lose)
	t.Logf("at most %v, and %v when %d packets in a row are lost, which take %v to send again", clean, lossy, lose, again)
	if limit := clean + pathRTT*3/2 + again; lossy > limit {
		t.Errorf("%v when %d packets are lost, want at most %v", lossy, lose, limit)
	}
}

package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/relay"
)

// orderTrack is one of many tracks of a session.
type orderTrack struct {
	name                  string
	subscriber, publisher uint8
	descending            bool
	local                 *relay.LocalTrack
}

// arrival is an object that has come whole.
type arrival struct {
	track         *orderTrack
	group, object uint64
	at            time.Time
}

// before reports whether the draft has a sent before b when both are there.
// [MOQT-18] Section 7.2, Scheduling Algorithm
func (a *arrival) before(b *arrival) bool {
	switch {
	case a.track.subscriber != b.track.subscriber:
		return a.track.subscriber < b.track.subscriber
	case a.track.publisher != b.track.publisher:
		return a.track.publisher < b.track.publisher
	case a.track != b.track:
		return false // an implementation's choice
	case a.group != b.group:
		return a.group < b.group != a.track.descending
	}
	return a.object < b.object
}

// receiveObjects subscribes to the tracks and sends what comes to arrivals.
func (st *stack) receiveObjects(s *moqt.Session, tracks []*orderTrack, arrivals chan<- arrival) {
	st.Helper()
	for _, t := range tracks {
		order := wire.GroupOrderAscending
		if t.descending {
			order = wire.GroupOrderDescending
		}
		sub, err := s.Subscribe(st.ctx, moqt.SubscribeRequest{
			Track: wire.FullTrackName{Namespace: wire.MustNamespace("order"), Name: t.name},
			Params: wire.Params{
				SubscriberPriority: wire.Some(t.subscriber), GroupOrder: wire.Some(order),
				Filter: wire.Some(wire.Filter{Type: wire.FilterLargestObject}),
			},
		})
		if err != nil {
			st.Fatal(err)
		}
		st.running.Go(func() {
			var groups sync.WaitGroup
			defer groups.Wait()
			for {
				in, err := sub.Next(st.ctx)
				if err != nil {
					return
				}
				groups.Go(func() {
					for {
						o, err := in.Subgroup.Next()
						if err != nil {
							return
						}
						if _, err := io.Copy(io.Discard, in.Subgroup); err == nil {
							arrivals <- arrival{t, in.Subgroup.Header().Group, o.ID, time.Now()}
						}
					}
				})
			}
		})
	}
}

// publish begins a track at the relay.
func (st *stack) publish(t *orderTrack) *orderTrack {
	st.Helper()
	var err error
	t.local, err = st.relay.Publish(wire.FullTrackName{Namespace: wire.MustNamespace("order"), Name: t.name}, nil)
	if err != nil {
		st.Fatal(err)
	}
	return t
}

func (t *orderTrack) write(group, object uint64, size int) {
	t.local.Write(relay.LocalObject{Group: group, Object: object, Priority: t.publisher, Payload: make([]byte, size)})
}

// 64 tracks of mixed priorities share a slow session: of any two objects, the one that the draft puts first arrives first.
// The classes are many more than quic-go has urgencies.
func TestOrderOfManyTracks(t *testing.T) {
	const size, groups, objects = 4000, 3, 2
	for _, tr := range transports {
		t.Run(string(tr), func(t *testing.T) {
			runStack(t, relay.Config{MaxLag: time.Minute, CacheAge: time.Minute}, func(st *stack) {
				rnd := rand.New(rand.NewPCG(1, 2))
				first := st.publish(&orderTrack{name: "first"})
				tracks := []*orderTrack{first}
				for i := range 64 {
					tracks = append(tracks, st.publish(&orderTrack{
						name: fmt.Sprintf("t%02d", i), subscriber: uint8(1 + rnd.IntN(4)), publisher: uint8(rnd.IntN(10)), descending: rnd.IntN(2) == 0,
					}))
				}
				s := st.dial(tr, st.net.addHost(path(2e6, pathRTT, pathQueue)))
				arrivals := make(chan arrival, 1024)
				st.receiveObjects(s, tracks, arrivals)
				synctest.Wait()
				first.write(0, 0, 300_000) // the connection learns its path
				<-arrivals
				// While this is under way all the others come, in any order.
				first.write(1, 0, 30_000)
				time.Sleep(time.Millisecond)
				rest := slices.Clone(tracks[1:])
				rnd.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
				for g := range uint64(groups) {
					for _, t := range rest {
						for o := range uint64(objects) {
							t.write(g, o, size)
						}
					}
				}
				for _, t := range rest {
					t.local.End() // the last group too has an end
				}
				var got []arrival
				for len(got) < 1+64*groups*objects {
					got = append(got, <-arrivals)
				}
				wrong := 0
				for i := range got {
					for j := range i {
						if got[i].before(&got[j]) && got[j].at.Before(got[i].at) {
							if wrong++; wrong <= 10 {
								a, b := &got[j], &got[i]
								t.Errorf("object %d of group %d of %+v came %v before %d of %d of %+v", a.object, a.group, *a.track, b.at.Sub(a.at), b.object, b.group, *b.track)
							}
						}
					}
				}
				if wrong > 0 {
					t.Errorf("%d pairs of %d objects are in the wrong order", wrong, len(got))
				}
			})
		})
	}
}

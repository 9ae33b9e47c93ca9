package relay

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// A catalog is written once. Whoever comes later has it at once.
func TestCatalogThatIsWrittenOnce(t *testing.T) {
	for _, datagrams := range []bool{false, true} {
		t.Run(fmt.Sprintf("other datagrams %v", datagrams), func(t *testing.T) {
			runRelay(t, Config{}, func(rt *relayTest) {
				pub := rt.publisher()
				first := rt.dial(moqt.PipeConfig{}).subscribe("catalog", wire.Params{})
				pub.groups("catalog", 1, 1)
				rt.wantGroup(first, 1, 0, 1)
				for _, wait := range []time.Duration{0, 10 * time.Second, 50 * time.Second, time.Hour} {
					if datagrams {
						pub.track("catalog").SendDatagram(moqt.Datagram{Group: 1, Object: 1, HasPriority: true})
					}
					time.Sleep(wait)
					began := time.Now()
					s := rt.dial(moqt.PipeConfig{}).subscribe("catalog", largestObject)
					rt.wantGroup(s, 1, 0, 1)
					if d := time.Since(began); d > time.Second {
						t.Errorf("after %v the catalog took %v", wait, d)
					}
				}
			})
		})
	}
}

// Wherever in a group of 2 s a viewer joins, it has the group's first object at once.
func TestJoinInTheMiddleOfAGroup(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		pub := rt.publisher()
		rt.drain(rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{}))
		track := pub.track("video")
		rt.running.Go(func() {
			for g := uint64(0); rt.ctx.Err() == nil && g < 40; g++ {
				w, err := track.OpenSubgroup(rt.ctx, moqt.SubgroupHeader{Group: g, FirstObject: true})
				if err != nil {
					return
				}
				for o := range uint64(60) {
					w.WriteObject(moqt.ObjectHeader{ID: o}, fmt.Appendf(nil, "%d.%d", g, o))
					time.Sleep(time.Second / 30)
				}
				w.Close()
			}
		})
		time.Sleep(3 * time.Second)
		rng := rand.New(rand.NewPCG(5, 6))
		for range 50 {
			time.Sleep(time.Duration(rng.IntN(1400)) * time.Millisecond)
			viewer := rt.dial(moqt.PipeConfig{Latency: 20 * time.Millisecond})
			began := time.Now()
			s := viewer.subscribe("video", largestObject)
			r := rt.next(s)
			g := r.Header().Group
			rt.wantObject(r, g, 0)
			rt.wantObject(r, g, 1)
			if d := time.Since(began); d > 300*time.Millisecond {
				t.Errorf("the first objects took %v", d)
			}
			viewer.Close(wire.SessionNoError, "")
		}
	})
}

// A publisher is killed and comes back after a while. Viewers that ask again, as ours do, see the first group that it
// sends within a second.
func TestPublisherReturns(t *testing.T) {
	for _, away := range []time.Duration{500 * time.Millisecond, 3 * time.Second, 6 * time.Second, 20 * time.Second} {
		t.Run(away.String(), func(t *testing.T) {
			runRelay(t, Config{}, func(rt *relayTest) {
				pub := rt.publisher()
				viewer := rt.dial(moqt.PipeConfig{})
				type arrival struct {
					group uint64
					at    time.Time
				}
				got := make(chan arrival, 100)
				rt.running.Go(func() {
					params := wire.Params{RendezvousTimeout: wire.Some(wire.MillisOf(30 * time.Second))}
					for rt.ctx.Err() == nil {
						s, err := viewer.Subscribe(rt.ctx, moqt.SubscribeRequest{Track: name("video"), Params: params})
						for err == nil {
							var in moqt.Incoming
							if in, err = s.Next(rt.ctx); err == nil {
								got <- arrival{in.Subgroup.Header().Group, time.Now()}
							}
						}
						time.Sleep(100 * time.Millisecond)
					}
				})
				pub.groups("video", 1, 1)
				pub.conn.Lose(errors.New("killed"))
				time.Sleep(away)
				pub = rt.publisher()
				time.Sleep(200 * time.Millisecond)
				sent := time.Now()
				pub.groups("video", 1, 100)
				for a := range got {
					if a.group == 100 {
						if d := a.at.Sub(sent); d > time.Second {
							t.Errorf("the first group of the new publisher took %v", d)
						}
						return
					}
				}
			})
		})
	}
}

// A viewer that is killed counts as one that left: its track is fetched no longer than the linger time.
func TestLingerAfterAViewerIsKilled(t *testing.T) {
	runRelay(t, Config{Linger: 2 * time.Second}, func(rt *relayTest) {
		pub := rt.publisher()
		viewer := rt.dial(moqt.PipeConfig{})
		viewer.subscribe("video", wire.Params{})
		p := pub.track("video")
		viewer.conn.Lose(errors.New("killed"))
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if p.Context().Err() == nil {
			t.Error("the publisher is still asked to send")
		}
	})
}

// Groups that wait together go out in the order that the subscriber asked for: streams are opened as the groups came, and
// the more urgent one is the older or, descending, the newer.
func TestOrderOfGroups(t *testing.T) {
	for _, order := range []wire.GroupOrder{wire.GroupOrderAscending, wire.GroupOrderDescending} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			runRelay(t, Config{}, func(rt *relayTest) {
				pub := rt.publisher()
				client, server := moqt.Pipe(moqt.PipeConfig{StreamWindow: 1000, Latency: 100 * time.Millisecond})
				rt.running.Go(func() { rt.relay.Serve(rt.ctx, server) })
				control, _ := client.OpenUniStream(rt.ctx)
				control.Write([]byte{0xaf, 0x00, 0x00, 0x00})
				request, _ := client.OpenStream(rt.ctx)
				b, err := wire.AppendMessage(nil, &wire.Subscribe{
					Track: name("video"), Params: wire.Params{GroupOrder: wire.Some(order)},
				}, wire.Draft18)
				if err != nil {
					t.Fatal(err)
				}
				request.Write(b)
				time.Sleep(time.Second)
				for g := range uint64(3) {
					w := pub.group("video", 10+g)
					rt.running.Go(func() {
						w.WriteObject(moqt.ObjectHeader{}, make([]byte, 5000)) // five times the window
						w.Close()
					})
				}
				time.Sleep(200 * time.Millisecond)
				var urgencies []uint8
				for len(urgencies) < 3 {
					s, err := client.AcceptUniStream(rt.ctx)
					if err != nil {
						t.Fatal(err)
					}
					head := make([]byte, 16)
					n, _ := s.Read(head)
					typ, _, err := wire.ConsumeStreamType(head[:n], wire.Draft18)
					if err != nil || typ.Kind() != wire.StreamKindSubgroup {
						continue // the control stream
					}
					h, _, err := wire.ConsumeSubgroupHeader(head[:n], wire.Draft18)
					if err != nil {
						t.Fatal(err)
					}
					if want := uint64(10 + len(urgencies)); h.GroupID != want {
						t.Errorf("stream %d has group %d, want %d", len(urgencies), h.GroupID, want)
					}
					p := s.(*moqt.PipeStream).PeerPriorities()
					urgencies = append(urgencies, p[len(p)-1])
				}
				for i := range 2 {
					older, newer := urgencies[i], urgencies[i+1]
					if order == wire.GroupOrderAscending && older > newer || order == wire.GroupOrderDescending && newer > older || older == newer {
						t.Errorf("urgencies of groups 10 to 12 are %v", urgencies)
					}
				}
				client.Close(0, "")
			})
		})
	}
}

// What comes after SUBSCRIBE_OK belongs to the subscription, however late the relay comes to serve it.
func TestServedLate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		filter wire.FilterType
		first  uint64
	}{
		{"next group", wire.FilterNextGroupStart, 2},
		{"largest object", wire.FilterLargestObject, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var late atomic.Bool
			cfg := Config{Now: func() time.Time {
				if pc, _, _, ok := runtime.Caller(1); ok && late.Load() && strings.HasSuffix(runtime.FuncForPC(pc).Name(), ".(*subscriber).run") {
					late.Store(false)
					time.Sleep(time.Second)
				}
				return time.Now()
			}}
			runRelay(t, cfg, func(rt *relayTest) {
				pub := rt.publisher()
				rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{})
				pub.groups("video", 2, 0, 1)
				synctest.Wait()
				late.Store(true)
				s := rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{Filter: wire.Some(wire.Filter{Type: tt.filter})})
				pub.groups("video", 2, 2, 3)
				if err := pub.track("video").SendDatagram(moqt.Datagram{Group: 4, Payload: []byte("x")}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if late.Load() {
					t.Fatal("the subscription is not served late")
				}
				want := map[uint64]bool{4: true} // the datagram
				for g := tt.first; g < 4; g++ {
					want[g] = true
				}
				for range len(want) { // in which order they come is open
					ctx, cancel := context.WithTimeout(rt.ctx, time.Minute)
					in, err := s.Next(ctx)
					cancel()
					if err != nil {
						t.Fatalf("%v has not come: %v", want, err)
					}
					if in.Datagram != nil {
						delete(want, in.Datagram.Group)
					} else {
						delete(want, in.Subgroup.Header().Group)
					}
				}
				if len(want) > 0 {
					t.Errorf("%v has not come", want)
				}
			})
		})
	}
}

package relay

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// watched is an archive whose track is carried: a viewer watches it, and group 9 has begun.
func (rt *relayTest) watched() (*archive, *publisher) {
	rt.Helper()
	a := rt.archive(wire.Location{Group: 4, Object: 3})
	rt.drain(rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{}))
	p := &publisher{peer: a.peer, tracks: map[string]*moqt.Publication{"video": <-a.pubs}}
	p.closed("video", 9, 0)
	synctest.Wait()
	a.largest = wire.Location{Group: 9}
	return a, p
}

func (rt *relayTest) wantFetched(p *peer, req moqt.FetchRequest, want string) {
	rt.Helper()
	if got, err := p.fetchAll(req); got != want || err != nil {
		rt.Errorf("fetched %s, %v; want %s", got, err, want)
	}
}

func (a *archive) wantAsked(why string, want ...string) {
	a.Helper()
	synctest.Wait()
	if got := fmt.Sprint(a.asked); got != fmt.Sprint(want) {
		a.Errorf("%s: the publisher was asked for %s, want %s", why, got, want)
	}
	a.asked = nil
}

// What a publisher has sent of whole groups in answer to one FETCH answers the next ones, until it is too old.
func TestFilledGroupsAreKept(t *testing.T) {
	const (
		up   = "3.0 3.1 3.3 4.0 4.1 4.3 5.0 5.1 5.3"
		down = "5.0 5.1 5.3 4.0 4.1 4.3 3.0 3.1 3.3"
	)
	groups := func(first, last uint64, order wire.GroupOrder) moqt.FetchRequest {
		return fetchOf(wire.Location{Group: first}, wire.Location{Group: last}, order)
	}
	for _, tt := range []struct {
		first wire.GroupOrder
		want  string
	}{{wire.GroupOrderAscending, up}, {wire.GroupOrderDescending, down}} {
		t.Run(fmt.Sprint(tt.first), func(t *testing.T) {
			runRelay(t, Config{}, func(rt *relayTest) {
				a, _ := rt.watched()
				viewer, other := rt.dial(moqt.PipeConfig{}), rt.dial(moqt.PipeConfig{Protocol: "moqt-16"})
				before := rt.relay.CacheBytes()
				rt.wantFetched(viewer, groups(3, 5, tt.first), tt.want)
				a.wantAsked("nothing is cached", "3.0-5.0")
				rt.wantFetched(viewer, groups(3, 5, wire.GroupOrderAscending), up)
				rt.wantFetched(other, groups(3, 5, wire.GroupOrderDescending), down)
				rt.wantFetched(other, fetchOf(wire.Location{Group: 3, Object: 2}, wire.Location{Group: 4, Object: 2}, wire.GroupOrderAscending), "3.3 4.0 4.1")
				a.wantAsked("all is kept")
				if n := rt.relay.stats.GroupsKept.Load(); n != 3 {
					t.Errorf("%d groups are kept, want 3", n)
				}
				if rt.relay.CacheBytes() <= before {
					t.Error("what is kept is not in the cache's books")
				}
				time.Sleep(10*time.Second + 2*janitorPeriod)
				if n := rt.relay.CacheBytes(); n != before {
					t.Errorf("the cache holds %d bytes, and %d before", n, before)
				}
				rt.wantFetched(viewer, groups(4, 4, wire.GroupOrderAscending), "4.0 4.1 4.3")
				a.wantAsked("it is too old", "4.0-4.0")
			})
		})
	}
}

// Groups that an answer leaves out do not exist, and are not asked for again; nor are they taken to exist at its ends.
func TestKeptGroupsAroundAGap(t *testing.T) {
	for _, order := range []wire.GroupOrder{wire.GroupOrderAscending, wire.GroupOrderDescending} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			runRelay(t, Config{}, func(rt *relayTest) {
				a, _ := rt.watched()
				ids := []uint64{3, 7}
				if order == wire.GroupOrderDescending {
					ids = []uint64{7, 3}
				}
				a.answer = func(req *moqt.IncomingFetch) *moqt.RequestError {
					if w, err := req.Accept(moqt.FetchOK{End: req.End}); err == nil {
						for _, id := range ids {
							w.WriteObject(moqt.FetchObject{Group: id, Object: 1}, fmt.Appendf(nil, "%d.1", id))
						}
						w.Close()
					}
					return nil
				}
				viewer := rt.dial(moqt.PipeConfig{})
				req := fetchOf(wire.Location{Group: 3}, wire.Location{Group: 7}, order)
				want := fmt.Sprintf("%d.1 %d.1", ids[0], ids[1])
				rt.wantFetched(viewer, req, want)
				a.wantAsked("nothing is cached", "3.0-7.0")
				rt.wantFetched(viewer, req, want)
				a.wantAsked("the gap is known")
			})
		})
	}
}

// Only what is known to be whole is kept.
func TestNotKept(t *testing.T) {
	object := func(w *moqt.FetchWriter, g, o uint64) {
		w.WriteObject(moqt.FetchObject{Group: g, Object: o}, fmt.Appendf(nil, "%d.%d", g, o))
	}
	whole := fetchOf(wire.Location{Group: 3}, wire.Location{Group: 3}, wire.GroupOrderAscending)
	for _, tt := range []struct {
		why    string
		req    moqt.FetchRequest
		answer func(*moqt.FetchWriter)
		kept   uint64
	}{
		{"whole", whole, func(w *moqt.FetchWriter) { object(w, 3, 0); w.Close() }, 1},
		{"whole, with ids that do not exist", whole, func(w *moqt.FetchWriter) {
			w.WriteObject(moqt.FetchObject{Group: 3, Object: 4, Gap: moqt.GapNonExistent}, nil)
			object(w, 3, 5)
			w.WriteObject(moqt.FetchObject{Group: 3, Object: lastObject, Gap: moqt.GapNonExistent}, nil)
			w.Close()
		}, 0}, // it was not seen from its beginning on
		{"its beginning was not asked for", fetchOf(wire.Location{Group: 3, Object: 1}, wire.Location{Group: 3}, wire.GroupOrderAscending), func(w *moqt.FetchWriter) { object(w, 3, 2); w.Close() }, 0},
		{"its end was not asked for", fetchOf(wire.Location{Group: 3}, wire.Location{Group: 3, Object: 9}, wire.GroupOrderAscending), func(w *moqt.FetchWriter) { object(w, 3, 2); w.Close() }, 0},
		{"a part is unknown", whole, func(w *moqt.FetchWriter) {
			object(w, 3, 0)
			w.WriteObject(moqt.FetchObject{Group: 3, Object: 4, Gap: moqt.GapUnknown}, nil)
			w.Close()
		}, 0},
		{"broken off between objects", whole, func(w *moqt.FetchWriter) {
			object(w, 3, 0)
			synctest.Wait()
			w.Reset(wire.StreamInternalError)
		}, 0},
		{"broken off in an object", whole, func(w *moqt.FetchWriter) {
			w.WriteHeader(moqt.FetchObject{Group: 3, PayloadLen: 100})
			w.Write([]byte("3.0"))
			synctest.Wait()
			w.Reset(wire.StreamInternalError)
		}, 0},
		{"the publisher's end is before that", whole, nil, 0},
		{"the largest group", fetchOf(wire.Location{Group: 9, Object: 0}, wire.Location{Group: 9, Object: 2}, wire.GroupOrderAscending), func(w *moqt.FetchWriter) { object(w, 9, 1); w.Close() }, 0},
	} {
		t.Run(tt.why, func(t *testing.T) {
			runRelay(t, Config{}, func(rt *relayTest) {
				a, _ := rt.watched()
				a.answer = func(req *moqt.IncomingFetch) *moqt.RequestError {
					ok := moqt.FetchOK{End: req.End}
					if tt.answer == nil {
						ok.End = wire.Location{Group: 3, Object: 5}
					}
					w, err := req.Accept(ok)
					switch {
					case err != nil:
					case tt.answer == nil:
						object(w, 3, 0)
						w.Close()
					default:
						tt.answer(w)
					}
					return nil
				}
				before := rt.relay.CacheBytes()
				if f, err := rt.dial(moqt.PipeConfig{}).Fetch(rt.ctx, tt.req); err == nil {
					for err == nil {
						_, err = f.Next()
					}
				}
				synctest.Wait()
				if n := rt.relay.stats.GroupsKept.Load(); n != tt.kept {
					t.Errorf("%d groups are kept, want %d", n, tt.kept)
				}
				if n := rt.relay.CacheBytes(); (n > before) != (tt.kept > 0) || n < before {
					t.Errorf("the cache held %d bytes, and holds %d", before, n)
				}
			})
		})
	}
}

// What is kept stays within its share of the bounds, gives way to what comes by subscription, and is counted exactly.
func TestKeptIsBounded(t *testing.T) {
	const size, maxTrack = 10_000, 100_000
	runRelay(t, Config{CacheTrackBytes: maxTrack, CacheAge: time.Hour}, func(rt *relayTest) {
		a, p := rt.watched()
		a.answer = func(req *moqt.IncomingFetch) *moqt.RequestError {
			if w, err := req.Accept(moqt.FetchOK{End: req.End}); err == nil {
				for g := req.Start.Group; g <= req.End.Group; g++ {
					w.WriteObject(moqt.FetchObject{Group: g}, make([]byte, size))
				}
				w.Close()
			}
			return nil
		}
		fetch := func(first, last uint64) {
			f, err := rt.dial(moqt.PipeConfig{}).Fetch(rt.ctx, fetchOf(wire.Location{Group: first}, wire.Location{Group: last}, wire.GroupOrderAscending))
			for err == nil {
				_, err = f.Next()
			}
			synctest.Wait()
		}
		live := rt.relay.CacheBytes()
		fetch(0, 8)
		if n := rt.relay.CacheBytes() - live; n < 4*size || n > maxTrack/keptShare {
			t.Errorf("%d bytes are kept, want 4 groups of %d", n, size)
		}
		a.wantAsked("nothing is cached", "0.0-8.0")
		fetch(5, 8)
		a.wantAsked("the last groups are kept")
		fetch(2, 2)
		a.wantAsked("the first ones are not", "2.0-2.0")

		big := bytes.Repeat([]byte("x"), maxTrack*3/4)
		w := p.group("video", 10)
		if err := w.WriteObject(moqt.ObjectHeader{}, big); err != nil {
			t.Fatal(err)
		}
		w.Close()
		synctest.Wait()
		tr := rt.relay.tracks()[0]
		tr.mu.Lock()
		if len(tr.groups) != 2 || tr.keptCost > maxTrack/4 {
			t.Errorf("%d groups came by subscription, and %d bytes are kept; want 2, and what is left", len(tr.groups), tr.keptCost)
		}
		tr.mu.Unlock()
		fetch(3, 4)
		tr.mu.Lock()
		defer tr.mu.Unlock()
		if len(tr.groups) != 2 || tr.cost > maxTrack {
			t.Errorf("%d groups that came by subscription are left, %d bytes in all", len(tr.groups), tr.cost)
		}
		sum := 0
		for _, k := range tr.kept {
			sum += k.cost
		}
		if sum != tr.keptCost {
			t.Errorf("the books have %d bytes, the groups %d", tr.keptCost, sum)
		}
	})
}

// "... the relay MUST NOT start forwarding any individual Object received through this subscription or fetch after the
// specified number of milliseconds has elapsed since the beginning of the Object was received."
// [MOQT-18] Section 12.3, MAX CACHE DURATION
func TestKeptNoLongerThanMaxCacheDuration(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		a, _ := rt.watched()
		rt.relay.tracks()[0].setMaxCache(wire.Some(500 * time.Millisecond))
		viewer := rt.dial(moqt.PipeConfig{})
		req := fetchOf(wire.Location{Group: 3}, wire.Location{Group: 3}, wire.GroupOrderAscending)
		rt.wantFetched(viewer, req, "3.0 3.1 3.3")
		time.Sleep(400 * time.Millisecond)
		rt.wantFetched(viewer, req, "3.0 3.1 3.3")
		a.wantAsked("it is kept", "3.0-3.0")
		time.Sleep(101 * time.Millisecond)
		rt.wantFetched(viewer, req, "3.0 3.1 3.3")
		if len(a.asked) != 1 {
			t.Errorf("the publisher was asked for %v, once more is right", a.asked)
		}
	})
}

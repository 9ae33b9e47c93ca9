package relay

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// closed opens the stream of a group, writes objects and says that the group ends there.
func (p *publisher) closed(track string, id uint64, objects ...uint64) {
	p.Helper()
	w, err := p.track(track).OpenSubgroup(p.ctx, moqt.SubgroupHeader{Group: id, FirstObject: true, EndOfGroup: true})
	if err != nil {
		p.Fatal(err)
	}
	for _, o := range objects {
		p.write(w, id, o)
	}
	w.Close()
}

// fetchAll fetches a range and returns what came, as "5.0" for an object, "!5.max" for the end of a range that does not exist
// and "?5.max" of one that is unknown, and how the answer ended.
func (p *peer) fetchAll(req moqt.FetchRequest) (string, error) {
	p.Helper()
	f, err := p.Fetch(p.ctx, req)
	if err != nil {
		return "", err
	}
	var got []string
	for {
		o, err := f.Next()
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return strings.Join(got, " "), err
		}
		at := fmt.Sprintf("%d.%d", o.Group, o.Object)
		if o.Object == lastObject || o.Object == 1<<62-1 { // the largest id of draft-16
			at = fmt.Sprintf("%d.max", o.Group)
		}
		switch o.Gap {
		case moqt.GapUnknown:
			at = "?" + at
		case moqt.GapNonExistent:
			at = "!" + at
		default:
			if b, err := io.ReadAll(f); err != nil || string(b) != at {
				p.Errorf("object %s has the payload %q, %v", at, b, err)
			}
		}
		got = append(got, at)
	}
}

// fetchOf is a FETCH of the track video.
func fetchOf(start, end wire.Location, order wire.GroupOrder) moqt.FetchRequest {
	return moqt.FetchRequest{Track: name("video"), Start: start, End: end, Params: wire.Params{GroupOrder: wire.Some(order)}}
}

// archive is a publisher that answers FETCH too: every group has the objects 0, 1 and 3, up to a largest location.
type archive struct {
	*peer
	largest wire.Location
	asked   []string                                     // ranges
	answer  func(*moqt.IncomingFetch) *moqt.RequestError // in place of the usual answer, if it is not nil
	pubs    chan *moqt.Publication                       // of SUBSCRIBEs
}

func (rt *relayTest) archive(largest wire.Location) *archive {
	rt.Helper()
	a := &archive{peer: rt.dial(moqt.PipeConfig{}), largest: largest, pubs: make(chan *moqt.Publication, 16)}
	rt.running.Go(func() {
		for {
			req, err := a.Accept(rt.ctx)
			if err != nil {
				return
			}
			switch req := req.(type) {
			case *moqt.IncomingFetch:
				a.asked = append(a.asked, strings.ReplaceAll(fmt.Sprintf("%d.%d-%d.%d", req.Start.Group, req.Start.Object, req.End.Group, req.End.Object), fmt.Sprint(uint64(lastObject)), "max"))
				if a.answer != nil {
					rt.running.Go(func() {
						if refused := a.answer(req); refused != nil {
							req.Reject(refused)
						}
					})
					continue
				}
				a.serve(req)
			case *moqt.IncomingSubscribe:
				pub, err := req.Accept(moqt.AcceptSubscribe{Largest: func() (wire.Location, bool) { return a.largest, true }})
				if err == nil {
					a.pubs <- pub
				}
			case *moqt.IncomingTrackStatus:
				req.Accept(moqt.TrackStatus{Largest: wire.Some(a.largest)})
			}
		}
	})
	if _, err := a.PublishNamespace(rt.ctx, wire.MustNamespace("live")); err != nil {
		rt.Fatal(err)
	}
	return a
}

// serve answers a FETCH from the archive.
func (a *archive) serve(req *moqt.IncomingFetch) {
	last := wire.FetchLast(req.End)
	if a.largest.Less(last) {
		last = a.largest
	}
	w, err := req.Accept(moqt.FetchOK{End: wire.FetchEnd(last)})
	if err != nil {
		return
	}
	step, from, to := uint64(1), req.Start.Group, last.Group
	if req.Params.GroupOrder.Or(wire.GroupOrderAscending) == wire.GroupOrderDescending {
		step, from, to = ^uint64(0), to, from
	}
	for g := from; ; g += step {
		for _, o := range []uint64{0, 1, 3} {
			at := wire.Location{Group: g, Object: o}
			if !at.Less(req.Start) && !last.Less(at) {
				if w.WriteObject(moqt.FetchObject{Group: g, Object: o, Priority: 7}, fmt.Appendf(nil, "%d.%d", g, o)) != nil {
					return
				}
			}
		}
		if g == to {
			break
		}
	}
	w.Close()
}

func TestJoiningFetch(t *testing.T) {
	for _, tt := range []struct {
		why   string
		fetch moqt.FetchRequest
		want  string
	}{
		{"relative", moqt.FetchRequest{JoiningStart: 1}, "6.0 6.1 7.0 7.1"},
		{"relative, more than there is", moqt.FetchRequest{JoiningStart: 99}, "?4.max 5.0 5.1 6.0 6.1 7.0 7.1"},
		{"absolute", moqt.FetchRequest{JoiningStart: 7, Absolute: true}, "7.0 7.1"},
		{"descending", moqt.FetchRequest{JoiningStart: 2, Params: wire.Params{GroupOrder: wire.Some(wire.GroupOrderDescending)}}, "7.0 7.1 6.0 6.1 5.0 5.1"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			runRelay(t, Config{JoinAtObject: true}, func(rt *relayTest) {
				pub := rt.publisher()
				rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{})
				pub.closed("video", 5, 0, 1)
				pub.closed("video", 6, 0, 1)
				w := pub.group("video", 7)
				pub.write(w, 7, 0)
				pub.write(w, 7, 1)
				synctest.Wait()
				late := rt.dial(moqt.PipeConfig{})
				s := late.subscribe("video", largestObject)
				tt.fetch.Joining = s
				got, err := late.fetchAll(tt.fetch)
				if got != tt.want || err != nil {
					t.Errorf("fetched %s, %v; want %s", got, err, tt.want)
				}
				pub.write(w, 7, 2)
				w.Close()
				rt.wantGroup(s, 7, 2, 1)
			})
		})
	}
}

// What neither the cache nor a publisher has is reported as unknown: that it is not sent would say that it does not exist.
func TestFetchOfWhatIsNotThere(t *testing.T) {
	for _, tt := range []struct {
		order wire.GroupOrder
		want  string
	}{
		{wire.GroupOrderAscending, "?4.max 5.0 5.1 ?7.max 8.0 8.1 !8.max 9.0 ?9.1"},
		{wire.GroupOrderDescending, "9.0 ?9.1 8.0 8.1 !8.max ?6.max 5.0 5.1 ?2.max"},
	} {
		for _, protocol := range []string{"moqt-18", "moqt-19", "moqt-16"} {
			t.Run(fmt.Sprint(tt.order, " ", protocol), func(t *testing.T) {
				runRelay(t, Config{}, func(rt *relayTest) {
					pub := rt.publisher()
					viewer := rt.dial(moqt.PipeConfig{Protocol: protocol})
					rt.drain(viewer.subscribe("video", wire.Params{}))
					pub.groups("video", 2, 5) // it is not said whether group 5 ends there
					pub.closed("video", 8, 0, 1)
					w := pub.group("video", 9)
					pub.write(w, 9, 0)
					head, _ := new(wire.SubgroupCursor).Append(nil, &wire.ObjectHeader{PayloadLen: 100}, wire.Draft18)
					w.Write(append(head, "half an object"...)) // id 1 on this stream
					synctest.Wait()
					began := time.Now()
					got, err := viewer.fetchAll(fetchOf(wire.Location{Group: 2}, wire.Location{Group: 20}, tt.order))
					want := strings.Replace(tt.want, " !8.max 9", " 9", 1) // a gap says the same
					if got != want || err != nil {
						t.Errorf("fetched %s, %v; want %s", got, err, want)
					}
					if d := time.Since(began); d != 5*time.Second {
						t.Errorf("waited %v for the rest of the object, want 5s", d)
					}
				})
			})
		}
	}
}

func TestTrackStatus(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		pub := rt.publisher()
		viewer := rt.dial(moqt.PipeConfig{})
		if _, err := viewer.TrackStatus(rt.ctx, wire.FullTrackName{Namespace: wire.MustNamespace("other"), Name: "x"}); err == nil {
			t.Error("a track that nobody announced has a status")
		}
		viewer.subscribe("video", wire.Params{})
		pub.groups("video", 3, 8)
		synctest.Wait()
		st, err := viewer.TrackStatus(rt.ctx, name("video"))
		if l, _ := st.Largest.Get(); err != nil || l != (wire.Location{Group: 8, Object: 2}) {
			t.Errorf("status %+v, %v; want largest {8 2}", st, err)
		}
	})
}

// What is missing comes from the publisher, and only that. "If it encounters an object in the requested range that is not
// cached and has unknown status, the relay MUST pause subsequent delivery until it has confirmed the object's status
// upstream." [MOQT-18] Section 10.12.3, Fetch Handling
func TestFetchFillsFromUpstream(t *testing.T) {
	const all = "3.0 3.1 3.3 4.0 4.1 4.3 5.0 5.1 5.3 6.0 6.1 6.3 7.0 7.1"
	for _, tt := range []struct {
		why   string
		fetch moqt.FetchRequest
		want  string
		asked string
	}{
		{
			"gaps before, between and in a group", fetchOf(wire.Location{Group: 3}, wire.Location{Group: 9}, wire.GroupOrderAscending),
			all, "3.0-4.0, 5.2-5.3, 5.4-6.0, 7.1-7.2",
		},
		{
			"newest first", fetchOf(wire.Location{Group: 3}, wire.Location{Group: 9}, wire.GroupOrderDescending),
			"7.0 7.1 6.0 6.1 6.3 5.0 5.1 5.3 4.0 4.1 4.3 3.0 3.1 3.3", "7.1-7.2, 6.0-6.0, 5.2-5.3, 5.4-5.0, 3.0-4.0",
		},
		{"all is cached", fetchOf(wire.Location{Group: 5}, wire.Location{Group: 5, Object: 2}, wire.GroupOrderAscending), "5.0 5.1", ""},
		{"nothing is cached", fetchOf(wire.Location{Group: 3, Object: 1}, wire.Location{Group: 4, Object: 2}, wire.GroupOrderAscending), "3.1 3.3 4.0 4.1", "3.1-4.2"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			runRelay(t, Config{}, func(rt *relayTest) {
				a := rt.archive(wire.Location{Group: 4, Object: 3})
				viewer := rt.dial(moqt.PipeConfig{})
				rt.drain(viewer.subscribe("video", wire.Params{}))
				p := &publisher{peer: a.peer, tracks: map[string]*moqt.Publication{"video": <-a.pubs}}
				w := p.group("video", 5)
				for _, o := range []uint64{0, 1, 3} {
					p.write(w, 5, o)
				}
				w.Close()
				w = p.group("video", 7)
				p.write(w, 7, 0)
				p.write(w, 7, 1)
				synctest.Wait()
				a.largest = wire.Location{Group: 7, Object: 1}
				rt.relay.forget(name("video"), 7, 1)
				got, err := viewer.fetchAll(tt.fetch)
				if got != tt.want || err != nil {
					t.Errorf("fetched %s, %v; want %s", got, err, tt.want)
				}
				if asked := strings.Join(a.asked, ", "); asked != tt.asked {
					t.Errorf("the publisher was asked for %q, want %q", asked, tt.asked)
				}
			})
		})
	}
}

// forget makes the cache lose one object of the newest group.
func (r *Relay) forget(name wire.FullTrackName, group, object uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.routes[name].track
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.arrivals {
		if s.header.Group == group && len(s.objects) > int(object) {
			s.objects = s.objects[:object]
		}
	}
}

// A track that nobody watches is fetched from its publisher.
func TestFetchOfATrackThatIsNotCarried(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		viewer := rt.dial(moqt.PipeConfig{})
		req := fetchOf(wire.Location{Group: 3}, wire.Location{Group: 20}, wire.GroupOrderAscending)
		wantFetchRefused(t, viewer, req, wire.RequestDoesNotExist)

		a := rt.archive(wire.Location{Group: 4, Object: 1})
		if got, err := viewer.fetchAll(req); got != "3.0 3.1 3.3 4.0 4.1" || err != nil {
			t.Errorf("fetched %s, %v", got, err)
		}
		f, err := viewer.Fetch(rt.ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		f.Stop(wire.StreamCancelled)
		if end := f.OK().End; end != (wire.Location{Group: 4, Object: 2}) {
			t.Errorf("FETCH_OK says that it ends at %v, want {4 2}", end)
		}

		// "A value of 0 indicates the subscriber only wants Objects that are immediately available; ... MUST report any
		// unavailable Objects as Unknown gaps." [MOQT-18] Section 10.2.5, FILL TIMEOUT Parameter
		asked := len(a.asked)
		req.Params.FillTimeout = wire.Some(wire.Millis(0))
		if got, err := viewer.fetchAll(req); got != "?4.1" || err != nil || len(a.asked) != asked {
			t.Errorf("with FILL_TIMEOUT 0: fetched %s, %v, the publisher was asked %d times more", got, err, len(a.asked)-asked)
		}

		// "If no Objects have been published for the track or Start Location is greater than the `Largest Object` the
		// publisher MUST return REQUEST_ERROR with error code `INVALID_RANGE`."
		// [MOQT-18] Section 10.12.3, Fetch Handling
		req.Start = wire.Location{Group: 9}
		wantFetchRefused(t, viewer, req, wire.RequestInvalidRange)
		a.answer = func(*moqt.IncomingFetch) *moqt.RequestError {
			return &moqt.RequestError{Code: wire.RequestInvalidRange}
		}
		req.Params.FillTimeout = wire.Opt[wire.Millis]{}
		wantFetchRefused(t, viewer, req, wire.RequestInvalidRange)
	})
}

func wantFetchRefused(t *testing.T, p *peer, req moqt.FetchRequest, code wire.RequestCode) {
	t.Helper()
	got, err := p.fetchAll(req)
	var refused *moqt.RequestError
	if !errors.As(err, &refused) || refused.Code != code {
		t.Errorf("fetched %s, %v; want %v", got, err, code)
	}
}

// "If the budget is exhausted, the relay reports any remaining unavailable Objects as Unknown gaps and continues delivering
// available Objects in the range." [MOQT-18] Section 10.2.5, FILL TIMEOUT Parameter
func TestFillTimeout(t *testing.T) {
	for _, tt := range []struct {
		why    string
		params wire.Params
		took   time.Duration
	}{
		{"not said", wire.Params{}, 5 * time.Second},
		{"less than the relay would wait", wire.Params{FillTimeout: wire.Some(wire.Millis(300))}, 300 * time.Millisecond},
		{"more than the relay will wait", wire.Params{FillTimeout: wire.Some(wire.Millis(1 << 40))}, 5 * time.Second},
		{"not at all", wire.Params{FillTimeout: wire.Some(wire.Millis(0))}, 0},
	} {
		t.Run(tt.why, func(t *testing.T) {
			runRelay(t, Config{}, func(rt *relayTest) {
				a := rt.archive(wire.Location{Group: 4, Object: 3})
				a.answer = func(req *moqt.IncomingFetch) *moqt.RequestError {
					<-req.Context().Done() // never
					return nil
				}
				viewer := rt.dial(moqt.PipeConfig{})
				rt.drain(viewer.subscribe("video", wire.Params{}))
				p := &publisher{peer: a.peer, tracks: map[string]*moqt.Publication{"video": <-a.pubs}}
				p.closed("video", 5, 0, 1)
				p.closed("video", 7, 0, 1)
				synctest.Wait()
				began := time.Now()
				req := fetchOf(wire.Location{Group: 3}, wire.Location{Group: 7, Object: 2}, wire.GroupOrderAscending)
				req.Params.FillTimeout = tt.params.FillTimeout
				const want = "?4.max 5.0 5.1 !5.max ?6.max 7.0 7.1"
				if got, err := viewer.fetchAll(req); got != want || err != nil {
					t.Errorf("fetched %s, %v; want %s", got, err, want)
				}
				if d := time.Since(began); d != tt.took {
					t.Errorf("took %v, want %v", d, tt.took)
				}
			})
		})
	}
}

// A publisher that fails in the middle of an answer is replaced by another for the rest; one that answers with something
// else is not believed.
func TestFillFromAnotherPublisher(t *testing.T) {
	for _, tt := range []struct {
		why   string
		first func(w *moqt.FetchWriter)
	}{
		{"reset between objects", func(w *moqt.FetchWriter) {
			w.WriteObject(moqt.FetchObject{Group: 3, Object: 0}, []byte("3.0"))
			w.WriteObject(moqt.FetchObject{Group: 3, Object: 1}, []byte("3.1"))
			synctest.Wait()
			w.Reset(wire.StreamInternalError)
		}},
		{"an object beyond the range", func(w *moqt.FetchWriter) {
			w.WriteObject(moqt.FetchObject{Group: 3, Object: 0}, []byte("3.0"))
			w.WriteObject(moqt.FetchObject{Group: 99, Object: 0}, []byte("99.0"))
			w.Close()
		}},
		{"stalls", func(w *moqt.FetchWriter) {
			w.WriteObject(moqt.FetchObject{Group: 3, Object: 0}, []byte("3.0"))
			<-w.Context().Done()
		}},
	} {
		t.Run(tt.why, func(t *testing.T) {
			runRelay(t, Config{}, func(rt *relayTest) {
				bad := rt.archive(wire.Location{Group: 4, Object: 3})
				bad.answer = func(req *moqt.IncomingFetch) *moqt.RequestError {
					w, err := req.Accept(moqt.FetchOK{End: wire.Location{Group: 4, Object: 4}})
					if err == nil {
						tt.first(w)
					}
					return nil
				}
				good := rt.archive(wire.Location{Group: 4, Object: 3})
				viewer := rt.dial(moqt.PipeConfig{})
				got, err := viewer.fetchAll(fetchOf(wire.Location{Group: 3}, wire.Location{Group: 4}, wire.GroupOrderAscending))
				want := "3.0 3.1 3.3 4.0 4.1 4.3"
				if tt.why == "stalls" { // that has used up the time
					want = "3.0 ?4.3"
				}
				if got != want || err != nil {
					t.Errorf("fetched %s, %v; want %s", got, err, want)
				}
				if tt.why != "stalls" && len(good.asked) != 1 {
					t.Errorf("the good publisher was asked %d times, want once", len(good.asked))
				}
			})
		})
	}
}

// The relay must not end an object with something that is not its end.
func TestFillThatBreaksOffInAnObject(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		a := rt.archive(wire.Location{Group: 4, Object: 3})
		a.answer = func(req *moqt.IncomingFetch) *moqt.RequestError {
			w, err := req.Accept(moqt.FetchOK{End: req.End})
			if err != nil {
				return nil
			}
			w.WriteHeader(moqt.FetchObject{Group: 3, PayloadLen: 1000})
			w.Write([]byte("the beginning"))
			synctest.Wait()
			w.Reset(wire.StreamInternalError)
			return nil
		}
		viewer := rt.dial(moqt.PipeConfig{})
		f, err := viewer.Fetch(rt.ctx, fetchOf(wire.Location{Group: 3}, wire.Location{Group: 4}, wire.GroupOrderAscending))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = f.Next(); err == nil {
			_, err = io.ReadAll(f)
		}
		var reset *moqt.StreamError
		if !errors.As(err, &reset) || wire.StreamCode(reset.Code) != wire.StreamUnknownObjectStatus {
			t.Errorf("ended with %v, want a reset with UNKNOWN_OBJECT_STATUS", err)
		}
	})
}

// "... the relay MUST NOT start forwarding any individual Object ... after the specified number of milliseconds has elapsed
// since the beginning of the Object was received. ... Once Objects have expired from cache, their state becomes unknown, and
// a relay that handles a downstream request that includes those Objects re-requests them."
// [MOQT-18] Section 12.3, MAX CACHE DURATION
func TestMaxCacheDuration(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		props, err := (&wire.TrackProperties{MaxCacheDuration: wire.Some(wire.Millis(1000))}).Properties(wire.Draft18)
		if err != nil {
			t.Fatal(err)
		}
		var fetched int
		client := rt.dial(moqt.PipeConfig{})
		pubs := make(chan *moqt.Publication, 1)
		rt.running.Go(func() {
			for {
				req, err := client.Accept(rt.ctx)
				if err != nil {
					return
				}
				switch req := req.(type) {
				case *moqt.IncomingSubscribe:
					pub, _ := req.Accept(moqt.AcceptSubscribe{Properties: props})
					pubs <- pub
				case *moqt.IncomingFetch:
					fetched++
					w, err := req.Accept(moqt.FetchOK{End: req.End})
					if err == nil {
						w.WriteObject(moqt.FetchObject{Group: 1, Object: 0}, []byte("1.0"))
						w.Close()
					}
				}
			}
		})
		if _, err := client.PublishNamespace(rt.ctx, wire.MustNamespace("live")); err != nil {
			t.Fatal(err)
		}
		viewer := rt.dial(moqt.PipeConfig{})
		first := viewer.subscribe("video", wire.Params{})
		p := &publisher{peer: client, tracks: map[string]*moqt.Publication{"video": <-pubs}}
		w := p.group("video", 1)
		p.write(w, 1, 0)
		time.Sleep(900 * time.Millisecond)
		p.write(w, 1, 1)
		synctest.Wait()
		time.Sleep(200 * time.Millisecond) // object 0 is too old now, object 1 is not
		late := rt.dial(moqt.PipeConfig{}).subscribe("video", largestObject)
		rt.wantObject(rt.next(late), 1, 1)
		rt.wantObject(rt.next(first), 1, 0)
		req := fetchOf(wire.Location{Group: 1}, wire.Location{Group: 1, Object: 2}, wire.GroupOrderAscending)
		if got, err := viewer.fetchAll(req); got != "1.0 1.1" || err != nil || fetched != 1 {
			t.Errorf("fetched %s, %v, %d times from the publisher; want 1.0 1.1, once", got, err, fetched)
		}
	})
}

// The end of a track is told.
func TestFetchToTheEndOfTheTrack(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		pub := rt.publisher()
		viewer := rt.dial(moqt.PipeConfig{})
		rt.drain(viewer.subscribe("video", wire.Params{}))
		w := pub.group("video", 5)
		pub.write(w, 5, 0)
		w.WriteObject(moqt.ObjectHeader{ID: 1, Status: wire.ObjectEndOfTrack}, nil)
		synctest.Wait()
		for end, want := range map[wire.Location]bool{{Group: 5}: true, {Group: 5, Object: 1}: false} {
			f, err := viewer.Fetch(rt.ctx, fetchOf(wire.Location{Group: 5}, end, wire.GroupOrderAscending))
			if err != nil {
				t.Fatal(err)
			}
			if f.OK().EndOfTrack != want {
				t.Errorf("up to %v: end of track is %v", end, !want)
			}
			f.Stop(wire.StreamCancelled)
		}
	})
}

// FETCHes for what is not cached do not use up the streams of the publisher: it gets some at a time, and of one subscriber's
// fewer. The others wait for their turn.
func TestFillsAtOnce(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		a := rt.archive(wire.Location{Group: 4, Object: 3})
		var mu sync.Mutex
		now, most := 0, 0
		a.answer = func(req *moqt.IncomingFetch) *moqt.RequestError {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(100 * time.Millisecond)
			mu.Lock()
			now--
			mu.Unlock()
			a.serve(req)
			return nil
		}
		for _, tt := range []struct{ viewers, each, most int }{{1, 8, maxFillsFor}, {8, 4, maxFills}} {
			most = 0
			var fetches sync.WaitGroup
			for range tt.viewers {
				viewer := rt.dial(moqt.PipeConfig{})
				for range tt.each {
					fetches.Go(func() {
						got, err := viewer.fetchAll(fetchOf(wire.Location{Group: 3}, wire.Location{Group: 3, Object: 2}, wire.GroupOrderAscending))
						if got != "3.0 3.1" || err != nil {
							t.Errorf("fetched %s, %v", got, err)
						}
					})
				}
			}
			fetches.Wait()
			if most != tt.most {
				t.Errorf("%d subscribers with %d FETCHes each: the publisher had %d at once, want %d", tt.viewers, tt.each, most, tt.most)
			}
		}
	})
}

// Who does not read what a publisher sends for it loses it, and holds nobody up.
func TestFillForOneWhoDoesNotRead(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		a := rt.archive(wire.Location{Group: 3, Object: 0})
		a.answer = func(req *moqt.IncomingFetch) *moqt.RequestError {
			w, err := req.Accept(moqt.FetchOK{End: req.End})
			if err == nil {
				w.WriteObject(moqt.FetchObject{Group: 3}, make([]byte, 4<<20))
				w.Close()
			}
			return nil
		}
		viewer := rt.dial(moqt.PipeConfig{})
		f, err := viewer.Fetch(rt.ctx, fetchOf(wire.Location{Group: 3}, wire.Location{Group: 3, Object: 1}, wire.GroupOrderAscending))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(fillWriteTimeout + time.Second)
		if _, err = f.Next(); err == nil {
			_, err = io.Copy(io.Discard, f)
		}
		var reset *moqt.StreamError
		if !errors.As(err, &reset) || wire.StreamCode(reset.Code) != wire.StreamTooFarBehind {
			t.Errorf("ended with %v, want a reset with TOO_FAR_BEHIND", err)
		}
	})
}

package relay

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

func TestJoiningFetch(t *testing.T) {
	runRelay(t, Config{JoinAtObject: true}, func(rt *relayTest) {
		pub := rt.publisher()
		rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{})
		pub.groups("video", 2, 5, 6)
		w := pub.group("video", 7)
		pub.write(w, 7, 0)
		pub.write(w, 7, 1)
		synctest.Wait()
		late := rt.dial(moqt.PipeConfig{})
		s := late.subscribe("video", largestObject)
		f, err := late.Fetch(rt.ctx, moqt.FetchRequest{Joining: s, JoiningStart: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []wire.Location{{Group: 6, Object: 0}, {Group: 6, Object: 1}, {Group: 7, Object: 0}, {Group: 7, Object: 1}} {
			o, err := f.Next()
			if err != nil {
				t.Fatalf("object %v: %v", want, err)
			}
			b, _ := io.ReadAll(f)
			if (wire.Location{Group: o.Group, Object: o.Object}) != want || string(b) != fmt.Sprintf("%d.%d", want.Group, want.Object) {
				t.Errorf("got %d.%d %q, want %v", o.Group, o.Object, b, want)
			}
		}
		if _, err := f.Next(); err != io.EOF {
			t.Errorf("after the last object: %v, want EOF", err)
		}
		pub.write(w, 7, 2)
		w.Close()
		rt.wantGroup(s, 7, 2, 1)
	})
}

// What the cache does not hold is reported as unknown: that it is not sent would say that it does not exist.
func TestFetchOfWhatIsNotThere(t *testing.T) {
	for _, tt := range []struct {
		order wire.GroupOrder
		want  string
	}{
		{wire.GroupOrderAscending, "?4.max 5.0 5.1 ?7.max 8.0 8.1 9.0 ?9.1"},
		{wire.GroupOrderDescending, "9.0 ?9.1 8.0 8.1 ?6.max 5.0 5.1 ?2.max"},
	} {
		t.Run(fmt.Sprint(tt.order), func(t *testing.T) {
			runRelay(t, Config{}, func(rt *relayTest) {
				pub := rt.publisher()
				viewer := rt.dial(moqt.PipeConfig{})
				rt.drain(viewer.subscribe("video", wire.Params{}))
				pub.groups("video", 2, 5, 8)
				w := pub.group("video", 9)
				pub.write(w, 9, 0)
				head, _ := new(wire.SubgroupCursor).Append(nil, &wire.ObjectHeader{PayloadLen: 100}, wire.Draft18)
				w.Write(append(head, "half an object"...)) // id 1 on this stream
				synctest.Wait()
				f, err := viewer.Fetch(rt.ctx, moqt.FetchRequest{
					Track: name("video"), Start: wire.Location{Group: 2}, End: wire.Location{Group: 20},
					Params: wire.Params{GroupOrder: wire.Some(tt.order)},
				})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for {
					o, err := f.Next()
					if err == io.EOF {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					s := fmt.Sprintf("%d.%d", o.Group, o.Object)
					if o.Gap != 0 {
						s = "?" + strings.Replace(s, fmt.Sprint(uint64(1<<64-1)), "max", 1)
					}
					got = append(got, s)
				}
				if s := strings.Join(got, " "); s != tt.want {
					t.Errorf("fetched %s, want %s", s, tt.want)
				}
			})
		})
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

package relay

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// observed writes down what an observer is told.
type observed struct {
	mu    sync.Mutex
	lines []string
}

func (o *observed) add(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lines = append(o.lines, fmt.Sprintf(format, args...))
}

// take returns what was told since the last call, in any order.
func (o *observed) take() []string {
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := o.lines
	o.lines = nil
	slices.Sort(lines)
	return lines
}

func (o *observed) Track(name wire.FullTrackName) TrackObserver {
	o.add("track %s", name.Name)
	return o
}

func (o *observed) Received(r ReceivedObject) {
	o.add("received %d bytes, %d, %x", r.Bytes, r.Priority, r.Properties)
}

func (o *observed) Handed(priority uint8, took time.Duration) {
	o.add("handed %d after %v", priority, took)
}

func (o *observed) Delivered(priority uint8, took time.Duration) {
	o.add("delivered %d after %v", priority, took)
}
func (o *observed) Ended() { o.add("ended") }

func TestObserver(t *testing.T) {
	obs := &observed{}
	want := func(why string, lines ...string) {
		t.Helper()
		if got := obs.take(); !slices.Equal(got, lines) {
			t.Errorf("%s: got %q, want %q", why, got, lines)
		}
	}
	runRelay(t, Config{Observer: obs, Linger: -1}, func(rt *relayTest) {
		pub := rt.publisher()
		subscriber := rt.dial(moqt.PipeConfig{})
		sub := subscriber.subscribe("video", wire.Params{})
		want("subscribed", "track video")

		w, err := pub.track("video").OpenSubgroup(pub.ctx, moqt.SubgroupHeader{Group: 1, FirstObject: true, Priority: 4, HasPriority: true, Properties: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteObject(moqt.ObjectHeader{ID: 0, Properties: wire.Properties{2, 9}}, []byte("abc")); err != nil {
			t.Fatal(err)
		}
		want("an object", "handed 4 after 0s", "received 3 bytes, 4, 0209")

		// What is cached is not counted for a late joiner, what comes then is.
		time.Sleep(time.Second)
		rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{})
		want("a late joiner")
		w.WriteObject(moqt.ObjectHeader{ID: 1}, []byte("d"))
		want("both get it", "handed 4 after 0s", "handed 4 after 0s", "received 1 bytes, 4, ")

		// The last byte counts, not the first.
		w.Write([]byte{0, 0, 2, 'x'})
		want("half an object")
		time.Sleep(time.Second)
		w.Write([]byte{'y'})
		want("the other half", "handed 4 after 0s", "handed 4 after 0s", "received 2 bytes, 4, ")
		w.Close()

		pub.track("video").SendDatagram(moqt.Datagram{Group: 2, Priority: 2, HasPriority: true, Payload: []byte("audio")})
		want("a datagram", "handed 2 after 0s", "handed 2 after 0s", "received 5 bytes, 2, ")

		sub.Close()
		pub.announcement.Withdraw()
		pub.track("video").Done(wire.DoneTrackEnded, "")
		want("the end", "ended")
	})
}

// A subscriber that takes no more delays the hand-over.
func TestObserverOfASlowSubscriber(t *testing.T) {
	obs := &observed{}
	runRelay(t, Config{Observer: obs}, func(rt *relayTest) {
		pub := rt.publisher()
		sub := rt.dial(moqt.PipeConfig{StreamWindow: 2000}).subscribe("video", wire.Params{})
		w := pub.group("video", 1)
		w.WriteObject(moqt.ObjectHeader{ID: 0}, make([]byte, 3000))
		obs.take()
		time.Sleep(500 * time.Millisecond)
		r := rt.next(sub)
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		for n := 0; n < 3000; {
			b, err := r.ReadChunk()
			if err != nil {
				t.Fatal(err)
			}
			n += len(b)
		}
		if got := obs.take(); !slices.Equal(got, []string{"handed 128 after 500ms"}) {
			t.Errorf("got %q", got)
		}
		w.Close()
	})
}

func BenchmarkHanded(b *testing.B) {
	o := &discard{}
	c := &cursor{subgroup: newSubgroup(moqt.SubgroupHeader{}, 0, time.Time{}), of: &subscriber{track: &track{observer: o}}, cfg: &Config{Now: time.Now}}
	now := time.Now()
	for range 50 {
		c.subgroup.beginObject(moqt.ObjectHeader{PayloadLen: 100, ID: uint64(len(c.subgroup.objects))}, now)
		c.subgroup.append(make([]byte, 100))
		c.subgroup.markDone(now)
	}
	for b.Loop() {
		if c.next == 50 {
			c.next = 0
		}
		c.handed(c.subgroup.objects[c.next].end())
	}
}

type discard struct{ TrackObserver }

func (discard) Handed(uint8, time.Duration) {}

package relay

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// Viewers whose path carries half of what the track has: what they get is not late beyond the bound, is whole groups as far
// as can be, and the rest is counted. The relay's memory is bounded all the time.
func TestPathOfHalfTheRate(t *testing.T) {
	const (
		objects  = 10 // a second, and in a group
		size     = 10_000
		groups   = 60
		lag      = 2 * time.Second
		halfRate = objects * size / 2 // bytes per second
	)
	cfg := Config{MaxLag: lag, CacheBytes: 2 << 20, CacheTrackBytes: 2 << 20}
	runRelay(t, cfg, func(rt *relayTest) {
		pub := rt.publisher()
		var whole, torn, other int
		var worst time.Duration
		const viewers = 3
		type result struct {
			whole, torn, other int
			worst              time.Duration
		}
		results := make(chan result, viewers)
		began := time.Now()
		for range viewers {
			s := rt.dial(moqt.PipeConfig{StreamWindow: 5000}).subscribe("video", wire.Params{})
			rt.running.Go(func() {
				var res result
				defer func() { results <- res }()
				for {
					in, err := s.Next(rt.ctx)
					if err != nil {
						return
					}
					for {
						o, err := in.Subgroup.Next()
						for err == nil {
							var b []byte
							b, err = in.Subgroup.ReadChunk()
							time.Sleep(time.Duration(len(b)) * time.Second / halfRate)
						}
						if err == io.EOF && o.PayloadLen > 0 {
							due := began.Add(time.Duration(in.Subgroup.Header().Group)*time.Second + time.Duration(o.ID)*time.Second/objects)
							res.worst = max(res.worst, time.Since(due))
							continue
						}
						var reset *moqt.StreamError
						switch {
						case err == io.EOF:
							res.whole++
						case errors.As(err, &reset) && wire.StreamCode(reset.Code) == wire.StreamTooFarBehind:
							res.torn++
						default:
							res.other++
						}
						break
					}
				}
			})
		}
		track := pub.track("video")
		for g := range uint64(groups) {
			w, err := track.OpenSubgroup(rt.ctx, moqt.SubgroupHeader{Group: g, FirstObject: true})
			if err != nil {
				t.Fatal(err)
			}
			for o := range uint64(objects) {
				time.Sleep(time.Until(began.Add(time.Duration(g)*time.Second + time.Duration(o)*time.Second/objects)))
				if err := w.WriteObject(moqt.ObjectHeader{ID: o}, make([]byte, size)); err != nil {
					t.Fatal(err)
				}
				if n := rt.relay.CacheBytes(); n > 2<<20 {
					t.Fatalf("the cache holds %d bytes", n)
				}
			}
			w.Close()
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		cuts := rt.relay.stats.Cuts[CutLag].Load() + rt.relay.stats.Cuts[CutEvicted].Load()
		track.Done(wire.DoneTrackEnded, "")
		for range viewers {
			res := <-results
			whole, torn, other, worst = whole+res.whole, torn+res.torn, other+res.other, max(worst, res.worst)
		}
		t.Logf("of %d groups %d came whole, %d were cut; the latest object was %v late", viewers*groups, whole, torn, worst)
		if whole < viewers*groups/3 {
			t.Errorf("only %d of %d groups came whole, want more than a third", whole, viewers*groups)
		}
		if worst > lag+1500*time.Millisecond {
			t.Errorf("an object came %v after its time", worst)
		}
		if other != 0 {
			t.Errorf("%d streams ended otherwise than whole or with TOO_FAR_BEHIND", other)
		}
		if cuts == 0 || int(cuts) < viewers*groups-whole {
			t.Errorf("%d cuts are counted; %d groups did not come whole", cuts, viewers*groups-whole)
		}
	})
}

// A peer that takes no more streams blocks nobody but itself.
func TestOthersBesideOneWithoutStreams(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		pub := rt.publisher()
		rt.dial(moqt.PipeConfig{MaxUniStreams: 1}).subscribe("video", wire.Params{})
		good := rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{})
		for g := range uint64(100) {
			began := time.Now()
			pub.groups("video", 1, g)
			rt.wantGroup(good, g, 0, 1)
			if d := time.Since(began); d > 0 {
				t.Fatalf("group %d took %v", g, d)
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
}

// The streams of a subscription that wait are bounded even below a group that never ends.
func TestManySubgroupsForOneWithoutStreams(t *testing.T) {
	runRelay(t, Config{}, func(rt *relayTest) {
		pub := rt.publisher()
		rt.dial(moqt.PipeConfig{MaxUniStreams: 1}).subscribe("video", wire.Params{})
		track := pub.track("video")
		for sub := range uint64(maxSubgroups + 500) {
			w, err := track.OpenSubgroup(rt.ctx, moqt.SubgroupHeader{Group: 1, Subgroup: sub})
			if err != nil {
				t.Fatal(err)
			}
			w.WriteObject(moqt.ObjectHeader{}, []byte("x"))
			w.Close()
			if sub%50 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		if n := rt.relay.stats.Cursors.Load(); n > maxCursors {
			t.Errorf("%d streams are open or wait, want at most %d", n, maxCursors)
		}
		if n := rt.relay.CacheBytes(); n > 4<<20 {
			t.Errorf("the cache holds %d bytes", n)
		}
		// Who comes now gets what there is, and what follows.
		s := rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{})
		last := make(chan struct{})
		rt.running.Go(func() {
			for {
				in, err := s.Next(rt.ctx)
				if err != nil {
					return
				}
				io.Copy(io.Discard, readAll{in.Subgroup})
				if in.Subgroup.Header().Subgroup == 1<<20 {
					close(last)
				}
			}
		})
		w, _ := track.OpenSubgroup(rt.ctx, moqt.SubgroupHeader{Group: 1, Subgroup: 1 << 20})
		w.WriteObject(moqt.ObjectHeader{}, []byte("x"))
		w.Close()
		select {
		case <-last:
		case <-time.After(time.Minute):
			t.Error("what came after the bound was reached has not arrived")
		}
	})
}

// readAll reads the payloads of all objects of a stream.
type readAll struct{ r *moqt.SubgroupReader }

func (a readAll) Read(b []byte) (int, error) {
	if n, err := a.r.Read(b); err != io.EOF {
		return n, err
	}
	_, err := a.r.Next()
	return 0, err
}

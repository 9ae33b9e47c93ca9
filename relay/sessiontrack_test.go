package relay

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

func TestSessionTrack(t *testing.T) {
	known := wire.FullTrackName{Namespace: wire.MustNamespace(".session", "x"), Name: "known"}
	var got []string
	cfg := Config{SessionTracks: map[wire.FullTrackName]SessionTrackFunc{
		known: func(payload []byte) { got = append(got, string(payload)) },
	}}
	runRelay(t, cfg, func(rt *relayTest) {
		viewer := rt.dial(moqt.PipeConfig{})
		other := known
		other.Name = "other"
		var refused *moqt.RequestError
		if _, err := viewer.Publish(rt.ctx, moqt.PublishRequest{Track: other}); !errors.As(err, &refused) || refused.Code != wire.RequestDoesNotExist {
			t.Errorf("an unknown track: %v, want DOES_NOT_EXIST", err)
		}
		pub, err := viewer.Publish(rt.ctx, moqt.PublishRequest{Track: known})
		if err != nil {
			t.Fatal(err)
		}
		send := func(group uint64, payload string) {
			w, err := pub.OpenSubgroup(rt.ctx, moqt.SubgroupHeader{Group: group, FirstObject: true})
			if err != nil {
				t.Fatal(err)
			}
			w.WriteObject(moqt.ObjectHeader{}, []byte(payload)) // fails if it was stopped, as some are
			w.Close()
			synctest.Wait()
		}
		send(0, "a")
		send(1, "too soon")
		time.Sleep(time.Second)
		send(2, string(make([]byte, maxSessionObject+1)))
		time.Sleep(time.Second)
		send(3, "b")
		if len(got) != 2 || got[0] != "a" || got[1] != "b" {
			t.Errorf("got %q, want a and b", got)
		}
		// One that begins an object and does not end it is given up.
		time.Sleep(time.Second)
		w, err := pub.OpenSubgroup(rt.ctx, moqt.SubgroupHeader{Group: 4, FirstObject: true})
		if err != nil {
			t.Fatal(err)
		}
		w.Write([]byte{0, 10, 1}) // object 0 of 10 bytes, and one of them
		time.Sleep(2 * sessionObjectTimeout)
		send(5, "c")
		if len(got) != 3 || got[2] != "c" {
			t.Errorf("got %q, want c at the end", got)
		}
		// Nobody else gets to know.
		if _, err := rt.dial(moqt.PipeConfig{}).Subscribe(rt.ctx, moqt.SubscribeRequest{Track: known}); !errors.As(err, &refused) || refused.Code != wire.RequestDoesNotExist {
			t.Errorf("another session's SUBSCRIBE: %v, want DOES_NOT_EXIST", err)
		}
		if n := rt.relay.stats.Tracks.Load(); n != 0 {
			t.Errorf("%d tracks", n)
		}
	})
}

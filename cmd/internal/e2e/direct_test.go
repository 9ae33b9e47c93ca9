package e2e

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/relaytest"
	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/relay"
)

// A subscriber that knows what it wants asks for it, without having been told that it is there: not every relay tells. And a
// publisher announces without having been asked.
func TestWithoutDiscovery(t *testing.T) {
	r := relaytest.Start(t, "moqt-18")
	addr := r.Addr
	go publishClock(t, addr, "moqt-18", wire.FullTrackName{Namespace: wire.MustNamespace("test", "ours"), Name: "clock"})
	for end := time.Now().Add(10 * time.Second); r.Stats().Namespaces.Load() == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the publisher has announced nothing")
		}
	}
	out := output(t, filepath.Join(bin, "moq-sub"), "--tls-insecure", "--namespace", "test/ours", "--track", "clock", "--json", "--duration", "3s", "moqt://"+addr+"/")
	var stats struct{ Tracks []struct{ Objects int } }
	if err := json.Unmarshal([]byte(out), &stats); err != nil || len(stats.Tracks) != 1 || stats.Tracks[0].Objects < 6 {
		t.Errorf("%v: want objects of one track in %s", err, out)
	}
	if n := r.Stats().Requests[relay.RequestSubscribeNamespace].Accepted.Load(); n != 0 {
		t.Errorf("%d SUBSCRIBE_NAMESPACE were sent, want none", n)
	}
}

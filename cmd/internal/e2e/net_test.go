package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/clitest"
	"github.com/moq-c4/moq-c4/cmd/internal/relaytest"
	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/quicnet"
	"github.com/moq-c4/moq-c4/relay"
)

// netReport is what watch/net.mjs prints: the version, and the groups that were received with their frames.
type netReport struct {
	Version string
	Groups  [][2]json.RawMessage
}

// The library of another project, as npm has it, publishes through the relay in Chromium: to itself and to us. And it
// receives what we publish.
func TestMoqNet(t *testing.T) {
	needTool(t, "node", "chromium")
	needPackage(t, "@moq/net")
	for protocol, version := range map[string]string{"moqt-18": "moq-transport-18", "moqt-16": "moq-transport-16", "moqt-19": "moq-transport-19"} {
		t.Run(protocol, func(t *testing.T) {
			r := relaytest.Start(t, protocol)
			addr, hash := r.Addr, r.Hash
			ours := wire.FullTrackName{Namespace: wire.MustNamespace("test", "ours"), Name: "clock"}
			go publishClock(t, addr, protocol, ours)

			cmd := exec.Command("node", "watch/net.mjs", "https://"+addr+"/", hash.String(), "test/theirs", "test/ours")
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			log := &clitest.Buffer{}
			cmd.Stderr = log
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			limit := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
			defer limit.Stop()
			defer func() {
				stdin.Close()
				cmd.Wait()
				if t.Failed() {
					t.Logf("the page:\n%s", tail(log.String(), 40))
				}
			}()
			lines := bufio.NewScanner(stdout)
			read := func(what string) (report netReport) {
				t.Helper()
				if !lines.Scan() {
					t.Fatalf("%s: the page has ended", what)
				}
				if err := json.Unmarshal(lines.Bytes(), &report); err != nil {
					t.Fatalf("%s: %v in %s", what, err, lines.Bytes())
				}
				if report.Version != version {
					t.Errorf("%s: on %s, want %s", what, report.Version, version)
				}
				return report
			}
			read("publishing")
			for _, what := range []string{"what it publishes itself", "what we publish"} {
				groups := read(what).Groups
				if len(groups) != 5 {
					t.Errorf("%s: %d groups came, want 5", what, len(groups))
				}
				for _, g := range groups {
					if want := fmt.Sprintf(`["%s.0","%s.1"]`, g[0], g[0]); string(g[1]) != want {
						t.Errorf("%s: group %s holds %s, want %s", what, g[0], g[1], want)
					}
				}
			}
			receiveClock(t, addr, protocol, wire.FullTrackName{Namespace: wire.MustNamespace("test", "theirs"), Name: "clock"})
			if n := r.Stats().Refusals[relay.RefusedMalformed].Load(); n != 0 {
				t.Errorf("%d tracks were taken for malformed", n)
			}
		})
	}
}

// session connects one of our sessions, which is closed when the test ends.
func session(t *testing.T, addr, protocol string) *moqt.Session {
	t.Helper()
	conn, err := quicnet.Dial(t.Context(), "moqt://"+addr, quicnet.DialConfig{Protocols: []string{protocol}, Insecure: true})
	if err != nil {
		t.Error(err)
		return nil
	}
	s := moqt.New(conn, moqt.Config{})
	go s.Run(t.Context())
	return s
}

// publishClock publishes what the page publishes, until the test ends.
func publishClock(t *testing.T, addr, protocol string, track wire.FullTrackName) {
	s := session(t, addr, protocol)
	if s == nil {
		return
	}
	if _, err := s.PublishNamespace(t.Context(), track.Namespace); err != nil {
		t.Error(err)
		return
	}
	for {
		req, err := s.Accept(t.Context())
		if err != nil {
			return
		}
		sub, ok := req.(*moqt.IncomingSubscribe)
		if !ok || sub.Track != track {
			req.Reject(&moqt.RequestError{Code: wire.RequestDoesNotExist})
			continue
		}
		pub, err := sub.Accept(moqt.AcceptSubscribe{})
		if err != nil {
			continue
		}
		go func() {
			tick := time.NewTicker(100 * time.Millisecond)
			defer tick.Stop()
			for g := uint64(0); ; g++ {
				select {
				case <-tick.C:
				case <-pub.Context().Done():
					return
				}
				w, err := pub.OpenSubgroup(t.Context(), moqt.SubgroupHeader{Group: g, FirstObject: true, EndOfGroup: true})
				if err != nil {
					continue
				}
				for o := range uint64(2) {
					w.WriteObject(moqt.ObjectHeader{ID: o}, fmt.Appendf(nil, "%d.%d", g, o))
				}
				w.Close()
			}
		}()
	}
}

// receiveClock wants two groups of what the page publishes.
func receiveClock(t *testing.T, addr, protocol string, track wire.FullTrackName) {
	t.Helper()
	s := session(t, addr, protocol)
	if s == nil {
		return
	}
	sub, err := s.Subscribe(t.Context(), moqt.SubscribeRequest{Track: track})
	if err != nil {
		t.Error(err)
		return
	}
	defer sub.Close()
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		in, err := sub.Next(ctx)
		cancel()
		if err != nil {
			t.Errorf("what it publishes, received by us: %v", err)
			return
		}
		for id := uint64(0); ; id++ {
			o, err := in.Subgroup.Next()
			if err == io.EOF && id == 2 {
				break
			}
			if err != nil {
				t.Errorf("object %d: %v", id, err)
				return
			}
			b, _ := io.ReadAll(in.Subgroup)
			if want := fmt.Sprintf("%d.%d", in.Subgroup.Header().Group, id); o.ID != id || string(b) != want {
				t.Errorf("object %d holds %q, want %q", o.ID, b, want)
			}
		}
	}
}

package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/clitest"
)

// watcher is another project's player in headless Chromium.
type watcher struct {
	t       *testing.T
	samples chan watchSample
}

// watchSample is what the player showed and sounded like in one second.
type watchSample struct {
	Changes    int     `json:"changes"` // pictures that differed from the one before
	Bright     int     `json:"bright"`  // of 2304 pixels, those that are not black
	Loudest    float64 `json:"loudest"` // RMS, 1 is full scale
	Pitch      float64 `json:"pitch"`   // Hz
	Connection string  `json:"connection"`
	Version    string  `json:"version"`
	Status     string  `json:"status"`
}

func startWatch(t *testing.T, addr, name, attributes string) *watcher {
	t.Helper()
	needTool(t, "node", "chromium")
	needPackage(t, "@moq/watch")
	cmd := exec.Command("node", "watch/probe.mjs", "http://"+addr+"/", name, attributes, os.Getenv("MOQ_E2E_SCREENSHOT"))
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
	w := &watcher{t: t, samples: make(chan watchSample, 1000)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(w.samples)
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			var s watchSample
			if json.Unmarshal(lines.Bytes(), &s) == nil {
				w.samples <- s
			}
		}
		cmd.Wait()
	}()
	t.Cleanup(func() {
		stdin.Close()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			cmd.Process.Kill()
			<-done
		}
		if t.Failed() {
			t.Logf("player:\n%s", tail(log.String(), 40))
		}
	})
	return w
}

// playing reports whether pictures move, and the clip's beep is heard.
func (s watchSample) playing() bool {
	return s.Changes >= 8 && s.Bright > 500 && s.Loudest > 0.005
}

// waitPlaying waits for three seconds in a row of moving pictures and sound.
func (w *watcher) waitPlaying(what string) {
	w.t.Helper()
	limit := time.After(60 * time.Second)
	var last watchSample
	for good := 0; good < 3; {
		select {
		case s, ok := <-w.samples:
			if !ok {
				w.t.Fatalf("%s: the player has ended", what)
			}
			last = s
			if s.playing() {
				good++
			} else {
				good = 0
			}
		case <-limit:
			w.t.Fatalf("%s: not playing; last second: %+v", what, last)
		}
	}
	w.t.Logf("%s: %+v", what, last)
}

// drain forgets what was seen so far.
func (w *watcher) drain() {
	for {
		select {
		case <-w.samples:
		default:
			return
		}
	}
}

const clip = "../../../testdata/clip.mp4"

func startClip(t *testing.T, addr string) *proc {
	t.Helper()
	p := start(t, nil, "moq-pub", "--tls-insecure", "--namespace", "live/clip", "--input", clip, "--loop", "moqt://"+addr+"/")
	p.waitLog("publishing")
	return p
}

// The player of another project, as npm has it, plays the clip by either catalog, and goes on after
// publisher and relay have been restarted.
func TestMoqWatch(t *testing.T) {
	for _, format := range []string{"hang", "msf"} {
		t.Run(format, func(t *testing.T) {
			addr := freeAddr(t)
			relay := startRelay(t, addr)
			pub := startClip(t, addr)
			w := startWatch(t, addr, "live/clip", `{"catalog-format":"`+format+`"}`)
			w.waitPlaying("first")
			if !strings.Contains(relay.log.String(), "peer writes parameters as draft-16 does") {
				t.Error("the relay has not noted that the player's parameters are not those of draft 18")
			}

			pub.terminate()
			startClip(t, addr)
			w.drain()
			w.waitPlaying("after a restart of the publisher")

			relay.terminate()
			startRelay(t, addr)
			w.drain()
			w.waitPlaying("after a restart of the relay")
		})
	}
}

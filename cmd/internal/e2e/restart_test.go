package e2e

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// frameLog is what moq-sub --csv writes.
type frameLog struct {
	t    *testing.T
	file string
}

type frameLine struct {
	track         string
	group, object uint64
	key           bool
}

// lines returns the frames that are in the file now.
func (l *frameLog) lines() (frames []frameLine) {
	f, err := os.Open(l.file)
	if err != nil {
		return nil
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord = 8
	for {
		rec, err := r.Read()
		if err != nil { // the end, or a line that is not whole yet
			return frames
		}
		if rec[0] == "time" {
			continue
		}
		g, _ := strconv.ParseUint(rec[3], 10, 64)
		o, _ := strconv.ParseUint(rec[4], 10, 64)
		frames = append(frames, frameLine{rec[1], g, o, rec[6] == "true"})
	}
}

// waitMore waits until both video tracks and audio have n more frames than now, and returns all.
func (l *frameLog) waitMore(what string, n int) []frameLine {
	l.t.Helper()
	count := func(frames []frameLine) map[string]int {
		c := make(map[string]int)
		for _, f := range frames {
			c[f.track]++
		}
		return c
	}
	before := count(l.lines())
	for end := time.Now().Add(40 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		frames := l.lines()
		now, enough := count(frames), 0
		for _, track := range []string{"video-720p", "video-360p", "audio"} {
			if now[track] >= before[track]+n {
				enough++
			}
		}
		if enough == 3 {
			return frames
		}
	}
	l.t.Fatalf("%s: frames stopped: %v before, %v now", what, before, count(l.lines()))
	return nil
}

// A subscriber that was there before everything keeps receiving when publisher and relay are killed and
// started again, without a restart of its own; groups never go back.
func TestRestarts(t *testing.T) {
	t.Parallel() // most of it is waiting
	addr := freeAddr(t)
	log := &frameLog{t, filepath.Join(t.TempDir(), "frames.csv")}
	sub := start(t, nil, "moq-sub", "--tls-insecure", "--namespace", "live/clip", "--wait", "--csv", log.file, "--json", "moqt://"+addr+"/")
	relay := startRelay(t, addr)
	pub := startClip(t, addr)
	log.waitMore("start", 60)
	one := &frameLog{t, filepath.Join(t.TempDir(), "one.csv")} // the same for a track that was asked for by name
	start(t, nil, "moq-sub", "--tls-insecure", "--namespace", "live/clip", "--track", "video-360p", "--csv", one.file, "moqt://"+addr+"/")

	pub.kill()
	pub = startClip(t, addr)
	log.waitMore("publisher killed and restarted", 60)

	pub.terminate()
	startClip(t, addr)
	log.waitMore("publisher stopped and restarted", 60)

	relay.kill()
	relay = startRelay(t, addr)
	log.waitMore("relay killed and restarted", 60)

	if code := relay.terminate(); code != 0 {
		t.Errorf("relay ended with exit code %d", code)
	}
	before := len(one.lines())
	startRelay(t, addr)
	frames := log.waitMore("relay stopped and restarted", 60)
	for end := time.Now().Add(20 * time.Second); len(one.lines()) <= before; time.Sleep(50 * time.Millisecond) {
		if before == 0 || time.Now().After(end) {
			t.Fatalf("the subscriber of one track had %d frames and then no more", before)
		}
	}

	newest := make(map[string]uint64)
	for _, f := range frames {
		if f.group < newest[f.track] {
			t.Fatalf("%s: group %d after %d", f.track, f.group, newest[f.track])
		}
		if f.group > newest[f.track] && f.object == 0 && !f.key {
			t.Errorf("%s: group %d begins with a frame that is no key frame", f.track, f.group)
		}
		newest[f.track] = f.group
	}
	if code := sub.terminate(); code != 0 {
		t.Errorf("moq-sub ended with exit code %d", code)
	}
}

// A relay that was killed is noticed within seconds by those who only send, and by those who only receive.
func TestKilledRelayIsNoticed(t *testing.T) {
	t.Parallel() // most of it is waiting
	addr := freeAddr(t)
	relay := startRelay(t, addr)
	pub := startClip(t, addr)
	log := &frameLog{t, filepath.Join(t.TempDir(), "frames.csv")}
	sub := start(t, nil, "moq-sub", "--tls-insecure", "--namespace", "live/clip", "--wait", "--csv", log.file, "moqt://"+addr+"/")
	log.waitMore("start", 30)
	relay.kill()
	began := time.Now()
	for p, line := range map[*proc]string{pub: "not connected", sub: "not receiving"} {
		p.waitLog(line)
		if took := time.Since(began); took > 12*time.Second {
			t.Errorf("%s has noticed after %v, want 8 s or a little more", p.name, took)
		}
	}
}

// Statistics of a short run are plausible and valid JSON.
func TestStatistics(t *testing.T) {
	addr := freeAddr(t)
	startRelay(t, addr)
	startClip(t, addr)
	out := output(t, filepath.Join(bin, "moq-sub"), "--tls-insecure", "--namespace", "live/clip", "--json", "--duration", "4s", "https://"+addr+"/")
	var stats struct {
		Tracks []struct {
			Track   string
			Groups  int
			Objects int
			Lost    int
			RateBPS int                `json:"rate_bps"`
			DelayMS map[string]float64 `json:"delay_ms"`
		}
	}
	if err := json.Unmarshal([]byte(out), &stats); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if len(stats.Tracks) != 3 {
		t.Fatalf("%d tracks, want 3: %s", len(stats.Tracks), out)
	}
	for _, s := range stats.Tracks {
		if s.Groups < 2 || s.Objects < 60 || s.Lost > 0 || s.RateBPS < 20_000 || s.DelayMS["p50"] <= 0 || s.DelayMS["p50"] > 2000 {
			t.Errorf("implausible: %+v", s)
		}
	}
}

// What is there can be listed, and what is not there has its own exit code.
func TestList(t *testing.T) {
	addr := freeAddr(t)
	startRelay(t, addr)
	sub := filepath.Join(bin, "moq-sub")
	if code := start(t, nil, "moq-sub", "--tls-insecure", "moqt://"+addr+"/").wait(20 * time.Second); code != 3 {
		t.Errorf("exit code %d without a namespace on the relay, want 3", code)
	}
	startClip(t, addr)
	if got := output(t, sub, "--tls-insecure", "moqt://"+addr+"/"); got != "live/clip\n" {
		t.Errorf("namespaces: %q, want live/clip", got)
	}
	got := output(t, sub, "--tls-insecure", "--namespace", "live/clip", "https://"+addr+"/")
	for _, want := range []string{"video-720p", "1280x720", "video-360p", "audio ", "audio-stream", "opus"} {
		if !strings.Contains(got, want) {
			t.Errorf("the list of tracks lacks %q:\n%s", want, got)
		}
	}
	if code := start(t, nil, "moq-sub", "--tls-insecure", "--namespace", "live/other", "moqt://"+addr+"/").wait(20 * time.Second); code != 3 {
		t.Errorf("exit code %d for a namespace that is not there, want 3", code)
	}
	if code := start(t, nil, "moq-sub", "--tls-insecure", "--namespace", "live/clip", "--track", "nope", "--stats", "moqt://"+addr+"/").wait(20 * time.Second); code != 3 {
		t.Errorf("exit code %d for a track that is not there, want 3", code)
	}
	if code := start(t, nil, "moq-sub", "--namespace", "live/clip", "moqt://"+addr+"/").wait(20 * time.Second); code != 1 {
		t.Errorf("exit code %d for a certificate that is not trusted, want 1", code)
	}
}

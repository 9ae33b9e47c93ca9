// Package fftest runs the real ffmpeg and ffprobe in tests: to make inputs, and
// to say what a player would see of outputs.
package fftest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// RequireTools is the environment variable that makes the absence of ffmpeg a
// failure and not a reason to skip.
const RequireTools = "MOQ_REQUIRE_TOOLS"

// Need skips the test where ffmpeg is not installed.
func Need(t testing.TB) {
	t.Helper()
	for _, tool := range []string{"ffmpeg", "ffprobe"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv(RequireTools) != "" {
				t.Fatalf("%s is needed (%s is set): %v", tool, RequireTools, err)
			}
			t.Skipf("%s is not installed", tool)
		}
	}
}

var (
	clipsMu sync.Mutex
	clips   = map[string][]byte{}
)

// Clip is the standard output of ffmpeg with these arguments, made once per
// process.
func Clip(t testing.TB, args ...string) []byte {
	t.Helper()
	Need(t)
	clipsMu.Lock()
	defer clipsMu.Unlock()
	key := strings.Join(args, " ")
	if c, ok := clips[key]; ok {
		return c
	}
	all := append([]string{"-hide_banner", "-nostats", "-loglevel", "error"}, args...)
	c := run(t, "ffmpeg", append(all, "pipe:1")...)
	clips[key] = c
	return c
}

// run returns the standard output of a command.
func run(t testing.TB, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, errOut.String())
	}
	return out.Bytes()
}

// File writes data to a file of the test.
func File(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// MD5 is one line of ffmpeg's framemd5 output.
type MD5 struct {
	DTS, PTS, Duration string
	Hash               string
}

// FrameMD5 lists the frames of each stream as ffmpeg decodes them, or with
// copied as they are stored.
func FrameMD5(t testing.TB, data []byte, copied bool) map[int][]MD5 {
	t.Helper()
	Need(t)
	args := []string{"-hide_banner", "-nostats", "-loglevel", "error", "-xerror", "-i", File(t, "in.mp4", data), "-map", "0"}
	if copied {
		args = append(args, "-c", "copy")
	} else {
		args = append(args, "-fps_mode", "passthrough")
	}
	frames := map[int][]MD5{}
	for line := range strings.Lines(string(run(t, "ffmpeg", append(args, "-f", "framemd5", "-")...))) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
		if len(f) < 6 {
			t.Fatalf("framemd5 line %q", line)
		}
		stream, err := strconv.Atoi(f[0])
		if err != nil {
			t.Fatalf("framemd5 line %q", line)
		}
		frames[stream] = append(frames[stream], MD5{DTS: f[1], PTS: f[2], Duration: f[3], Hash: f[5]})
	}
	return frames
}

// Packet is a packet as ffprobe lists it. Times are in seconds.
type Packet struct {
	Stream             int
	PTS, DTS, Duration float64
	Key                bool
	Size               int
}

// Packets lists the packets of a file in the order in which they are stored.
func Packets(t testing.TB, data []byte) []Packet {
	t.Helper()
	Need(t)
	out := run(t, "ffprobe", "-v", "error", "-show_entries",
		"packet=stream_index,pts_time,dts_time,duration_time,size,flags", "-of", "csv=p=0", File(t, "in.mp4", data))
	var packets []Packet
	for line := range strings.Lines(string(out)) {
		var p Packet
		f := strings.Split(strings.TrimSpace(line), ",")
		if len(f) < 6 {
			t.Fatalf("ffprobe line %q", line)
		}
		fields := strings.ReplaceAll(strings.Join(f[:5], " "), "N/A", "NaN")
		if _, err := fmt.Sscan(fields, &p.Stream, &p.PTS, &p.DTS, &p.Duration, &p.Size); err != nil {
			t.Fatalf("ffprobe line %q: %v", line, err)
		}
		p.Key = strings.HasPrefix(f[5], "K")
		packets = append(packets, p)
	}
	return packets
}

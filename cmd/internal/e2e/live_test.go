package e2e

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// liveSeconds is how long the live stream of TestLiveStream is. MOQ_E2E_SECONDS makes it longer.
func liveSeconds() int {
	if n, err := strconv.Atoi(os.Getenv("MOQ_E2E_SECONDS")); err == nil && n > 0 {
		return n
	}
	return 10
}

// ffmpegLive is the command of README.md: two renditions and Opus, in real time.
func ffmpegLive(seconds int) []string {
	return strings.Fields(`-hide_banner -nostats -v error` +
		` -re -f lavfi -i testsrc2=size=1280x720:rate=30 -re -f lavfi -i sine=frequency=440:beep_factor=4:sample_rate=48000` +
		` -t ` + strconv.Itoa(seconds) +
		` -filter_complex [0:v]split=2[hi][m];[m]scale=640:360[lo] -map [hi] -map [lo] -map 1:a` +
		` -c:v libx264 -preset ultrafast -tune zerolatency -profile:v baseline -bf 0 -g 30 -keyint_min 30 -sc_threshold 0 -pix_fmt yuv420p` +
		` -b:v:0 2500k -maxrate:v:0 2500k -bufsize:v:0 1250k -b:v:1 600k -maxrate:v:1 600k -bufsize:v:1 300k` +
		` -c:a libopus -b:a 96k -frame_duration 20 -application lowdelay -ac 2` +
		` -flush_packets 1 -max_interleave_delta 1 -movflags +cmaf+frag_every_frame+separate_moof+skip_trailer -f mp4 pipe:1`)
}

// startFFmpeg starts the live stream. What it writes goes to the returned reader and, byte by byte the same, into a file.
func startFFmpeg(t *testing.T, seconds int, file string) io.Reader {
	t.Helper()
	cmd := exec.Command("ffmpeg", ffmpegLive(seconds)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	copied, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(io.MultiWriter(copied, w), out)
		w.Close()
		copied.Close()
		cmd.Wait()
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		r.Close()
		<-done
	})
	return r
}

// A live stream reaches subscribers over both transports, from its first frame and from the middle, without a
// frame lost or changed.
func TestLiveStream(t *testing.T) {
	needTool(t, "ffmpeg")
	t.Parallel()
	for _, packaging := range []string{"cmaf", "loc"} {
		t.Run(packaging, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			addr := freeAddr(t)
			// What is lost would be lost to a machine that cannot keep up, which is not what is tested.
			startRelay(t, addr, "--max-lag", "1m")
			record := func(name, scheme string, more ...string) (*proc, string) {
				file := filepath.Join(dir, name+".mp4")
				args := append([]string{"--tls-insecure", "--namespace", "live/test", "--wait", "-o", file}, more...)
				return start(t, nil, "moq-sub", append(args, scheme+"://"+addr+"/")...), file
			}
			early, earlyFile := record("early", "moqt")
			web, webFile := record("web", "https")
			source := filepath.Join(dir, "source.mp4")
			seconds := liveSeconds()
			pub := start(t, startFFmpeg(t, seconds, source), "moq-pub", "--tls-insecure",
				"--namespace", "live/test", "--packaging", packaging, "moqt://"+addr+"/")
			waitSize(t, source, int64(seconds)*350_000/2) // in the middle of the stream
			late, lateFile := record("late", "moqt", "--audio", "datagrams")
			if code := pub.wait(time.Duration(seconds+30) * time.Second); code != 0 {
				t.Fatalf("moq-pub ended with exit code %d", code)
			}
			for _, p := range []*proc{early, web, late} {
				p.waitLogN("track interrupted", 3) // PUBLISH_DONE of each track
				if code := p.terminate(); code != 0 {
					t.Errorf("moq-sub ended with exit code %d", code)
				}
			}

			const audio = 2           // in both files, but
			of := [3]int{1, 0, audio} // a recording has the smaller video first, ffmpeg's output the larger
			want := frameHashes(t, source)
			for _, file := range []string{earlyFile, webFile} {
				got := frameHashes(t, file)
				for i := range got {
					least := 30*seconds - 1
					if i == audio {
						least = 50*seconds - 50 // a sound group is one frame: what went by before the subscription is gone
					}
					at := wantPart(t, fmt.Sprintf("%s, stream %d", filepath.Base(file), i), got[i], want[of[i]], least)
					if at > 0 && i != audio {
						t.Errorf("%s: stream %d begins with frame %d of the source", filepath.Base(file), i, at)
					}
				}
			}
			got := frameHashes(t, lateFile)
			for i := range got {
				at := wantPart(t, fmt.Sprintf("late.mp4, stream %d", i), got[i], want[of[i]], 30*seconds/4)
				if i != audio && at%30 != 0 {
					t.Errorf("the late recording begins with frame %d of the source, which is not the start of a group", at)
				}
			}
		})
	}
}

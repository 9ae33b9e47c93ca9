package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/clitest"
)

// bin is where the programs under test are.
var bin string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "moq-e2e-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		bin = dir
		build := exec.Command("go", "build", "-race", "-o", dir+"/", "../../moq-relay", "../../moq-pub", "../../moq-sub")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// needTool skips the test if a program is missing, unless the environment says that it has to be there.
func needTool(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("MOQ_REQUIRE_TOOLS") != "" {
				t.Fatalf("%s is missing (make setup installs it)", name)
			}
			t.Skipf("%s is missing (make setup installs it)", name)
		}
	}
}

// needPackage skips the test if an npm package is missing, unless the environment says that it has to be there.
func needPackage(t *testing.T, name string) {
	t.Helper()
	if _, err := os.Stat("watch/node_modules/" + name); err != nil {
		if os.Getenv("MOQ_REQUIRE_TOOLS") != "" {
			t.Fatal("npm packages are missing (make setup installs them)")
		}
		t.Skip("npm packages are missing (make setup installs them)")
	}
}

// proc is a process of a test.
type proc struct {
	t    *testing.T
	name string
	cmd  *exec.Cmd
	log  *clitest.Buffer
	done chan struct{}
	err  error // of Wait, after done
}

// start runs one of our programs until the test ends. Its log is shown if the test fails, and
// the race detector's word fails it.
func start(t *testing.T, stdin io.Reader, name string, args ...string) *proc {
	t.Helper()
	return startCommand(t, stdin, filepath.Join(bin, name), args...)
}

func startCommand(t *testing.T, stdin io.Reader, path string, args ...string) *proc {
	t.Helper()
	p := &proc{t: t, name: filepath.Base(path), cmd: exec.Command(path, args...), log: &clitest.Buffer{}, done: make(chan struct{})}
	p.cmd.Stdin = stdin
	p.cmd.Stderr = p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.kill()
		if strings.Contains(p.log.String(), "DATA RACE") || strings.Contains(p.log.String(), "panic:") {
			t.Errorf("%s: data race or panic", p.name)
		}
		if t.Failed() {
			t.Logf("%s %s\n%s", p.name, strings.Join(args, " "), tail(p.log.String(), 60))
		}
	})
	return p
}

func tail(s string, lines int) string {
	all := strings.Split(s, "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// kill ends the process without a word.
func (p *proc) kill() {
	p.cmd.Process.Kill()
	<-p.done
}

// terminate asks the process to end and returns its exit code.
func (p *proc) terminate() int {
	p.t.Helper()
	p.cmd.Process.Signal(syscall.SIGTERM)
	return p.wait(30 * time.Second)
}

// wait returns the exit code of a process that ends by itself.
func (p *proc) wait(limit time.Duration) int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(limit):
		p.cmd.Process.Signal(syscall.SIGQUIT) // goroutines into the log
		<-p.done
		p.t.Fatalf("%s has not ended after %v", p.name, limit)
	}
	return p.cmd.ProcessState.ExitCode()
}

// waitLog waits until the process has logged a text.
func (p *proc) waitLog(text string) {
	p.t.Helper()
	p.waitLogN(text, 1)
}

// waitLogN waits until a text is n times in the log.
func (p *proc) waitLogN(text string, n int) {
	p.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if strings.Count(p.log.String(), text) >= n {
			return
		}
		select {
		case <-p.done:
			if strings.Count(p.log.String(), text) < n {
				p.t.Fatalf("%s has ended (%v) without logging %q", p.name, p.err, text)
			}
			return
		default:
		}
	}
	p.t.Fatalf("%s has not logged %q %d times", p.name, text, n)
}

// waitSize waits until a file has grown to some number of bytes.
func waitSize(t *testing.T, file string, size int64) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if info, err := os.Stat(file); err == nil && info.Size() >= size {
			return
		}
	}
	t.Fatalf("%s has not grown to %d bytes", file, size)
}

// freeAddr returns an address of the loopback that nobody uses now. It is not one of those that the system gives to clients,
// so that it stays free while the relay behind it restarts.
func freeAddr(t *testing.T) string {
	t.Helper()
	for range 100 {
		addr := "127.0.0.1:" + strconv.Itoa(20_000+rand.IntN(12_000))
		tcp, err := net.Listen("tcp", addr)
		if err != nil {
			continue
		}
		defer tcp.Close()
		udp, err := net.ListenPacket("udp", addr)
		if err != nil {
			continue
		}
		defer udp.Close()
		return addr
	}
	t.Fatal("no free port")
	return ""
}

// startRelay starts a relay and waits until it serves.
func startRelay(t *testing.T, addr string, args ...string) *proc {
	t.Helper()
	p := start(t, nil, "moq-relay", append([]string{"--listen", addr, "--ops", "off"}, args...)...)
	p.waitLog("relay started")
	return p
}

// output runs a program to its end and returns what it prints.
func output(t *testing.T, path string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", path, strings.Join(args, " "), err, tail(stderr.String(), 20))
	}
	return string(out)
}

// frameHashes returns the MD5 of each frame of each stream of a file: of pictures decoded, of sound as it is
// packed, since what a sound decoder makes of a packet depends on where it has begun.
func frameHashes(t *testing.T, file string) (streams [][]string) {
	t.Helper()
	out := output(t, "ffmpeg", "-v", "error", "-i", file, "-map", "0", "-c:a", "copy", "-f", "framemd5", "-")
	for line := range strings.Lines(out) {
		fields := strings.Split(strings.TrimSpace(line), ",")
		if strings.HasPrefix(line, "#") || len(fields) < 6 {
			continue
		}
		i, err := strconv.Atoi(strings.TrimSpace(fields[0]))
		if err != nil {
			t.Fatalf("framemd5 of %s: %q", file, line)
		}
		for len(streams) <= i {
			streams = append(streams, nil)
		}
		streams[i] = append(streams[i], strings.TrimSpace(fields[len(fields)-1]))
	}
	return streams
}

// wantPart checks that the frames of a recording are those of the source, from some frame on without a gap.
// It returns that frame.
func wantPart(t *testing.T, what string, got, source []string, least int) int {
	t.Helper()
	if len(got) < least {
		t.Errorf("%s: %d frames were recorded, want at least %d", what, len(got), least)
		return -1
	}
	at := slices.Index(source, got[0])
	if at < 0 {
		t.Errorf("%s: the first recorded frame is none of the source's", what)
		return -1
	}
	for i := range got {
		if at+i >= len(source) || got[i] != source[at+i] {
			t.Errorf("%s: frame %d of %d differs from frame %d of the source", what, i, len(got), at+i)
			return -1
		}
	}
	return at
}

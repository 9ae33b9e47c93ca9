package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a program under test, so that its use of the machine can be told from the load's.
type process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended

	mu   sync.Mutex
	tail []string // the last lines it wrote to stderr
}

// tailLines is how much of a child's log is kept for when it fails.
const tailLines = 20

// start runs a program until stop or the end of ctx. The program's log is kept back.
func start(ctx context.Context, path string, args ...string) (*process, error) {
	p := &process{name: filepath.Base(path), cmd: exec.CommandContext(ctx, path, args...), done: make(chan struct{})}
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 5 * time.Second
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w (make build?)", path, err)
	}
	go func() {
		defer close(p.done)
		p.keep(stderr)
		p.cmd.Wait()
	}()
	return p, nil
}

func (p *process) keep(r io.Reader) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		p.mu.Lock()
		p.tail = append(p.tail, lines.Text())
		if len(p.tail) > tailLines {
			p.tail = p.tail[1:]
		}
		p.mu.Unlock()
	}
}

// log returns the last lines that the process has logged.
func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.tail, "\n")
}

// stop ends the process and waits for it.
func (p *process) stop() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(5 * time.Second):
		p.cmd.Process.Kill()
		<-p.done
	}
}

// clockTicks is USER_HZ, which is 100 on every Linux that Go runs on.
const clockTicks = 100

// cpu returns the processor time that the process has used.
func (p *process) cpu() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("%s has ended: %w\n%s", p.name, err, p.log())
	}
	// The second field, the name, may hold anything but ends with the last parenthesis.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, errors.New("cannot read /proc/PID/stat")
	}
	var ticks int64
	for _, f := range fields[11:13] { // utime, stime
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / clockTicks, nil
}

// rss returns the resident memory of the process in bytes.
func (p *process) rss() (int64, error) {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("%s has ended: %w\n%s", p.name, err, p.log())
	}
	fields := bytes.Fields(statm)
	if len(fields) < 2 {
		return 0, errors.New("cannot read /proc/PID/statm")
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// sibling returns the path of another command of this build.
func sibling(name string) string {
	self, err := os.Executable()
	if err != nil {
		return name
	}
	return filepath.Join(filepath.Dir(self), name)
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/cmd/internal/clitest"
)

func TestWrongUse(t *testing.T) {
	clitest.WrongUse(t, run, map[string]string{
		"here":                          `unexpected argument "here"`,
		"--rate fast":                   "rate",
		"--rate 0":                      "rate above 0",
		"--rate 1Mbit/s;x":              "--rate",
		"--delay 0":                     "delay above 0",
		"--queue 1bpd":                  "queue",
		"--loss 2":                      "--loss",
		"--loss 101%":                   "--loss",
		"--scenario nothing":            "neither built in nor a file",
		"--scenario steps --link x":     "exclude each other",
		"--scenario steps --up 1kbit/s": "--up goes without",
		"--link rate=x":                 "rate",
		"--duration -1s":                "--duration",
		"--max-clients 0":               "--max-clients",
	})
}

func TestFlagsAreDocumented(t *testing.T) { clitest.FlagsDocumented(t, run, "moq-link") }

func TestLinks(t *testing.T) {
	for _, tt := range []struct {
		args  string
		rate  float64
		up    float64
		queue time.Duration
		loss  float64
		dualq bool
	}{
		{args: "", rate: 10e6, up: 10e6, queue: 40 * time.Millisecond},
		{args: "--rate 4Mbit/s --up 1Mbit/s --delay 10ms --queue 2bdp --loss 1% --dualq", rate: 4e6, up: 1e6, queue: 40 * time.Millisecond, loss: 0.01, dualq: true},
		{args: "--scenario ecn", rate: 20e6, up: 20e6, queue: 100 * time.Millisecond, dualq: true},
		{args: "--scenario slow --loss 0.5", rate: 4e6, up: 4e6, queue: 100 * time.Millisecond, loss: 0.5},
	} {
		f, err := parseFlags(cli.Env{Args: strings.Fields(tt.args), Stderr: &bytes.Buffer{}})
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		l := f.config.Link
		if p := l.Phases[0]; p.Down.Rate != tt.rate || p.Up.Rate != tt.up || p.Down.Queue != tt.queue || l.Loss != tt.loss || l.DualQ != tt.dualq {
			t.Errorf("%s: %+v", tt.args, l)
		}
	}
}

// The command forwards until its time is over and then prints what it counted.
func TestRun(t *testing.T) {
	server, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	free, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	listen := free.LocalAddr().String()
	free.Close()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, log bytes.Buffer
	done := make(chan error)
	go func() {
		args := []string{"--listen", listen, "--to", server.LocalAddr().String(), "--delay", "1ms", "--json", "--no-tcp"}
		done <- run(ctx, cli.Env{Args: args, Stdout: &out, Stderr: &log})
	}()
	client, err := net.Dial("udp", listen)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	b := make([]byte, 10)
	for try := 0; ; try++ { // until the command listens
		client.Write([]byte("hello"))
		server.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		n, _, err := server.ReadFrom(b)
		if err == nil && string(b[:n]) == "hello" {
			break
		}
		if try == 200 {
			t.Fatalf("nothing arrives: %v\n%s", err, &log)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	var got struct {
		Elapsed int64 `json:"elapsed_us"`
		Up      struct{ Delivered int }
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Up.Delivered < 1 || got.Elapsed == 0 {
		t.Errorf("%s: %+v, %v", &out, got, err)
	}
}

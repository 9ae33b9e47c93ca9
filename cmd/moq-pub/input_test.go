package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
)

// Ctrl-C ends it also while it waits for the beginning of its standard input.
func TestInterruptedBeforeTheInput(t *testing.T) {
	stdin, end := io.Pipe()
	defer end.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var stderr bytes.Buffer
	args := strings.Fields("--namespace a --tls-insecure moqt://localhost:1")
	err := run(ctx, cli.Env{Args: args, Stdin: stdin, Stdout: &stderr, Stderr: &stderr})
	if code := cli.ExitCode(ctx, err, &stderr); code != cli.ExitOK {
		t.Errorf("exit code %d (%v), want %d", code, err, cli.ExitOK)
	}
}

func TestEmptyInput(t *testing.T) {
	var stderr bytes.Buffer
	ctx := context.Background()
	args := strings.Fields("--namespace a --tls-insecure moqt://localhost:1")
	err := run(ctx, cli.Env{Args: args, Stdin: strings.NewReader(""), Stdout: &stderr, Stderr: &stderr})
	if code := cli.ExitCode(ctx, err, &stderr); code != cli.ExitFailed || !strings.Contains(stderr.String(), "standard input is empty") {
		t.Errorf("exit code %d, printed %q", code, &stderr)
	}
}

package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
)

// Wrong use is told in one line and exits with code 2, before anything is started.
func TestWrongUse(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"sing", "unknown argument"},
		{"--subscribers 0", "--subscribers"},
		{"--transport tcp", "--transport"},
		{"fanout ftp://x", "bad URL"},
		{"--duration 1ms", "--duration"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			var stderr bytes.Buffer
			ctx := context.Background()
			err := run(ctx, cli.Env{Args: strings.Fields(tt.args), Stdin: strings.NewReader(""), Stdout: &stderr, Stderr: &stderr})
			if code := cli.ExitCode(ctx, err, &stderr); code != cli.ExitUsage {
				t.Errorf("exit code %d (%v), want %d", code, err, cli.ExitUsage)
			}
			if out := stderr.String(); strings.Count(out, "\n") != 1 || !strings.Contains(out, tt.want) {
				t.Errorf("printed %q, want one line with %q", out, tt.want)
			}
		})
	}
}

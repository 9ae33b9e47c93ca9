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
		{"", "the relay's URL"},
		{"--namespace a http://x", "bad URL"},
		{"moqt://localhost:1", "namespace is missing"},
		{"--namespace a//b moqt://localhost:1", "--namespace"},
		{"--namespace a --packaging flv moqt://x", "--packaging"},
		{"--namespace a --loop moqt://x", "--loop needs a file"},
		{"--namespace a --synthetic --loop moqt://x", "--synthetic"},
		{"--namespace a --input no-such.mp4 moqt://x", "no-such.mp4"},
		{"--namespace a --tls-fingerprint 12 moqt://x", "--tls-fingerprint"},
		{"--namespace a --tls-insecure --tls-fingerprint 12 moqt://x", "exclude each other"},
		{"--namespace a --input flags.go moqt://x", "--input"},
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

// docs/operations.md lists every flag of the command, and no other.
func TestFlagsAreDocumented(t *testing.T) {
	var help bytes.Buffer
	run(context.Background(), cli.Env{Args: []string{"--help"}, Stdout: &help, Stderr: &help})
	missing, err := cli.UndocumentedFlags("moq-pub", help.String(), "../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(missing) > 0 {
		t.Errorf("not the same in --help and docs/operations.md: %q", missing)
	}
}

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
		{"extra", "takes no arguments"},
		{"--cert x.pem", "--cert and --key go together"},
		{"--cert no.pem --key no.pem", "no.pem"},
		{"--listen nowhere:99999", "--listen nowhere:99999"},
		{"--listen 127.0.0.1:0 --ops nowhere:99999", "--ops nowhere:99999"},
		{"--cache-bytes 0", "--cache-bytes"},
		{"--max-lag -1s", "--max-lag"},
		{"--log-level loud", "log level"},
		{"--what", "-what"},
		{"--cert a --key b --cert-names x", "--cert-names"},
		{"--origins ::", "origin"},
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
	missing, err := cli.UndocumentedFlags("moq-relay", help.String(), "../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(missing) > 0 {
		t.Errorf("not the same in --help and docs/operations.md: %q", missing)
	}
}

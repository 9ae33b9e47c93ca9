// Package clitest has the tests that all commands share: what wrong use is answered with, and that every flag is
// documented.
package clitest

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/internal/ops"
)

// WrongUse runs a command with each of the arguments, which are separated by spaces. Each must be told in one line that
// contains the value of the map, with exit code 2, before anything is started.
func WrongUse(t *testing.T, run cli.Run, cases map[string]string) {
	for args, want := range cases {
		t.Run(args, func(t *testing.T) {
			var out bytes.Buffer
			err := run(t.Context(), cli.Env{Args: strings.Fields(args), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out})
			if code := cli.ExitCode(t.Context(), err, &out); code != cli.ExitUsage {
				t.Errorf("exit code %d (%v), want %d", code, err, cli.ExitUsage)
			}
			if out := out.String(); strings.Count(out, "\n") != 1 || !strings.Contains(out, want) {
				t.Errorf("printed %q, want one line with %q", out, want)
			}
		})
	}
}

var (
	helpFlag = regexp.MustCompile(`(?m)^  (--?[a-z0-9-]+)`)
	docFlag  = regexp.MustCompile("`(--?[a-z0-9-]+)[^`]*`")
)

// operations is the page that documents the flags, seen from a command's directory.
const operations = "../../docs/operations.md"

// FlagsDocumented compares a command's --help with the section of docs/operations.md that has the command's name as its
// heading: each must have the flags of the other. Those of logs have a section of their own.
func FlagsDocumented(t *testing.T, run cli.Run, command string) {
	var help bytes.Buffer
	run(t.Context(), cli.Env{Args: []string{"--help"}, Stdout: &help, Stderr: &help})
	page, err := os.ReadFile(operations)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## "+command+"\n")
	if !found {
		t.Fatalf("%s has no section %q", operations, command)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	documented, real := make(map[string]bool), make(map[string]bool)
	for _, m := range docFlag.FindAllStringSubmatch(section, -1) {
		documented[m[1]] = true
	}
	for _, m := range helpFlag.FindAllStringSubmatch(help.String(), -1) {
		real[m[1]] = true
		if !documented[m[1]] && m[1] != "--log-format" && m[1] != "--log-level" {
			t.Errorf("docs/operations.md lacks %s", m[1])
		}
	}
	if len(real) == 0 {
		t.Error("--help lists no flags")
	}
	for f := range documented {
		if !real[f] {
			t.Errorf("docs/operations.md has %s, which is no flag", f)
		}
	}
}

// MetricsDocumented compares the metrics of a command with their table in docs/operations.md, and looks for what is wrong
// with their names. With UPDATE_DOCS set in the environment, it writes the table.
func MetricsDocumented(t *testing.T, reg *ops.Registry, command string) {
	problems, err := reg.Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
	table := ops.Table(reg.Metrics())
	begin, end := "<!-- metrics of "+command+", by its test -->\n", "<!-- end -->"
	text, err := os.ReadFile(operations)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the place for the metrics of %s", operations, command)
	}
	if old == table {
		return
	}
	if os.Getenv("UPDATE_DOCS") == "" {
		t.Fatalf("%s is not what the code has; run UPDATE_DOCS=1 go test ./cmd/%s", operations, command)
	}
	if err := os.WriteFile(operations, []byte(before+begin+table+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestBuild stands for what a program was made from where that must not show.
var TestBuild = ops.Build{Version: "the version", Revision: "the commit", GoVersion: "the Go release"}

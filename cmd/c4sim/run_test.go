package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
)

// c4sim runs the command and returns what a shell would see.
func c4sim(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	ctx := context.Background()
	err := run(ctx, cli.Env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs})
	code = cli.ExitCode(ctx, err, &errs)
	return code, out.String(), errs.String()
}

const mine = `about A small file.
link rate=20Mbit/s delay=10ms queue=40ms
flow main size=200kB
pass c4 time_p90<=2s
`

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "mine.txt")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRun(t *testing.T) {
	code, out, errs := c4sim(t, "run", "alone", write(t, mine), "--cc", "c4,cubic", "--runs", "3", "--seed", "1", "--format", "tsv")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 5 {
		t.Fatalf("output\n%s", out)
	}
	for i, want := range []string{"scenario\tcc\truns\t", "alone\tc4\t3\t", "alone\tcubic\t3\t", "mine\tc4\t3\t", "mine\tcubic\t3\t"} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %q, want %q", lines[i], want)
		}
	}
	if errs != "" {
		t.Errorf("stderr %q: no progress bar off a terminal", errs)
	}
	_, again, _ := c4sim(t, "run", "alone", write(t, mine), "--cc", "c4,cubic", "--runs", "3", "--seed", "1", "--format", "tsv", "--workers", "3")
	if again != out {
		t.Error("the same seed gives other output")
	}
}

func TestRunFails(t *testing.T) {
	code, out, errs := c4sim(t, "run", write(t, strings.Replace(mine, "<=2s", "<=100ms", 1)), "--runs", "2")
	if code != cli.ExitFailed || !strings.Contains(errs, "bound in line 4") || !strings.Contains(errs, "error: 1 bounds do not hold") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if !strings.Contains(out, "mine") {
		t.Error("the table is not printed")
	}
}

// Wrong use is told in one line, with exit code 2.
func TestWrongUse(t *testing.T) {
	bad := write(t, "link rate=20Mbit/s delay=10ms\nflow main size=10 MB\n")
	for _, tt := range []struct {
		args string
		want string
	}{
		{"", "no command"},
		{"fly", "unknown command"},
		{"run", "which scenarios"},
		{"run nothing", `no scenario "nothing"`},
		{"run " + bad, "mine.txt:2: size:"},
		{"run ./no/such.txt", "no such file"},
		{"run alone --cc vegan", "unknown controller"},
		{"run alone --cc c4+Nothing", `no field "Nothing"`},
		{"run alone --cc c4+PushEras=0", "PushEras is 0"},
		{"run alone --runs 0", "--runs"},
		{"run alone --format xml", "--format"},
		{"run alone --quirks odd", "unknown quirk"},
		{"run alone --c4 odd", "unknown controller"},
		{"run alone --first -1", "--first"},
		{"run alone --plot-part 2s-1s", "--plot-part"},
		{"run alone --plot-part 2s", "--plot-part"},
		{"run alone --fly", "-fly"},
		{"report alone", "no arguments"},
		{"survey --rate 0", "--rate"},
		{"survey --duration 1ms", "--duration"},
	} {
		code, _, errs := c4sim(t, strings.Fields(tt.args)...)
		if code != cli.ExitUsage || !strings.Contains(errs, tt.want) || strings.Count(errs[strings.Index(errs, "error:"):], "\n") != 1 {
			t.Errorf("%q: exit code %d, stderr %q, want %q", tt.args, code, errs, tt.want)
		}
	}
}

func TestTraceFiles(t *testing.T) {
	dir := t.TempDir()
	svg := filepath.Join(dir, "out.svg")
	code, _, errs := c4sim(t, "run", "media10", "--runs", "2", "--qlog", filepath.Join(dir, "q"), "--plot", svg)
	if code != 0 {
		t.Fatal(errs)
	}
	if text, err := os.ReadFile(svg); err != nil || !bytes.HasPrefix(text, []byte("<svg")) {
		t.Errorf("plot: %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "q", "media10-c4.qlog")); err != nil || !bytes.HasPrefix(text, []byte(`{"qlog_version"`)) {
		t.Errorf("qlog: %v", err)
	}
	code, _, errs = c4sim(t, "run", "media10", "--cc", "c4,bbr", "--runs", "1", "--plot", svg)
	if code != 0 {
		t.Fatal(errs)
	}
	for _, cc := range []string{"c4", "bbr"} {
		if _, err := os.Stat(filepath.Join(dir, "out-media10-"+cc+".svg")); err != nil {
			t.Error(err)
		}
	}
}

// The documents are written, and their links lead somewhere.
func TestReportAndSurvey(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates for some seconds")
	}
	dir := t.TempDir()
	for name, args := range map[string][]string{
		"results.md": {"report", "--runs", "1", "--cc", "c4", "--scenarios", "media10,ecn,alone_200"},
		"survey.md":  {"survey", "--runs", "1", "--cc", "c4,reno", "--rate", "2", "--duration", "1s"},
	} {
		file := filepath.Join(dir, name)
		code, _, errs := c4sim(t, append(args, "--out", file, "--plots", filepath.Join(dir, "plots"))...)
		if code != 0 {
			t.Fatal(errs)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		links := 0
		for _, part := range strings.Split(string(text), "](")[1:] {
			link, _, _ := strings.Cut(part, ")")
			if _, err := os.Stat(filepath.Join(dir, link)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			links++
		}
		if links == 0 || !strings.Contains(string(text), "| c4 |") && !strings.Contains(string(text), " c4 |") {
			t.Errorf("%s has %d links", name, links)
		}
	}
}

func TestList(t *testing.T) {
	code, out, _ := c4sim(t, "list")
	if code != 0 || !strings.Contains(out, "media10 ") || !strings.Contains(out, "cubic-rfc9438") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	code, out, _ = c4sim(t, "list", "alone")
	if code != 0 || !strings.Contains(out, "flow main size=10MB") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if code, _, _ = c4sim(t, "list", "nothing"); code != cli.ExitNotFound {
		t.Errorf("exit code %d for an unknown name", code)
	}
	if code, out, _ = c4sim(t, "format"); code != 0 || !strings.Contains(out, "flow NAME size=SIZE") {
		t.Errorf("format: exit code %d\n%s", code, out)
	}
	if code, out, _ = c4sim(t, "--help"); code != 0 || !strings.Contains(out, "c4sim run") {
		t.Errorf("help: exit code %d\n%s", code, out)
	}
}

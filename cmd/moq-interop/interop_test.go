package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/cmd/internal/clitest"
	"github.com/moq-c4/moq-c4/cmd/internal/relaytest"
)

// interop runs the command and returns what it prints and its exit code.
func interop(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	err := run(t.Context(), cli.Env{Args: args, Stdout: &stdout, Stderr: &stderr})
	return stdout.String(), cli.ExitCode(t.Context(), err, &stderr)
}

var testPoint = regexp.MustCompile(`(?m)^(ok|not ok) (\d+) - (\S+)$`)

// All cases pass against our relay, on both transports, in every version.
func TestAllCases(t *testing.T) {
	addr := relaytest.Start(t).Addr
	for _, scheme := range []string{"moqt", "https"} {
		for _, draft := range []string{"18", "19", "16"} {
			t.Run(scheme+" "+draft, func(t *testing.T) {
				t.Parallel() // most of it is waiting
				out, code := interop(t, "-r", scheme+"://"+addr, "--tls-disable-verify", "--draft", draft, "--rounds", "24")
				if code != 0 {
					t.Errorf("exit code %d\n%s", code, out)
				}
				if !strings.HasPrefix(out, "TAP version 14\n") || !strings.Contains(out, fmt.Sprintf("\n1..%d\n", len(cases))) {
					t.Errorf("not in the form of TAP:\n%s", out)
				}
				points := testPoint.FindAllStringSubmatch(out, -1)
				if len(points) != len(cases) {
					t.Fatalf("%d test points, want %d\n%s", len(points), len(cases), out)
				}
				for i, p := range points {
					if p[2] != fmt.Sprint(i+1) || p[3] != cases[i].name {
						t.Errorf("test point %d is %q", i+1, p[0])
					}
				}
				if n := strings.Count(out, "  protocol: moqt-"+draft+"\n"); n != len(cases) {
					t.Errorf("%d cases ran on moqt-%s, want all %d", n, draft, len(cases))
				}
			})
		}
	}
}

// The contract of the runner: the names of its cases, the environment, and the exit codes.
func TestContract(t *testing.T) {
	addr := relaytest.Start(t, "moqt-18").Addr
	out, code := interop(t, "--list")
	if want := "setup-only\nannounce-only\npublish-namespace-done\nsubscribe-error\nannounce-subscribe\nsubscribe-before-announce\n"; code != 0 || !strings.HasPrefix(out, want) {
		t.Errorf("--list: exit code %d, %q", code, out)
	}

	if _, code := interop(t, "-r", "moqt://"+addr, "-t", "no-such-case"); code != 127 {
		t.Errorf("exit code %d for a case that there is not, want 127", code)
	}

	t.Setenv("RELAY_URL", "moqt://"+addr)
	t.Setenv("TESTCASE", "announce-only")
	t.Setenv("TLS_DISABLE_VERIFY", "1")
	if out, code := interop(t); code != 0 || !strings.Contains(out, "\n1..1\nok 1 - announce-only\n") {
		t.Errorf("by environment: exit code %d\n%s", code, out)
	}
	if out, code := interop(t, "--test", "setup-only"); code != 0 || !strings.Contains(out, "ok 1 - setup-only\n") {
		t.Errorf("a flag does not come before the environment: exit code %d\n%s", code, out)
	}

	// A relay without the version, and none at all.
	out, code = interop(t, "--draft", "16")
	if code != 1 || !strings.Contains(out, "not ok 1 - announce-only\n") || !strings.Contains(out, "  message: ") {
		t.Errorf("a version that the relay does not have: exit code %d\n%s", code, out)
	}
	nobody, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer nobody.Close()
	if out, code := interop(t, "-r", "moqt://"+nobody.LocalAddr().String(), "-t", "setup-only"); code != 1 || !strings.Contains(out, "not ok 1 - setup-only\n") {
		t.Errorf("nobody answers: exit code %d\n%s", code, out)
	}
}

// What a peer says cannot break the form of the output.
func TestTAP(t *testing.T) {
	var b bytes.Buffer
	out := newTAP(&b, 2, "a\ncomment")
	out.result("good", 0, report{}, nil)
	out.result("bad", 0, report{}, errors.New("one\nok 3 - \"two\""))
	const want = "TAP version 14\n# a comment\n1..2\nok 1 - good\n  ---\n  duration_ms: 0\n  ...\nnot ok 2 - bad\n  ---\n  duration_ms: 0\n" +
		"  message: \"one ok 3 - \\\"two\\\"\"\n  ...\n"
	if b.String() != want || out.failed != 1 {
		t.Errorf("%d failed, got\n%s\nwant\n%s", out.failed, &b, want)
	}
}

func TestWrongUse(t *testing.T) {
	clitest.WrongUse(t, run, map[string]string{
		"moqt://localhost":         "--relay",
		"--relay localhost:4443":   "--relay",
		"--relay http://localhost": "--relay",
		"--rounds 0":               "--rounds",
		"--no-such-flag":           "not defined",
	})
}

func TestFlagsAreDocumented(t *testing.T) { clitest.FlagsDocumented(t, run, "moq-interop") }

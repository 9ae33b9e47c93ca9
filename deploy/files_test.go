package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const operations = "../docs/operations.md"

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// section returns the part of docs/operations.md under a heading of the second level.
func section(t *testing.T, name string) string {
	t.Helper()
	_, s, ok := strings.Cut(read(t, operations), "\n## "+name+"\n")
	if !ok {
		t.Fatalf("%s has no section %q", operations, name)
	}
	s, _, _ = strings.Cut(s, "\n## ")
	return s
}

// Each flag in the files is one that the documentation, which the commands' tests keep, has.
func TestFlags(t *testing.T) {
	known := section(t, "moq-relay") + section(t, "moq-pub") + section(t, "Logs")
	for _, path := range []string{"Dockerfile", "compose.yml", "kubernetes/relay.yml", "systemd/moq-relay.service"} {
		text := read(t, path)
		n := 0
		for line := range strings.Lines(text) {
			if strings.HasPrefix(strings.TrimSpace(line), "#") || !(strings.Contains(line, "moq-") || strings.Contains(line, "--ops") || strings.Contains(line, "- --")) {
				continue
			}
			if strings.Contains(line, "--config.file") || strings.HasPrefix(line, "COPY") || strings.HasPrefix(line, "FROM") {
				continue
			}
			for _, m := range regexp.MustCompile(`--[a-z][a-z-]*`).FindAllString(line, -1) {
				n++
				if !strings.Contains(known, "`"+m+"`") && !strings.Contains(known, "`"+m+" ") {
					t.Errorf("%s: %s is no flag", path, m)
				}
			}
		}
		if n == 0 {
			t.Errorf("%s: no flags were found", path)
		}
	}
}

// number returns what a pattern finds, in seconds or whatever it counts.
func number(t *testing.T, path, pattern string) int {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(read(t, path))
	if m == nil {
		t.Fatalf("%s lacks %s", path, pattern)
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Whoever kills a relay waits longer than the relay does for its sessions and, if it hangs, for itself.
func TestGracePeriods(t *testing.T) {
	const hang = 10
	for _, f := range []struct{ path, grace, drain, before string }{
		{"compose.yml", `stop_grace_period: (\d+)s`, `--drain, (\d+)s`, ""},
		{"kubernetes/relay.yml", `terminationGracePeriodSeconds: (\d+)`, `--drain=(\d+)s`, `sleep: \{seconds: (\d+)\}`},
		{"systemd/moq-relay.service", `TimeoutStopSec=(\d+)s`, `--drain (\d+)s`, ""},
	} {
		before := 0
		if f.before != "" {
			before = number(t, f.path, f.before)
		}
		if grace, drain := number(t, f.path, f.grace), number(t, f.path, f.drain); grace < before+drain+hang {
			t.Errorf("%s: %d s are too little for %d + %d + %d s", f.path, grace, before, drain, hang)
		}
	}
	if limit, target := number(t, "kubernetes/relay.yml", `--max-sessions=(\d+)`), number(t, "kubernetes/hpa.yml", `averageValue: "(\d+)"`); target > limit*2/3 {
		t.Errorf("a relay for %d sessions is scaled at %d", limit, target)
	}
}

// The image is made by the script that everybody uses, holds no shell and runs as nobody.
func TestDockerfile(t *testing.T) {
	text := read(t, "Dockerfile")
	_, stage, ok := strings.Cut(text, "\nFROM ${RELAY_IMAGE} AS relay\n")
	if !ok {
		t.Fatal("the last stage is not the relay's")
	}
	for _, want := range []string{"USER 65532:65532\n", "COPY --from=build", `ENTRYPOINT ["/usr/local/bin/moq-relay"]`} {
		if !strings.Contains(stage, want) {
			t.Errorf("the relay's stage lacks %q", want)
		}
	}
	if strings.Contains(stage, "RUN ") {
		t.Error("the relay's stage runs something: there is no shell")
	}
	for _, want := range []string{"scripts/build.sh", "CGO_ENABLED=0", "-buildvcs=false", "distroless"} {
		if !strings.Contains(text, want) {
			t.Errorf("the Dockerfile lacks %q", want)
		}
	}
	if !strings.Contains(read(t, "../scripts/build.sh"), "-trimpath") {
		t.Error("scripts/build.sh does not build the same in every directory")
	}
	goMod := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "../go.mod"))
	if !strings.Contains(text, "golang:"+goMod[1]+"-") {
		t.Errorf("the Dockerfile builds with another Go than %s", goMod[1])
	}
}

// Each file that the compose file and the provisioning name is there.
func TestMounts(t *testing.T) {
	for _, m := range regexp.MustCompile(`- (\./[^:]+):`).FindAllStringSubmatch(read(t, "compose.yml"), -1) {
		if _, err := os.Stat(m[1]); err != nil {
			t.Errorf("compose.yml: %v", err)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^  - ([a-z]+\.yml)$`).FindAllStringSubmatch(read(t, "kubernetes/kustomization.yml"), -1) {
		if _, err := os.Stat(filepath.Join("kubernetes", m[1])); err != nil {
			t.Errorf("kustomization.yml: %v", err)
		}
	}
}

package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/frames"
	"github.com/moq-c4/moq-c4/internal/ops"
	"github.com/moq-c4/moq-c4/quicnet"
	"github.com/moq-c4/moq-c4/relay"
)

// testInstruments are those of a relay with every metric that there is.
func testInstruments() *instruments {
	in := newInstruments(ops.Build{Version: "the version", Revision: "the commit", GoVersion: "the Go release"})
	cfg := relay.Config{}
	in.attach(&cfg, 1)
	in.export(relay.New(cfg), new(quicnet.Listener), 1)
	return in
}

func TestMetricsLint(t *testing.T) {
	in := testInstruments()
	in.frames.Delay(frames.Ingest, "video", 4).Observe(time.Millisecond)
	in.frames.Lateness("video", 4).Observe(time.Millisecond)
	problems, err := in.reg.Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}

// docs/operations.md has the table of metrics that the code makes. With UPDATE_DOCS set, it is written there.
func TestMetricsAreDocumented(t *testing.T) {
	reg := testInstruments().reg
	table := ops.Table(reg.Metrics())
	const page, begin, end = "../../docs/operations.md", "<!-- metrics of moq-relay, by its test -->\n", "<!-- end -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the place for the table", page)
	}
	if old == table {
		return
	}
	if os.Getenv("UPDATE_DOCS") == "" {
		t.Fatalf("%s is not what the code has; run UPDATE_DOCS=1 go test ./cmd/moq-relay", page)
	}
	if err := os.WriteFile(page, []byte(before+begin+table+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/moq-c4/moq-c4/internal/ops"
	"github.com/moq-c4/moq-c4/quicnet"
	"github.com/moq-c4/moq-c4/relay"
)

// docs/operations.md has the table of metrics that the code makes. With UPDATE_DOCS set, it is written there.
func TestMetricsAreDocumented(t *testing.T) {
	reg := ops.NewRegistry(ops.Build{})
	exportMetrics(reg, relay.New(relay.Config{}), new(quicnet.Listener))
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

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestFilesAreGenerated(t *testing.T) {
	all := dashboards()
	files, err := filepath.Glob(directory + "/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(all) {
		t.Errorf("%d files, %d dashboards", len(files), len(all))
	}
	for name, d := range all {
		got, err := os.ReadFile(filepath.Join(directory, name))
		if err != nil || !bytes.Equal(got, encode(d)) {
			t.Errorf("%s is not what the code makes; run go generate ./deploy/...", name)
		}
	}
}

// metricName is how a metric of ours, of the process or of Prometheus looks in a query.
var metricName = regexp.MustCompile(`\b(moq|go|process)_[a-z0-9_]+|\bup\b`)

// documented returns the names in the tables of metrics in docs/operations.md, which the tests of the commands keep.
func documented(t *testing.T) (names map[string]string) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	names = make(map[string]string)
	for _, m := range regexp.MustCompile("(?m)^\\| `(moq_[a-z0-9_]+)` \\| (counter|gauge|histogram) \\|").FindAllStringSubmatch(string(page), -1) {
		names[m[1]] = m[2]
	}
	if len(names) < 50 {
		t.Fatalf("docs/operations.md documents only %d metrics", len(names))
	}
	return names
}

// base is the name of the metric that a series belongs to.
func base(series string, known map[string]string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if b, ok := strings.CutSuffix(series, suffix); ok && known[b] == "histogram" {
			return b
		}
	}
	return series
}

// units that Grafana knows and that are used here.
var units = []string{"s", "short", "percentunit", "ops", "binBps", "bytes"}

func TestLint(t *testing.T) {
	known := documented(t)
	outside := []string{"up", "process_cpu_seconds_total", "process_resident_memory_bytes", "go_memstats_heap_inuse_bytes", "go_goroutines", "go_gc_duration_seconds_sum"}
	titles := make(map[string]string)
	for name, d := range dashboards() {
		if d.UID == "" || len(d.UID) > 40 || name != d.UID+".json" || titles[d.Title] != "" {
			t.Errorf("%s: uid %q, title %q", name, d.UID, d.Title)
		}
		titles[d.Title] = name
		if d.Templating.List[0].Type != "datasource" || d.Description == "" || !slices.Contains(d.Tags, "moq") {
			t.Errorf("%s: no choice of data source, description or tag", name)
		}
		variables := make(map[string]bool)
		for _, v := range d.Templating.List {
			variables[v.Name] = true
			if v.Type == "query" && v.Datasource != prometheus {
				t.Errorf("%s: variable %s has another data source", name, v.Name)
			}
			for _, m := range metricName.FindAllString(v.Definition, -1) {
				if known[base(m, known)] == "" {
					t.Errorf("%s: variable %s asks for %s, which nobody exports", name, v.Name, m)
				}
			}
		}
		ids := make(map[int]bool)
		var taken [400][24]bool
		for _, p := range d.Panels {
			if ids[p.ID] || p.ID == 0 || p.Title == "" {
				t.Errorf("%s: panel %d %q: its id is not its own, or it has no title", name, p.ID, p.Title)
			}
			ids[p.ID] = true
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
					if taken[y][x] {
						t.Fatalf("%s: panel %q lies on another", name, p.Title)
					}
					taken[y][x] = true
				}
			}
			if p.Type == "row" {
				continue
			}
			if p.Datasource != prometheus || len(p.Targets) == 0 || !slices.Contains(units, p.FieldConfig.Defaults.Unit) {
				t.Errorf("%s: panel %q: data source, queries or unit %q", name, p.Title, p.FieldConfig.Defaults.Unit)
			}
			for _, q := range p.Targets {
				lintQuery(t, name+": "+p.Title, q.Expr, known, outside, variables)
			}
		}
	}
}

func lintQuery(t *testing.T, where, expr string, known map[string]string, outside []string, variables map[string]bool) {
	t.Helper()
	found := metricName.FindAllString(expr, -1)
	if len(found) == 0 {
		t.Errorf("%s: no metric in %s", where, expr)
	}
	for _, m := range found {
		if b := base(m, known); known[b] == "" && !slices.Contains(outside, m) {
			t.Errorf("%s: %s is exported by nobody", where, m)
		} else if known[b] == "counter" && !strings.Contains(expr, "rate(") && !strings.Contains(expr, "increase(") && !strings.Contains(expr, "refused") {
			t.Errorf("%s: the counter %s is shown without a rate", where, m)
		}
	}
	for _, v := range regexp.MustCompile(`\$(\w+)`).FindAllStringSubmatch(expr, -1) {
		if !variables[v[1]] && v[1] != "__rate_interval" {
			t.Errorf("%s: unknown variable %s", where, v[0])
		}
	}
	if strings.Count(expr, "(") != strings.Count(expr, ")") || strings.Count(expr, "{") != strings.Count(expr, "}") {
		t.Errorf("%s: brackets of %s", where, expr)
	}
	if !strings.Contains(expr, `job=~"$job"`) {
		t.Errorf("%s: the choice of job has no effect", where)
	}
}

func TestEncodedAsJSON(t *testing.T) {
	for name, d := range dashboards() {
		var back map[string]any
		if err := json.Unmarshal(encode(d), &back); err != nil || back["uid"] != d.UID {
			t.Errorf("%s: %v", name, err)
		}
	}
}

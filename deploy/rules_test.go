package deploy

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A rule is one of Prometheus's, as far as the tests look at it.
type rule struct {
	name  string
	alert bool
	expr  string
	text  string // all of it
}

// rules reads the rule files. They are YAML of a simple form, which promtool checks.
func rules(t *testing.T) (all []rule) {
	t.Helper()
	files, err := filepath.Glob("prometheus/*.rules.yml")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no rules", err)
	}
	start := regexp.MustCompile(`(?m)^      - (alert|record): (.*)$`)
	for _, f := range files {
		text := read(t, f)
		at := start.FindAllStringSubmatchIndex(text, -1)
		for i, m := range at {
			end := len(text)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			r := rule{name: text[m[4]:m[5]], alert: text[m[2]:m[3]] == "alert", text: text[m[0]:end]}
			expr := regexp.MustCompile(`(?s)\n        expr: (\|\n(.*?)(\n        \w|$)|[^\n]*)`).FindStringSubmatch(r.text)
			if expr == nil {
				t.Fatalf("%s has no expression", r.name)
			}
			r.expr = expr[1]
			if strings.HasPrefix(r.expr, "|") {
				r.expr = expr[2]
			}
			r.expr = strings.Join(strings.Fields(r.expr), " ")
			all = append(all, r)
		}
	}
	return all
}

// selectors returns what an expression takes from the database: metrics with their conditions.
func selectors(expr string) []string {
	return regexp.MustCompile(`\b(?:[a-z_]+:)?(?:moq|up)[a-z0-9_]*(?::[a-z0-9_]+)?(?:\{[^}]*\})?`).FindAllString(expr, -1)
}

// Each alert says in the documentation what to do.
func TestRunbooks(t *testing.T) {
	page := read(t, operations)
	n := 0
	for _, r := range rules(t) {
		if !r.alert {
			continue
		}
		n++
		anchor := strings.ToLower(r.name)
		if !strings.Contains(r.text, "runbook: docs/operations.md#"+anchor+"\n") {
			t.Errorf("%s: its runbook is not #%s", r.name, anchor)
		}
		_, part, ok := strings.Cut(page, "\n#### "+r.name+"\n")
		part, _, _ = strings.Cut(part, "\n#")
		if !ok || len(strings.TrimSpace(part)) < 80 {
			t.Errorf("%s: docs/operations.md does not say what to do", r.name)
		}
		for _, want := range []string{"severity: ", "summary: ", "description: "} {
			if !strings.Contains(r.text, want) {
				t.Errorf("%s lacks %s", r.name, want)
			}
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^#### (Moq\w+)$`).FindAllStringSubmatch(page, -1) {
		if !slices.ContainsFunc(rules(t), func(r rule) bool { return r.name == m[1] }) {
			t.Errorf("docs/operations.md explains %s, which is no alert", m[1])
		}
	}
	if n < 10 {
		t.Errorf("only %d alerts were found", n)
	}
}

// Each metric in the rules is one that somebody exports, or a rule makes.
func TestRulesAskForWhatThereIs(t *testing.T) {
	page, all := read(t, operations), rules(t)
	made := make(map[string]bool)
	for _, r := range all {
		made[r.name] = true
	}
	for _, r := range all {
		found := selectors(r.expr)
		if len(found) == 0 {
			t.Errorf("%s asks for nothing: %s", r.name, r.expr)
		}
		for _, s := range found {
			name, _, _ := strings.Cut(s, "{")
			ok := made[name] || name == "up"
			for _, suffix := range []string{"", "_bucket", "_count", "_sum"} {
				base := strings.TrimSuffix(name, suffix)
				ok = ok || strings.Contains(page, fmt.Sprintf("| `%s` |", base))
			}
			if !ok {
				t.Errorf("%s asks for %s, which nobody exports", r.name, name)
			}
		}
	}
}

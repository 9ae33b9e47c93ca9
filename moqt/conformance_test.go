package moqt

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var updateDocs = flag.Bool("update", false, "rewrite docs/protocol/conformance.md")

const (
	repository     = ".."
	conformanceDoc = "docs/protocol/conformance.md"
)

// conformanceDirs are where tests quote the draft.
var conformanceDirs = []string{"moqt", "moqt/wire", "quicnet", "relay"}

// quotation is one sentence of the draft in the comment of a test.
type quotation struct {
	section string // "10.4"
	title   string
	text    string
	test    string // "moqt.TestGoAway"
}

// requirement is a sentence of the draft that binds a relay, and the tests that hold it.
type requirement struct {
	section string
	text    string
	tests   []string
}

// TestConformance keeps the table of requirements and tests up to date: run it with -update after a quotation was added or
// moved. It fails if the table is stale or a test that the checklist names is gone.
func TestConformance(t *testing.T) {
	quotes, tests := readTests(t)
	var b strings.Builder
	b.WriteString(conformanceHead)
	b.WriteString("| section | the draft | tests |\n|---|---|---|\n")
	for _, r := range relayChecklist {
		names := make([]string, len(r.tests))
		for i, name := range r.tests {
			names[i] = "`" + name + "`"
			if !tests[name] {
				t.Errorf("the checklist names %s, which is not there", name)
			}
		}
		where := strings.Join(names, ", ")
		if where == "" {
			where = "none yet"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.section, cell(r.text), where)
	}
	b.WriteString(conformanceMiddle)
	b.WriteString("| section | the draft | test |\n|---|---|---|\n")
	for _, q := range quotes {
		fmt.Fprintf(&b, "| %s, %s | %s | `%s` |\n", q.section, q.title, cell(q.text), q.test)
	}
	b.WriteString(conformanceEnd)
	b.WriteString("| section | the draft | code | vectors: accepted, refused |\n|---|---|---|---|\n")
	vectors := readVectors(t)
	for _, q := range readCode(t, quotes) {
		v := vectors[q.section]
		fmt.Fprintf(&b, "| %s, %s | %s | `%s` | %d, %d |\n", q.section, q.title, cell(q.text), q.test, v.accepted, v.refused)
	}
	path := filepath.Join(repository, conformanceDoc)
	if *updateDocs {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != b.String() {
		t.Errorf("%s is stale: go test ./moqt -run TestConformance -update", conformanceDoc)
	}
}

const conformanceHead = `# Conformance

Which test holds which requirement of draft-ietf-moq-transport-18. This page is made by ` + "`go test ./moqt -run TestConformance -update`" + `, and that test
fails when it is stale. What is done otherwise on purpose is in [deviations](deviations.md).

## What a relay must do

`

const conformanceMiddle = `
## Sentences with MUST that tests quote

Tests carry the sentence they hold as a comment. Words that are left out of a sentence are three dots.

`

const conformanceEnd = `
## Sentences with MUST that code quotes

What is beside a branch in the code and not in a comment of a test. What bytes are right or wrong is held by vectors, ` + "`moqt/wire/testdata/vectors.json`" + `,
which say the section they are for; the tests in Go and those of the player read them all.

`

// vectorCount is how many vectors a section has: bytes that must be accepted, and that must be refused.
type vectorCount struct{ accepted, refused int }

func readVectors(t *testing.T) map[string]vectorCount {
	t.Helper()
	b, err := os.ReadFile("wire/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []struct{ Section, Error string }
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]vectorCount)
	for _, v := range file.Vectors {
		c := counts[v.Section]
		if v.Error == "" {
			c.accepted++
		} else {
			c.refused++
		}
		counts[v.Section] = c
	}
	return counts
}

// readCode returns the quotations with MUST in code that are not among known, one for each sentence.
func readCode(t *testing.T, known []quotation) (quotes []quotation) {
	t.Helper()
	seen := make(map[string]bool)
	for _, q := range known {
		seen[q.text] = true
	}
	for _, dir := range conformanceDirs {
		files, err := filepath.Glob(filepath.Join(repository, dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, group := range file.Comments {
				for _, q := range quotationsIn(group) {
					if !seen[q.text] {
						seen[q.text] = true
						q.test = dir + "/" + filepath.Base(name)
						quotes = append(quotes, q)
					}
				}
			}
		}
	}
	sortQuotations(quotes)
	return quotes
}

// cell makes text fit into a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

var (
	sectionPattern = regexp.MustCompile(`\[MOQT-18\] Sections? ([0-9.]+), ([^;\[\x00]+)`)
	quotePattern   = regexp.MustCompile(`"((?:[^"]|"")*)"`)
)

// readTests returns the quotations with MUST in all tests, in the order of sections, and the names of all tests.
func readTests(t *testing.T) (quotes []quotation, tests map[string]bool) {
	t.Helper()
	tests = make(map[string]bool)
	for _, dir := range conformanceDirs {
		files, err := filepath.Glob(filepath.Join(repository, dir, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no tests in %s: %v", dir, err)
		}
		for _, name := range files {
			quotes = append(quotes, readTestFile(t, strings.TrimPrefix(dir, "moqt/")+".", name, tests)...)
		}
	}
	sortQuotations(quotes)
	return slices.Compact(quotes), tests
}

// sortQuotations puts quotations in order and gives all of a section the title that most of them have: in a comment it can be cut
// by the end of a line, or be followed by other words.
func sortQuotations(quotes []quotation) {
	titles := make(map[string]map[string]int)
	for _, q := range quotes {
		if titles[q.section] == nil {
			titles[q.section] = make(map[string]int)
		}
		titles[q.section][q.title]++
	}
	for i := range quotes {
		best := ""
		for title, n := range titles[quotes[i].section] {
			if m := titles[quotes[i].section][best]; n > m || n == m && title < best {
				best = title
			}
		}
		quotes[i].title = best
	}
	slices.SortStableFunc(quotes, func(a, b quotation) int {
		return cmp.Or(compareSections(a.section, b.section), cmp.Compare(a.text, b.text), cmp.Compare(a.test, b.test))
	})
}

func readTestFile(t *testing.T, prefix, name string, tests map[string]bool) (quotes []quotation) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var funcs []*ast.FuncDecl
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if ok && f.Recv == nil && (strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Fuzz")) {
			funcs = append(funcs, f)
			tests[prefix+f.Name.Name] = true
		}
	}
	for _, group := range file.Comments {
		of := slices.IndexFunc(funcs, func(f *ast.FuncDecl) bool {
			return f.Doc == group || f.Pos() <= group.Pos() && group.End() <= f.End()
		})
		if of < 0 {
			continue
		}
		for _, q := range quotationsIn(group) {
			q.test = prefix + funcs[of].Name.Name
			quotes = append(quotes, q)
		}
	}
	return quotes
}

// quotationsIn returns the quotations with MUST in a comment. A section stands behind what it says.
func quotationsIn(group *ast.CommentGroup) (quotes []quotation) {
	const newline = "\x00" // a title ends with its line
	text := strings.Join(strings.Fields(strings.ReplaceAll(group.Text(), "\n", " "+newline+" ")), " ")
	for start := 0; ; {
		at := sectionPattern.FindStringSubmatchIndex(text[start:])
		if at == nil {
			return quotes
		}
		section, title := text[start:][at[2]:at[3]], text[start:][at[4]:at[5]]
		said := strings.Join(strings.Fields(strings.ReplaceAll(text[start:start+at[0]], newline, "")), " ")
		for _, q := range quotePattern.FindAllStringSubmatch(said, -1) {
			if strings.Contains(q[1], "MUST") && !strings.HasPrefix(q[1], " ") {
				quotes = append(quotes, quotation{section: section, title: strings.Trim(title, " ."), text: q[1]})
			}
		}
		start += at[1]
	}
}

// compareSections compares numbers like 10.4 and 10.12.2.
func compareSections(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return cmp.Compare(x, y)
	})
}

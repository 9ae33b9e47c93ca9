package moqc4

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestLinks checks that each relative link of each document leads to a file,
// and to a heading of it where the link names one.
func TestLinks(t *testing.T) {
	documents := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != "." && skipDir(d.Name()) && d.Name() != "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		documents++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, broken := range brokenLinks(path, string(text)) {
			t.Error(broken)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if documents == 0 {
		t.Fatal("found no documents")
	}
}

// place is a file or directory of this repository as prose names it, in code. "internal/" is left out: libraries have such, too.
var place = regexp.MustCompile("`((?:c4|cc|cmd|deploy|docs|media|moqt|priority|quicnet|relay|scripts|sim|tools|web)/[^`\\s,]+)`")

// TestPlaces checks that the files which documents name, in code, are there. A name may be a
// pattern, and "p/..." is p and everything below it.
func TestPlaces(t *testing.T) {
	documents, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("docs/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	names := 0
	for _, doc := range slices.Concat(documents, more, []string{"README.md", "CONTRIBUTING.md", "AGENTS.md"}) {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range place.FindAllStringSubmatch(string(text), -1) {
			names++
			if found, err := filepath.Glob(strings.TrimSuffix(m[1], "/...")); len(found) == 0 || err != nil {
				t.Errorf("%s names %s, which is not there", doc, m[1])
			}
		}
	}
	if names == 0 {
		t.Error("no document names a file")
	}
}

// TestDependencies checks that each module that go.mod requires directly is in the table of docs/architecture.md, with
// its version.
func TestDependencies(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	direct := regexp.MustCompile(`(?m)^\t(\S+) (v\S+)$`).FindAllStringSubmatch(string(mod), -1)
	if len(direct) == 0 {
		t.Fatal("go.mod requires nothing")
	}
	for _, m := range direct {
		if row := fmt.Sprintf("| `%s` | %s |", m[1], m[2]); !strings.Contains(string(doc), row) {
			t.Errorf("docs/architecture.md has no row %q", row)
		}
	}
}

var (
	fence   = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```[ \t]*$")
	code    = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(<?([^)>\s]+)>?(?:\s+"[^"]*")?\)|(?m:^\[[^\]]+\]:\s+(\S+))|(?:src|href)="([^"]+)"`)
	heading = regexp.MustCompile(`(?m)^#{1,6}\s+(.+?)\s*#*$`)
)

// brokenLinks returns a line for each relative link in text, the contents of the
// document at path, that leads nowhere.
func brokenLinks(path, text string) []string {
	var broken []string
	own := anchors(text)
	text = code.ReplaceAllString(fence.ReplaceAllString(text, ""), "")
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		target := m[1] + m[2] + m[3] // exactly one of them matched
		if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			continue
		}
		name, anchor, _ := strings.Cut(target, "#")
		if name == "" {
			if !slices.Contains(own, anchor) {
				broken = append(broken, fmt.Sprintf("%s: link %s: it has no such heading", path, target))
			}
			continue
		}
		file := filepath.Join(filepath.Dir(path), filepath.FromSlash(name))
		if !filepath.IsLocal(file) {
			broken = append(broken, fmt.Sprintf("%s: link %s leads out of the repository", path, target))
			continue
		}
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			continue
		}
		contents, err := os.ReadFile(file)
		if err != nil {
			broken = append(broken, fmt.Sprintf("%s: link %s: there is no %s", path, target, file))
			continue
		}
		if anchor != "" && filepath.Ext(file) == ".md" && !slices.Contains(anchors(string(contents)), anchor) {
			broken = append(broken, fmt.Sprintf("%s: link %s: %s has no such heading", path, target, file))
		}
	}
	return broken
}

// anchors returns the names that the headings of text get on code hosting sites:
// lower case, spaces to hyphens, other punctuation dropped.
func anchors(text string) []string {
	var names []string
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1]))
	}
	return names
}

func TestBrokenLinks(t *testing.T) {
	text := "# One heading, `here`\n" +
		"[good](go.mod) [good](testdata/README.md#test-clip) [good](#one-heading-here) [web](https://example.com/x)\n" +
		"[bad](nothing.md) ![bad](testdata/none.png \"title\") [bad](#two) [bad](testdata/README.md#none) [bad](../x)\n" +
		"`[code](nothing.go)`\n```\n[code](nothing.go)\n```\n" +
		"[reference]: missing.txt\n<img src=\"missing.svg\">\n"
	got := brokenLinks("README.md", text)
	if len(got) != 7 {
		t.Errorf("found %d broken links, want 7:\n%s", len(got), strings.Join(got, "\n"))
	}
}

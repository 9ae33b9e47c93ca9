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

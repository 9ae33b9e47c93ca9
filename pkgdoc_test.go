package moqc4

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPackageDocs asks every package for a doc comment: one, that starts as Go
// expects, and that says more than the name. A command's flags say the rest.
func TestPackageDocs(t *testing.T) {
	packages, err := findPackages(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		if len(p.GoFiles) == 0 {
			continue // tests only
		}
		var docs, where []string
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			if file.Doc != nil {
				docs, where = append(docs, file.Doc.Text()), append(where, name)
			}
		}
		start := "Package " + p.Name + " "
		if p.Name == "main" {
			start = "Command " + filepath.Base(p.path) + " "
		}
		switch {
		case len(docs) == 0:
			t.Errorf("%s has no package comment; put one into %s", p.path, docFile(p.Name))
		case len(docs) > 1:
			slices.Sort(where)
			t.Errorf("%s has package comments in %s; keep one", p.path, strings.Join(where, ", "))
		case !strings.HasPrefix(docs[0], start):
			t.Errorf("%s/%s: the package comment does not start with %q", p.path, where[0], start)
		case p.Name != "main" && len(strings.Fields(docs[0])) < 8:
			t.Errorf("%s/%s: the package comment says too little", p.path, where[0])
		}
	}
}

func docFile(name string) string {
	if name == "main" {
		return "main.go"
	}
	return "doc.go"
}

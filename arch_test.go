// Package moqc4 holds the tests of the module as a whole: who may import whom,
// package documentation, and links between documents.
package moqc4

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/moq-c4/moq-c4"

// An edge allows the packages that from matches to import those that to
// matches. A pattern is an import path, without the module's own prefix, and
// "p/..." matches p and everything below it.
type edge struct{ from, to, why string }

// edges is the whole import graph beyond the standard library: what is not
// drawn here does not happen.
var edges = []edge{
	{"cmd/...", "cmd/...", "commands share flag handling"},
	{"cmd/...", "relay/...", "a command wires the parts together"},
	{"cmd/...", "media/...", "a command wires the parts together"},
	{"cmd/...", "moqt", "media meets moqt here and nowhere else"},
	{"cmd/...", "moqt/wire", "names, locations and codes are the wire's types"},
	{"cmd/...", "quicnet/...", "a command chooses the transport and its controller"},
	{"cmd/...", "priority", "what a subscriber no longer waits for"},
	{"cmd/...", "cc/...", "a flag chooses the congestion controller"},
	{"cmd/...", "c4", "a flag chooses the congestion controller"},
	{"cmd/...", "sim/...", "c4sim runs scenarios"},
	{"cmd/...", "web", "the relay serves the player"},
	{"cmd/moq-relay", "golang.org/x/crypto/acme/...", "certificates of a public authority"},
	{"cmd/...", "internal/ops", "metrics, health and logs belong to the process"},

	{"relay", "moqt", "a relay is sessions joined by a cache; it knows objects, never codecs"},
	{"relay", "moqt/wire", "names, locations and codes are the wire's types"},

	{"moqt", "moqt/wire", "a session speaks in messages"},
	{"moqt", "priority", "the order of its streams"},

	{"quicnet", "moqt", "it implements moqt.Conn"},
	{"quicnet", "quicnet/ccinject", "each new connection gets its controller there"},
	{"quicnet", "quicnet/ackwatch", "some connections tell what was acknowledged"},
	{"quicnet", "github.com/quic-go/quic-go/...", "QUIC and HTTP/3"},
	{"quicnet", "github.com/quic-go/webtransport-go", "WebTransport"},
	{"quicnet", "github.com/dunglas/httpsfv", "structured header fields of the WebTransport handshake"},
	{"quicnet/ackwatch", "github.com/quic-go/quic-go/...", "it reads quic-go's events"},
	{"quicnet/ccinject", "cc", "it turns a cc.Controller into quic-go's"},
	{"quicnet/ccinject", "github.com/quic-go/quic-go/...", "the only package that knows quic-go's inside"},

	{"sim/...", "sim/...", "scenarios are made of links, senders and reports"},
	{"sim/...", "cc/...", "it compares controllers"},
	{"sim/...", "c4", "it compares controllers"},

	{"cc/...", "cc/...", "controllers share filters and the interface"},
	{"c4", "cc", "C4 is a cc.Controller"},

	{"media/...", "media/...", "sources and packagers share Frame"},
	{"media/...", "github.com/bluenviron/mediacommon/v2/...", "codec configurations, MPEG-TS, MP4 init segments"},

	{"internal/ops", "github.com/prometheus/client_golang/...", "the only importer of the Prometheus client"},
	{"internal/ops", "github.com/prometheus/client_model/go", "how the client takes a histogram with both forms of buckets"},
}

// testEdges are open to test files in addition to edges.
var testEdges = []edge{
	{"...", "go.uber.org/goleak", "tests look for goroutines left behind"},
	{"relay/...", "moqt/...", "a relay is tested over scripted peers"},
	{"media/fmp4", "github.com/abema/go-mp4", "boxes are written as another library reads them"},
	{"quicnet/...", "moqt/...", "a transport is tested with sessions on it"},
	{"quicnet/...", "quicnet/...", "controllers are tested on real endpoints"},
	{"quicnet/...", "c4", "C4 is tested in real connections"},
	{"quicnet/...", "cc/...", "controllers are tested in real connections"},
	{"quicnet/...", "github.com/quic-go/...", "a peer that misbehaves is plain quic-go"},
	{"quicnet/...", "golang.org/x/net/ipv4", "a socket in memory that carries ECN, in the types of quic-go"},
	{"sim/...", "quicnet/...", "the real stack runs over the simulator's links"},
	{"sim/...", "moqt/...", "the real stack runs over the simulator's links"},
	{"sim/...", "relay/...", "the real stack runs over the simulator's links"},
	{"sim/realstack", "golang.org/x/net/ipv4", "quic-go reads batches of its messages from sockets with ECN"},
	{"cmd/...", "...", "an end-to-end test may use anything"},
}

// pure lists the packages that take the time as an argument and own no
// goroutine, so that the same inputs always give the same outputs.
var pure = []string{"cc/...", "c4", "priority", "moqt/wire"}

// impure are the standard library's packages, with those below them, that a
// pure package does not import.
var impure = []string{"context", "log", "net", "os", "runtime", "sync", "syscall", "testing", "unsafe"}

// clock are the functions of package time that read or wait for the clock.
var clock = []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"}

func TestArchitecture(t *testing.T) {
	packages, err := findPackages(".")
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) == 0 {
		t.Fatal("found no packages")
	}
	for _, p := range packages {
		for _, v := range slices.Concat(p.importViolations(), p.purityViolations(t), p.meetingViolations(t)) {
			t.Error(v)
		}
	}
	if t.Failed() {
		t.Log("the allowed imports, with the reason for each, are in the table in arch_test.go")
	}
}

// A pkg is one package of the module; path is relative to the module's root.
type pkg struct {
	path string
	*build.Package
}

// findPackages reads the packages below root. It uses go/build, not "go list",
// so that the test's result is not taken from the cache after imports change.
func findPackages(root string) ([]pkg, error) {
	var found []pkg
	err := filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if dir != root {
			if skipDir(d.Name()) {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
				return filepath.SkipDir // another module
			}
		}
		p, err := build.ImportDir(dir, 0)
		if noGo := (*build.NoGoError)(nil); errors.As(err, &noGo) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		rel, err := filepath.Rel(root, dir)
		found = append(found, pkg{filepath.ToSlash(rel), p})
		return err
	})
	return found, err
}

// skipDir reports whether a directory of this name holds no source of ours.
func skipDir(name string) bool {
	return name == "testdata" || name == "node_modules" || name == "bin" || name == "out" ||
		strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

// importViolations compares the imports of p with the tables.
func (p pkg) importViolations() []string {
	var violations []string
	for _, path := range p.Imports {
		if !allowed(edges, p.path, path) {
			violations = append(violations, fmt.Sprintf("%s imports %s", p.path, path))
		}
	}
	for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
		if !allowed(edges, p.path, path) && !allowed(testEdges, p.path, path) {
			violations = append(violations, fmt.Sprintf("a test of %s imports %s", p.path, path))
		}
	}
	return violations
}

// Every edge has an import, else the table speaks of what is not there.
func TestEdgesAreUsed(t *testing.T) {
	packages, err := findPackages(".")
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range slices.Concat(edges, testEdges) {
		if !slices.ContainsFunc(packages, func(p pkg) bool { return p.uses(e, i >= len(edges)) }) {
			t.Errorf("nothing in %s imports %s", e.from, e.to)
		}
	}
}

// uses reports whether the package, or a test of it, has an import of the edge.
func (p pkg) uses(e edge, test bool) bool {
	imports := p.Imports
	if test {
		imports = slices.Concat(p.TestImports, p.XTestImports)
	}
	return match(e.from, p.path) && slices.ContainsFunc(imports, func(to string) bool {
		return match(e.to, strings.TrimPrefix(to, module+"/"))
	})
}

func allowed(table []edge, from, to string) bool {
	if first, _, _ := strings.Cut(to, "/"); !strings.Contains(first, ".") {
		return true // the standard library
	}
	to = strings.TrimPrefix(to, module+"/")
	return slices.ContainsFunc(table, func(e edge) bool { return match(e.from, from) && match(e.to, to) }) ||
		to == from // an external test
}

func match(pattern, path string) bool {
	below, tree := strings.CutSuffix(pattern, "...")
	if !tree {
		return pattern == path
	}
	return below == "" || path+"/" == below || strings.HasPrefix(path, below)
}

// purityViolations looks for the clock, the system and goroutines in a pure package.
func (p pkg) purityViolations(t *testing.T) []string {
	if !slices.ContainsFunc(pure, func(pattern string) bool { return match(pattern, p.path) }) {
		return nil
	}
	var violations []string
	for _, path := range p.Imports {
		if slices.ContainsFunc(impure, func(i string) bool { return match(i+"/...", path) }) {
			violations = append(violations, fmt.Sprintf("%s is pure, yet imports %s", p.path, path))
		}
	}
	for name, file := range p.parse(t) {
		timeName := localName(file, "time")
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				violations = append(violations, fmt.Sprintf("%s/%s is pure, yet starts a goroutine", p.path, name))
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == timeName && slices.Contains(clock, n.Sel.Name) {
					violations = append(violations, fmt.Sprintf("%s/%s is pure, yet uses time.%s", p.path, name, n.Sel.Name))
				}
			}
			return true
		})
		if timeName == "." {
			violations = append(violations, fmt.Sprintf("%s/%s dot-imports time", p.path, name))
		}
	}
	return violations
}

// meetingViolations holds the rule that a media.Frame becomes a moqt.Object, or
// the other way, in files named object.go only.
func (p pkg) meetingViolations(t *testing.T) []string {
	if !match("cmd/...", p.path) {
		return nil
	}
	var violations []string
	for name, file := range p.parse(t) {
		if name != "object.go" && uses(file, "media", "Frame") && uses(file, "moqt", "Object") {
			violations = append(violations, fmt.Sprintf("%s/%s uses media.Frame and moqt.Object; that is the job of object.go", p.path, name))
		}
	}
	return violations
}

// parse returns the syntax of the package's files, tests aside, by file name.
func (p pkg) parse(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = file
	}
	return files
}

// localName is the name under which file imports path, or "".
func localName(file *ast.File, path string) string {
	for _, i := range file.Imports {
		if p, err := strconv.Unquote(i.Path.Value); err == nil && p == path {
			if i.Name != nil {
				return i.Name.Name
			}
			return path[strings.LastIndex(path, "/")+1:]
		}
	}
	return ""
}

// uses reports whether file names the module's type name of the package path.
func uses(file *ast.File, path, name string) bool {
	local := localName(file, module+"/"+path)
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == name {
			if x, ok := s.X.(*ast.Ident); ok && local != "" && x.Name == local {
				found = true
			}
		}
		return !found
	})
	return found
}

// TestArchitectureSelf gives the rules a small module that breaks each of them.
func TestArchitectureSelf(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("c4/c4.go", `package c4
import clk "time"
import _ "log/slog"
import _ "github.com/moq-c4/moq-c4/cc"
import _ "github.com/moq-c4/moq-c4/moqt"
func f() { go g(clk.Now(), clk.Second) }`)
	write("relay/relay.go", `package relay
import _ "github.com/prometheus/client_golang/prometheus"
import _ "github.com/moq-c4/moq-c4/relay/cluster"`)
	write("relay/relay_test.go", `package relay
import _ "go.uber.org/goleak"
import _ "github.com/moq-c4/moq-c4/media"`)
	write("cmd/moq-pub/run.go", `package main
import "github.com/moq-c4/moq-c4/media"
import "github.com/moq-c4/moq-c4/moqt"
var _ = moqt.Object(media.Frame{})`)
	write("cmd/moq-pub/object.go", `package main
import "github.com/moq-c4/moq-c4/media"
import "github.com/moq-c4/moq-c4/moqt"
var _ = moqt.Object(media.Frame{})`)
	write("tools/go.mod", "module tools")
	write("tools/tools.go", "package tools\nimport _ \"example.com/anything\"")

	packages, err := findPackages(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range packages {
		got = append(got, slices.Concat(p.importViolations(), p.purityViolations(t), p.meetingViolations(t))...)
	}
	want := []string{
		"c4 imports github.com/moq-c4/moq-c4/moqt",
		"c4 is pure, yet imports log/slog",
		"c4/c4.go is pure, yet starts a goroutine",
		"c4/c4.go is pure, yet uses time.Now",
		"cmd/moq-pub/run.go uses media.Frame and moqt.Object; that is the job of object.go",
		"relay imports github.com/moq-c4/moq-c4/relay/cluster",
		"relay imports github.com/prometheus/client_golang/prometheus",
		"a test of relay imports github.com/moq-c4/moq-c4/media",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestArchitectureTable checks that each edge says why.
func TestArchitectureTable(t *testing.T) {
	for _, e := range slices.Concat(edges, testEdges) {
		if e.why == "" {
			t.Errorf("%s -> %s gives no reason", e.from, e.to)
		}
	}
}

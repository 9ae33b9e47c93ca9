package scenario

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed builtin/*.txt
var builtin embed.FS

// groupOrder is how the drafts order their tables.
var groupOrder = []string{"network", "competition", "wifi", "ecn", "media", "bbloat"}

// Names returns the names of the built-in scenarios, sorted.
func Names() []string {
	files, err := fs.Glob(builtin, "builtin/*.txt")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(filepath.Base(f), ".txt")
	}
	slices.Sort(names)
	return names
}

// Builtin returns a built-in scenario.
func Builtin(name string, controllers []string) (*Scenario, error) {
	text, err := Text(name)
	if err != nil {
		return nil, err
	}
	return Parse(name+".txt", name, bytes.NewReader(text), controllers)
}

// Text returns the file of a built-in scenario.
func Text(name string) ([]byte, error) {
	text, err := builtin.ReadFile("builtin/" + name + ".txt")
	if err != nil {
		return nil, fmt.Errorf("no built-in scenario %q", name)
	}
	return text, nil
}

// All returns the built-in scenarios in the order of the drafts' tables: by
// group, then by name.
func All(controllers []string) ([]*Scenario, error) {
	var all []*Scenario
	for _, n := range Names() {
		sc, err := Builtin(n, controllers)
		if err != nil {
			return nil, err
		}
		all = append(all, sc)
	}
	slices.SortStableFunc(all, func(a, b *Scenario) int {
		return slices.Index(groupOrder, a.Group) - slices.Index(groupOrder, b.Group)
	})
	return all, nil
}

// Open returns the built-in scenario of that name, or else reads the file.
func Open(nameOrFile string, controllers []string) (*Scenario, error) {
	if slices.Contains(Names(), nameOrFile) {
		return Builtin(nameOrFile, controllers)
	}
	f, err := os.Open(nameOrFile)
	if err != nil {
		return nil, openError(nameOrFile, err)
	}
	defer f.Close()
	name := strings.TrimSuffix(filepath.Base(nameOrFile), filepath.Ext(nameOrFile))
	return Parse(nameOrFile, name, f, controllers)
}

func openError(nameOrFile string, err error) error {
	if os.IsNotExist(err) && !strings.ContainsAny(nameOrFile, "/.") {
		return fmt.Errorf("no scenario %q: neither built in nor a file", nameOrFile)
	}
	return err
}

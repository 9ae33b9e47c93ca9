package scenario

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ParseLink reads what a scenario says of the link and leaves the traffic out,
// which need not be there: the result has no flows. See Parse.
func ParseLink(file, name string, r io.Reader) (*Scenario, error) {
	p := parser{sc: &Scenario{Name: name}, linkOnly: true}
	return p.read(file, r)
}

// OpenLink is ParseLink for a built-in scenario of that name, or else the file.
func OpenLink(nameOrFile string) (*Scenario, error) {
	if slices.Contains(Names(), nameOrFile) {
		text, err := Text(nameOrFile)
		if err != nil {
			return nil, err
		}
		return ParseLink(nameOrFile+".txt", nameOrFile, bytes.NewReader(text))
	}
	f, err := os.Open(nameOrFile)
	if err != nil {
		return nil, openError(nameOrFile, err)
	}
	defer f.Close()
	name := strings.TrimSuffix(filepath.Base(nameOrFile), filepath.Ext(nameOrFile))
	return ParseLink(nameOrFile, name, f)
}

// isTraffic reports whether a statement is about anything but the link.
func isTraffic(word string) bool {
	switch word {
	case "flow", "audio", "video", "cross", "measure", "stop", "pass":
		return true
	}
	return false
}

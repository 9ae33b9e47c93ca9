package scenario

import (
	_ "embed"
	"strings"
)

//go:embed doc.go
var packageDoc string

// Format returns the description of the file format, for people.
func Format() string {
	_, text, _ := strings.Cut(packageDoc, "// # Format\n//\n")
	var b strings.Builder
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, "//")
		if !ok {
			break
		}
		rest = strings.TrimPrefix(rest, " ")
		b.WriteString(strings.TrimPrefix(rest, "\t"))
	}
	return b.String()
}

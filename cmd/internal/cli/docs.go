package cli

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

var (
	helpFlag = regexp.MustCompile(`(?m)^  (--?[a-z0-9-]+)`)
	docFlag  = regexp.MustCompile("`(--?[a-z0-9-]+)[^`]*`")
)

// UndocumentedFlags compares a command's --help with the section of docs/operations.md that has the command's name as
// its heading, and returns the flags that only one of the two has. For tests.
func UndocumentedFlags(command, help, operations string) ([]string, error) {
	page, err := os.ReadFile(operations)
	if err != nil {
		return nil, err
	}
	_, section, found := strings.Cut(string(page), "\n## "+command+"\n")
	if !found {
		return nil, fmt.Errorf("%s has no section %q", operations, command)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	documented, real := make(map[string]bool), make(map[string]bool)
	for _, m := range docFlag.FindAllStringSubmatch(section, -1) {
		documented[m[1]] = true
	}
	var missing []string
	for _, m := range helpFlag.FindAllStringSubmatch(help, -1) {
		real[m[1]] = true
		if !documented[m[1]] && m[1] != "--log-format" && m[1] != "--log-level" {
			missing = append(missing, m[1])
		}
	}
	for f := range documented {
		if !real[f] {
			missing = append(missing, f+" (documented only)")
		}
	}
	return missing, nil
}

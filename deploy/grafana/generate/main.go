// Command generate writes the Grafana dashboards: deploy/grafana/dashboards/*.json.
//
// Run it in its directory, as go generate does. Its test fails if the files are not what it makes.
package main

//go:generate go run .

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// directory is where the dashboards are, seen from here.
const directory = "../dashboards"

func main() {
	for name, d := range dashboards() {
		if err := os.WriteFile(filepath.Join(directory, name), encode(d), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
	}
}

// dashboards returns all of them by file name.
func dashboards() map[string]dashboard {
	all := make(map[string]dashboard)
	for _, d := range []dashboard{latency(), controller(), health(), tracks()} {
		all[d.UID+".json"] = d
	}
	return all
}

// encode returns a dashboard as its file has it.
func encode(d dashboard) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(d); err != nil {
		panic(err) // it is made of plain values
	}
	return b.Bytes()
}

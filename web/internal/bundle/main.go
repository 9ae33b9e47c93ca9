// Command bundle makes web/dist: it runs esbuild, the Go tool, on the entry points and copies the static pages.
// "go generate ./web" runs it in the directory web.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// entries are the modules that pages and other sites load by name.
var entries = []string{
	"src/player.ts",  // defines <moq-player>
	"src/worker.ts",  // the player's worker
	"src/worklet.ts", // the player's audio worklet
	"src/capture-worklet.ts",
	"src/pages/index.ts",
	"src/pages/publish.ts",
}

const out = "dist"

func main() {
	if err := bundle(); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

func bundle() error {
	if _, err := os.Stat("pages"); err != nil {
		return fmt.Errorf("run it in the directory web: %w", err)
	}
	if err := clean(); err != nil {
		return err
	}
	args := []string{
		"tool", "-modfile=../tools/go.mod", "esbuild",
		"--bundle", "--format=esm", "--target=es2022", "--minify", "--sourcemap", "--sources-content=true",
		"--log-level=warning", "--outdir=" + out, "--entry-names=[name]",
	}
	esbuild := exec.Command("go", append(args, entries...)...)
	esbuild.Stdout, esbuild.Stderr = os.Stdout, os.Stderr
	if err := esbuild.Run(); err != nil {
		return fmt.Errorf("esbuild: %w", err)
	}
	return os.CopyFS(out, os.DirFS("pages"))
}

// clean removes what an earlier run made, but not the file that keeps the directory.
func clean() error {
	files, err := os.ReadDir(out)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for _, f := range files {
		if f.Name() == ".gitkeep" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(out, f.Name())); err != nil {
			return err
		}
	}
	return os.MkdirAll(out, 0o755)
}

package web

import (
	"embed"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:generate go run ./internal/bundle

//go:embed all:dist
var dist embed.FS

// Files are the bundled files; index.html is among them if they were made.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the directory is embedded
	}
	return files
}

// types are the media types of the files, apart from what the system's tables say.
var types = map[string]string{
	".css":  "text/css; charset=utf-8",
	".html": "text/html; charset=utf-8",
	".ico":  "image/x-icon",
	".js":   "text/javascript; charset=utf-8",
	".json": "application/json",
	".map":  "application/json",
	".svg":  "image/svg+xml",
	".ts":   "text/plain; charset=utf-8",
}

// policy lets a page of ours load nothing from anywhere else, and connect to any relay.
const policy = "default-src 'self'; connect-src *; img-src 'self' data: blob:; media-src 'self' blob:; " +
	"worker-src 'self' blob:; style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'self'"

// Handler serves the pages and the player at the root of a server. Other sites may load the player's modules; the
// pages themselves cannot be framed by them.
func Handler() http.Handler {
	files := Files()
	if _, err := fs.Stat(files, "index.html"); err != nil {
		return http.HandlerFunc(notBuilt)
	}
	return handler(files)
}

func handler(files fs.FS) http.Handler {
	server := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		h := w.Header()
		name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
		ext := path.Ext(name)
		if name == "" {
			ext = ".html"
		}
		// A file's bytes change with the program, and its name does not.
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Content-Type-Options", "nosniff")
		switch ext {
		case ".html":
			h.Set("Content-Security-Policy", policy+"; frame-ancestors 'self'")
			h.Set("Referrer-Policy", "no-referrer")
		case ".js", ".css", ".map", ".svg":
			h.Set("Access-Control-Allow-Origin", "*")
		}
		if t := types[ext]; t != "" {
			if info, err := fs.Stat(files, name); name == "" || err == nil && !info.IsDir() {
				h.Set("Content-Type", t)
			}
		}
		server.ServeHTTP(w, r)
	})
}

const notBuiltPage = `<!doctype html><meta charset="utf-8"><title>moq-relay</title>
<p>The relay runs, but this program was built without the player.
Run <code>go generate ./web</code> (or <code>make build</code>) and build it again.
`

func notBuilt(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write([]byte(notBuiltPage))
}

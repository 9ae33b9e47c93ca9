// Package web holds the browser player and publisher, and serves them.
//
// The sources are TypeScript in src and static files in pages. "go generate ./web" bundles them into dist with
// esbuild, which is run as a Go tool, so that no Node is needed; dist is then embedded. A program built without
// that step serves a page that says so.
package web

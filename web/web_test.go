package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

var files = fstest.MapFS{
	"index.html":  {Data: []byte("<!doctype html>page")},
	"player.js":   {Data: []byte("export {}")},
	"publish.css": {Data: []byte("a{}")},
}

func get(t *testing.T, h http.Handler, method, path string) *http.Response {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w.Result()
}

func TestHandler(t *testing.T) {
	h := handler(files)
	for _, tt := range []struct {
		method, path string
		status       int
		contentType  string
		cors         string
	}{
		{"GET", "/", 200, "text/html; charset=utf-8", ""},
		{"HEAD", "/", 200, "text/html; charset=utf-8", ""},
		{"GET", "/?namespace=live/clip", 200, "text/html; charset=utf-8", ""},
		{"GET", "/player.js", 200, "text/javascript; charset=utf-8", "*"},
		{"GET", "/publish.css", 200, "text/css; charset=utf-8", "*"},
		{"GET", "/no.js", 404, "text/plain; charset=utf-8", "*"},
		{"GET", "/../web.go", 404, "text/plain; charset=utf-8", ""},
		{"POST", "/", 405, "text/plain; charset=utf-8", ""},
	} {
		r := get(t, h, tt.method, tt.path)
		if r.StatusCode != tt.status || r.Header.Get("Content-Type") != tt.contentType || r.Header.Get("Access-Control-Allow-Origin") != tt.cors {
			t.Errorf("%s %s: %d %v, want %d %q %q", tt.method, tt.path, r.StatusCode, r.Header, tt.status, tt.contentType, tt.cors)
		}
		if html := strings.HasPrefix(tt.contentType, "text/html"); html != strings.Contains(r.Header.Get("Content-Security-Policy"), "frame-ancestors 'self'") {
			t.Errorf("%s %s: policy %q", tt.method, tt.path, r.Header.Get("Content-Security-Policy"))
		}
	}
}

func TestNotBuilt(t *testing.T) {
	h := http.HandlerFunc(notBuilt)
	if r := get(t, h, "GET", "/"); r.StatusCode != 200 {
		t.Errorf("status %d", r.StatusCode)
	}
	if r := get(t, h, "GET", "/player.js"); r.StatusCode != 404 {
		t.Errorf("player.js: status %d", r.StatusCode)
	}
}

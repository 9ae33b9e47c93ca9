package ops

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestGuard(t *testing.T) {
	loopback, public := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}
	for _, tt := range []struct {
		name         string
		addr         net.Addr
		method, host string
		origin       string
		want         int
	}{
		{"a command", loopback, "POST", "127.0.0.1:9464", "", 200},
		{"its own page", loopback, "POST", "localhost:9464", "http://localhost:9464", 200},
		{"IPv6", loopback, "GET", "[::1]:9464", "", 200},
		{"another page that reads: the browser keeps the answer from it", loopback, "GET", "localhost:9464", "https://evil.example", 200},
		{"another page that changes something", loopback, "POST", "localhost:9464", "https://evil.example", 403},
		{"a name that points here", loopback, "GET", "evil.example", "http://evil.example", 403},
		{"a name of a public address", public, "POST", "relay.example", "http://relay.example", 200},
		{"another page, public address", public, "POST", "relay.example", "https://evil.example", 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := guard(tt.addr, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "in") }))
			r := httptest.NewRequest(tt.method, "http://"+tt.host+"/", nil)
			if tt.origin != "" {
				r.Header.Set("Origin", tt.origin)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tt.want {
				t.Errorf("got %d, want %d", w.Code, tt.want)
			}
		})
	}
}

package ops

import (
	"cmp"
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
		from         string // default: this machine
		want         int
	}{
		{"a command", loopback, "POST", "127.0.0.1:9464", "", "", 200},
		{"its own page", loopback, "POST", "localhost:9464", "http://localhost:9464", "", 200},
		{"IPv6", loopback, "GET", "[::1]:9464", "", "", 200},
		{"another page that reads: the browser keeps the answer from it", loopback, "GET", "localhost:9464", "https://evil.example", "", 200},
		{"another page that changes something", loopback, "POST", "localhost:9464", "https://evil.example", "", 403},
		{"a name that points here", loopback, "GET", "evil.example", "http://evil.example", "", 403},
		{"a name of a public address", public, "GET", "relay.example", "http://relay.example", "192.0.2.7:1234", 200},
		{"another page, public address", public, "POST", "relay.example", "https://evil.example", "", 403},
		{"a stranger's command, public address", public, "POST", "192.0.2.1:9464", "", "192.0.2.7:1234", 403},
		{"a stranger who says localhost", public, "PUT", "localhost:9464", "", "192.0.2.7:1234", 403},
		{"a stranger over IPv6", public, "POST", "[2001:db8::1]:9464", "", "[2001:db8::7]:1234", 403},
		{"a command from this machine, public address", public, "POST", "127.0.0.1:9464", "", "127.0.0.1:1234", 200},
		{"the same on a socket for both families", public, "POST", "localhost:9464", "", "[::ffff:127.0.0.1]:1234", 200},
		{"a name that points here, public address", public, "POST", "evil.example", "http://evil.example", "127.0.0.1:1234", 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := guard(tt.addr, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "in") }))
			r := httptest.NewRequest(tt.method, "http://"+tt.host+"/", nil)
			r.RemoteAddr = cmp.Or(tt.from, "127.0.0.1:1234")
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

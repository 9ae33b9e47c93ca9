package ops

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// answerTimeout is how long a client may take to read an answer. Profiles take longer.
const answerTimeout = 30 * time.Second

// guard says who may send a request.
//
// An address that others can reach is for their Prometheus; nothing there asks who they are. So only clients on this machine
// may change something.
//
// Web pages of others must not reach the server through the browser of somebody who may: a page must not send it requests that
// change something, nor, by a name that it lets point here, any at all. On an address that others can reach other
// names may be in use, for reading.
func guard(addr net.Addr, h http.Handler) http.Handler {
	h = http.NewCrossOriginProtection().Handler(h)
	private := isLoopback(addr)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var deadline time.Time
		if !strings.HasPrefix(r.URL.Path, "/debug/pprof/") {
			deadline = time.Now().Add(answerTimeout)
		}
		http.NewResponseController(w).SetWriteDeadline(deadline)
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
		switch {
		case (private || !reads) && !isLocalName(r.Host):
			plain(w, http.StatusForbidden, "this is for localhost only, not for "+r.Host)
		case !reads && !isLocalClient(r.RemoteAddr):
			plain(w, http.StatusForbidden, "only clients on this machine may change something")
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// isLocalClient reports whether a request comes from this machine.
func isLocalClient(remote string) bool {
	ap, err := netip.ParseAddrPort(remote)
	return err == nil && ap.Addr().Unmap().IsLoopback()
}

// isLocalName reports whether a Host header names a server by its address, or as localhost.
func isLocalName(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return strings.EqualFold(host, "localhost")
}

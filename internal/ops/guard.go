package ops

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// guard keeps web pages of others from reaching the server through the browser of somebody who may: a page must not send
// it requests that change something, nor, by a name that it lets point here, any at all.
func guard(addr net.Addr, h http.Handler) http.Handler {
	h = http.NewCrossOriginProtection().Handler(h)
	if !isLoopback(addr) {
		return h // other names of this machine may be in use
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLocalName(r.Host) {
			plain(w, http.StatusForbidden, "this address is for localhost only, not for "+r.Host)
			return
		}
		h.ServeHTTP(w, r)
	})
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

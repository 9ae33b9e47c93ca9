package quicnet

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/dunglas/httpsfv"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/webtransport-go"

	"github.com/moq-c4/moq-c4/moqt"
)

// maxHeaderBytes bounds the header of a request.
const maxHeaderBytes = 16 << 10

// headerProtocols is WT-Available-Protocols as net/http spells it.
// [WT] Section 3.3, Application Protocol Negotiation
const headerProtocols = "Wt-Available-Protocols"

type connKey struct{}

// newWebTransportServer makes the server that gets the connections with ALPN h3.
func (l *Listener) newWebTransportServer() *webtransport.Server {
	return &webtransport.Server{
		H3: &http3.Server{
			Handler:        http.HandlerFunc(l.serveHTTP),
			MaxHeaderBytes: maxHeaderBytes,
			ConnContext: func(ctx context.Context, qc *quic.Conn) context.Context {
				return context.WithValue(ctx, connKey{}, qc)
			},
		},
		ApplicationProtocols: l.cfg.Protocols,
		ReorderingTimeout:    l.cfg.SetupTimeout,
		CheckOrigin:          func(*http.Request) bool { return true }, // done before
	}
}

// serveHTTP makes sessions out of WebTransport requests, for any path.
func (l *Listener) serveHTTP(w http.ResponseWriter, r *http.Request) {
	qc := r.Context().Value(connKey{}).(*quic.Conn)
	p := pendingOf(qc)
	if r.Method != http.MethodConnect || !strings.HasPrefix(r.Proto, "webtransport") {
		p.blame(&l.count.notMOQT)
		http.Error(w, "this port speaks MOQT over QUIC and WebTransport", http.StatusNotFound)
		return
	}
	if origin := r.Header.Get("Origin"); !l.originAllowed(origin) {
		p.blame(&l.count.originDenied)
		l.log.Info("origin is not allowed", "origin", origin, "remote", r.RemoteAddr)
		http.Error(w, fmt.Sprintf("origin %q is not allowed", origin), http.StatusForbidden)
		return
	}
	if !l.startSetup() {
		http.Error(w, stoppingReason, http.StatusServiceUnavailable)
		return
	}
	defer l.settingUp.Done()
	preferProtocol(r.Header, l.cfg.Protocols)
	catcher := &streamCatcher{ResponseWriter: w}
	sess, err := l.wt.Upgrade(catcher, r)
	if err != nil {
		l.log.Debug("no webtransport session", "remote", r.RemoteAddr, "error", err)
		w.WriteHeader(http.StatusBadRequest) // no effect if a response is on its way
		return
	}
	c := newWTConn(sess, catcher.str, qc, l.cfg.reach, moqt.ConnInfo{
		Server:    true,
		Authority: r.Host,
		Path:      r.RequestURI,
	}, nil)
	if c.info.Protocol == "" {
		// As a session that is closed at once, and not as an HTTP status: that a script in a browser cannot read.
		p.blame(&l.count.noProtocol)
		c.Close(codeVersionNegotiationFailed, noProtocolReason(l.cfg.Protocols))
		return
	}
	if l.track(c, qc) {
		l.serving.Go(func() { l.handOver(c, p) })
	}
}

func noProtocolReason(protocols []string) string {
	return "no common MOQT version, this server speaks " + strings.Join(protocols, ", ")
}

// preferProtocol leaves of the offered protocols only the one that we like best:
// webtransport-go would take the client's favourite.
func preferProtocol(h http.Header, ours []string) {
	chosen := chooseProtocol(h.Values(headerProtocols), ours)
	h.Del(headerProtocols)
	if chosen == "" {
		return
	}
	if v, err := httpsfv.Marshal(httpsfv.NewItem(chosen)); err == nil {
		h.Set(headerProtocols, v)
	}
}

// chooseProtocol returns "" if there is none in common, or the header is not a list of strings.
func chooseProtocol(header, ours []string) string {
	list, err := httpsfv.UnmarshalList(header)
	if err != nil {
		return ""
	}
	best := len(ours)
	for _, member := range list {
		item, ok := member.(httpsfv.Item)
		if !ok {
			return ""
		}
		name, ok := item.Value.(string)
		if !ok {
			return ""
		}
		if i := slices.Index(ours, name); i >= 0 {
			best = min(best, i)
		}
	}
	if best == len(ours) {
		return ""
	}
	return ours[best]
}

// parseOrigins returns nil for an empty list: all are allowed.
func parseOrigins(list []string) (map[string]bool, error) {
	if len(list) == 0 {
		return nil, nil
	}
	m := make(map[string]bool, len(list))
	for _, o := range list {
		u, err := url.Parse(o)
		if err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" || u.RawQuery != "" {
			return nil, fmt.Errorf("allowed origin %q: want scheme://host or scheme://host:port", o)
		}
		m[strings.ToLower(o)] = true
	}
	return m, nil
}

func (l *Listener) originAllowed(origin string) bool {
	return origin == "" || l.origins == nil || l.origins[strings.ToLower(origin)]
}

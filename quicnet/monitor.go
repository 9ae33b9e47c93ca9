package quicnet

import (
	"slices"

	"github.com/moq-c4/moq-c4/quicnet/ccinject"
)

// ControllerMonitor adds up what the congestion controllers of [TransportConfig] do, by transport. A [Listener]
// has one; connections that are dialled are counted by the one that is given with [DialConfig]. The
// zero value is ready, and may serve several configurations.
type ControllerMonitor struct{ quic, webTransport ccinject.Monitor }

// ControllerStats is a snapshot of a [ControllerMonitor]: gauges of the live connections and counters since
// the monitor was made. Connections with the QUIC library's own controller are not in it, except
// in Refused.
type ControllerStats struct{ QUIC, WebTransport ccinject.Snapshot }

// Stats may be called at any time. It takes some 100 ns per live connection.
func (m *ControllerMonitor) Stats() ControllerStats {
	if m == nil {
		return ControllerStats{}
	}
	return ControllerStats{QUIC: m.quic.Snapshot(), WebTransport: m.webTransport.Snapshot()}
}

// of chooses by what a client offers. A server of ours prefers raw QUIC, so that only those that
// offer nothing else get WebTransport.
func (m *ControllerMonitor) of(protocols []string) *ccinject.Monitor {
	if len(protocols) > 0 && !slices.ContainsFunc(protocols, func(p string) bool { return p != alpnH3 }) {
		return &m.webTransport
	}
	return &m.quic
}

// Controllers returns what the congestion controllers of the listener's connections do. It may be called at any time.
func (l *Listener) Controllers() ControllerStats { return l.cfg.Monitor.Stats() }

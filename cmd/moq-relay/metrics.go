package main

import (
	"slices"

	"github.com/moq-c4/moq-c4/cmd/internal/ccmetrics"
	"github.com/moq-c4/moq-c4/internal/ops"
	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/quicnet"
	"github.com/moq-c4/moq-c4/relay"
)

// exportMetrics shows the counters of relay and transport.
func exportMetrics(reg *ops.Registry, r *relay.Relay, l *quicnet.Listener) {
	type stats = *relay.Stats
	read := func() stats { return r.Stats() }
	num := func(v int64) float64 { return float64(v) }
	ops.Export(reg, read,
		ops.GaugeOf("moq_relay_tracks", "Tracks carried now.", func(s stats) float64 { return num(s.Tracks.Load()) }),
		ops.GaugeOf("moq_relay_namespaces", "Namespaces announced now.", func(s stats) float64 { return num(s.Namespaces.Load()) }),
		ops.GaugeOf("moq_relay_subscribers", "Downstream subscriptions now.", func(s stats) float64 { return num(s.Subscribers.Load()) }),
		ops.GaugeOf("moq_relay_upstreams", "Upstream subscriptions now.", func(s stats) float64 { return num(s.Upstreams.Load()) }),
		ops.GaugeOf("moq_relay_open_streams", "Subgroup streams being sent now.", func(s stats) float64 { return num(s.Cursors.Load()) }),
		ops.GaugeOf("moq_relay_cache_bytes", "Bytes in the cache, as its bounds count them.", func(stats) float64 { return num(r.CacheBytes()) }),
		ops.CounterOf("moq_relay_objects_received_total", "Objects received on subgroup streams.", func(s stats) float64 { return float64(s.ObjectsIn.Load()) }),
		ops.CounterOf("moq_relay_received_bytes_total", "Payload bytes received on subgroup streams.", func(s stats) float64 { return float64(s.BytesIn.Load()) }),
		ops.CounterOf("moq_relay_subgroups_received_total", "Subgroup streams received.", func(s stats) float64 { return float64(s.SubgroupsIn.Load()) }),
		ops.CounterOf("moq_relay_groups_received_total", "Groups of which something was received on subgroup streams.", func(s stats) float64 { return float64(s.GroupsIn.Load()) }),
		ops.CounterOf("moq_relay_datagrams_received_total", "Objects received as datagrams.", func(s stats) float64 { return float64(s.DatagramsIn.Load()) }),
		ops.CounterOf("moq_relay_sent_bytes_total", "Bytes written to subgroup streams.", func(s stats) float64 { return float64(s.BytesOut.Load()) }),
		ops.CounterOf("moq_relay_subgroups_sent_total", "Subgroup streams opened to subscribers.", func(s stats) float64 { return float64(s.SubgroupsOut.Load()) }),
		ops.CounterOf("moq_relay_datagrams_sent_total", "Objects handed on as datagrams.", func(s stats) float64 { return float64(s.DatagramsOut.Load()) }),
		ops.CounterOf("moq_relay_datagrams_missed_total", "Datagrams that a subscriber missed: overwritten before its turn, or too large for its path.", func(s stats) float64 { return float64(s.DatagramsLost.Load()) }),
		ops.CounterOf("moq_relay_sessions_over_total", "Sessions turned away because there were --max-sessions.", func(s stats) float64 { return float64(s.SessionsOver.Load()) }),
		ops.CounterOf("moq_relay_takeovers_total", "Times that a publisher took the place of a lost one or began anew.", func(s stats) float64 { return float64(s.Takeovers.Load()) }),
		byReason("moq_relay_streams_cut_total", "Subgroup streams reset before their end, by reason.", labels[relay.Cut](), func(s stats, i int) uint64 { return s.Cuts[i].Load() }),
		byReason("moq_relay_cache_evictions_total", "Groups evicted from the cache, by reason.", labels[relay.Evict](), func(s stats, i int) uint64 { return s.CacheEvictions[i].Load() }),
		byReason("moq_relay_refused_total", "Incoming subgroups and datagrams not taken, by reason.", labels[relay.Refusal](), func(s stats, i int) uint64 { return s.Refusals[i].Load() }),
		byLabel("moq_relay_offers_total", "PUBLISHes offered to peers that want all tracks of a namespace, by result.", "result", labels[relay.Offer](), func(s stats, i int) uint64 { return s.Offers[i].Load() }),
		byLabel("moq_relay_quota_refusals_total", "Requests refused, and offers not made, at a bound of their session.", "quota", labels[relay.Quota](), func(s stats, i int) uint64 { return s.QuotaRefusals[i].Load() }),
		ops.CounterOf("moq_relay_fills_total", "FETCHes sent to publishers for what was not in the cache.", func(s stats) float64 { return float64(s.Fills.Load()) }),
		ops.CounterOf("moq_relay_fills_failed_total", "FETCHes sent to publishers that were refused, came too late or broke off.", func(s stats) float64 { return float64(s.FillsFailed.Load()) }),
		ops.CounterOf("moq_relay_groups_kept_total", "Groups kept in the cache of what publishers sent in answer to FETCH.", func(s stats) float64 { return float64(s.GroupsKept.Load()) }),
		byRequest(),
		byCacheUse(),
	)
	exportLive(reg, r)
	exportSessions(reg, r)
	exportTransport(reg, l)
	ccmetrics.Export(reg, l.Controllers)
}

// byCacheUse tells of what was found in the cache.
func byCacheUse() ops.Series[*relay.Stats] {
	return ops.CounterBy("moq_relay_cache_requests_total", "Times that the cache was asked: by new subscribers, for something to begin with, and by FETCH, for something of its range.",
		[]ops.Label{{Name: "by", Values: []string{"subscribe", "fetch"}}, {Name: "result", Values: []string{"hit", "miss"}}},
		func(s *relay.Stats, l []string) float64 {
			use := &s.CacheJoins
			if l[0] == "fetch" {
				use = &s.CacheFetches
			}
			if l[1] == "hit" {
				return float64(use.Hits.Load())
			}
			return float64(use.Misses.Load())
		})
}

// exportLive shows the sessions that there are.
func exportLive(reg *ops.Registry, r *relay.Relay) {
	type live map[[2]string]int
	labels := []ops.Label{{Name: "transport", Values: []string{"quic", "webtransport"}}, {Name: "version", Values: []string{"moqt-18", "moqt-19", "moqt-16", "other"}}}
	ops.Export(
		reg, func() live {
			n := make(live)
			for _, s := range r.Sessions() {
				version := s.Conn.Protocol
				if !slices.Contains(labels[1].Values, version) {
					version = "other"
				}
				n[[2]string{string(s.Conn.Transport), version}]++
			}
			return n
		},
		ops.GaugeBy("moq_relay_sessions", "MOQT sessions now, by transport and version.", labels,
			func(n live, l []string) float64 { return float64(n[[2]string(l)]) }),
	)
}

// exportSessions shows what the sessions have counted themselves, added up.
func exportSessions(reg *ops.Registry, r *relay.Relay) {
	type stats = moqt.Stats
	by := func(of func(stats) map[string]uint64) ([]string, func(stats, []string) float64) {
		var names []string
		for name := range of(stats{}) {
			names = append(names, name)
		}
		slices.Sort(names)
		return names, func(s stats, l []string) float64 { return float64(of(s)[l[0]]) }
	}
	out, outOf := by(func(s stats) map[string]uint64 {
		return map[string]uint64{
			"expired": s.DatagramsExpired, "overflow": s.DatagramsOverflow, "too_large": s.DatagramsTooLarge, "cancelled": s.DatagramsCancelled,
		}
	})
	in, inOf := by(func(s stats) map[string]uint64 {
		return map[string]uint64{"unknown_alias": s.DatagramsUnknownAlias, "unread": s.DatagramsUnread, "late": s.DatagramsLate, "oversized": s.DatagramsOversized}
	})
	streams, streamsOf := by(func(s stats) map[string]uint64 {
		return map[string]uint64{
			"unknown_alias": s.StreamsUnknownAlias, "pending_full": s.StreamsPendingFull, "unread": s.StreamsUnread,
			"late": s.StreamsLate, "stalled": s.StreamsStalled, "oversized": s.StreamsOversized, "reset_early": s.StreamsResetEarly,
		}
	})
	reason := func(values []string) []ops.Label { return []ops.Label{{Name: "reason", Values: values}} }
	ops.Export(reg, r.SessionStats,
		ops.GaugeOf("moq_relay_datagrams_queued", "Datagrams that wait in the queues of sessions now.", func(s stats) float64 { return float64(s.DatagramsQueued) }),
		ops.CounterBy("moq_relay_datagrams_dropped_total", "Datagrams dropped on their way out of a session's queue, by reason.", reason(out), outOf),
		ops.CounterBy("moq_relay_datagrams_unclaimed_total", "Incoming datagrams dropped, by reason.", reason(in), inOf),
		ops.CounterBy("moq_relay_streams_unclaimed_total", "Incoming data streams given up by the session, by reason.", reason(streams), streamsOf),
		ops.CounterOf("moq_relay_requests_received_total", "Requests received.", func(s stats) float64 { return float64(s.RequestsReceived) }),
		ops.CounterOf("moq_relay_requests_refused_by_session_total", "Requests refused before the relay saw them.", func(s stats) float64 { return float64(s.RequestsRefused) }),
	)
}

// enum is a counted reason whose values run from 0 to below some number.
type enum interface {
	~int
	String() string
	Values() int
}

// labels returns the label values of a reason in the order of its constants.
func labels[E enum]() []string {
	var e E
	vs := make([]string, e.Values())
	for i := range vs {
		vs[i] = E(i).String()
	}
	return vs
}

func byReason(name, help string, values []string, count func(s *relay.Stats, i int) uint64) ops.Series[*relay.Stats] {
	return byLabel(name, help, "reason", values, count)
}

// byLabel is a counter for each value of one label.
func byLabel(name, help, label string, values []string, count func(s *relay.Stats, i int) uint64) ops.Series[*relay.Stats] {
	index := make(map[string]int, len(values))
	for i, v := range values {
		index[v] = i
	}
	return ops.CounterBy(name, help, []ops.Label{{Name: label, Values: values}}, func(s *relay.Stats, l []string) float64 {
		return float64(count(s, index[l[0]]))
	})
}

func byRequest() ops.Series[*relay.Stats] {
	kinds := labels[relay.RequestKind]()
	index := make(map[string]int, len(kinds))
	for i, v := range kinds {
		index[v] = i
	}
	return ops.CounterBy("moq_relay_requests_total", "Requests answered, by kind and result.",
		[]ops.Label{{Name: "kind", Values: kinds}, {Name: "result", Values: []string{"accepted", "refused"}}},
		func(s *relay.Stats, l []string) float64 {
			r := &s.Requests[index[l[0]]]
			if l[1] == "accepted" {
				return float64(r.Accepted.Load())
			}
			return float64(r.Refused.Load())
		})
}

func exportTransport(reg *ops.Registry, l *quicnet.Listener) {
	type stats = quicnet.Stats
	transports := []ops.Label{{Name: "transport", Values: []string{"quic", "webtransport"}}}
	ops.Export(reg, l.Stats,
		ops.GaugeOf("moq_relay_pending_connections", "Connections in their handshake or not yet a session.", func(s stats) float64 { return float64(s.Pending) }),
		ops.CounterBy("moq_relay_handshakes_total", "QUIC handshakes, by result.", []ops.Label{{Name: "result", Values: []string{"ok", "failed", "refused"}}},
			func(s stats, l []string) float64 {
				return float64(map[string]uint64{"ok": s.HandshakesOK, "failed": s.HandshakesFailed, "refused": s.Refused}[l[0]])
			}),
		ops.CounterBy("moq_relay_connections_total", "Connections that became a session, by transport.", transports,
			func(s stats, l []string) float64 {
				return float64(map[string]uint64{"quic": s.QUICSessions, "webtransport": s.WebTransportSessions}[l[0]])
			}),
		ops.GaugeBy("moq_relay_connections", "Connections with a session now, by transport.", transports,
			func(s stats, l []string) float64 {
				return float64(map[string]int{"quic": s.QUICLive, "webtransport": s.WebTransportLive}[l[0]])
			}),
		ops.CounterBy("moq_relay_connections_failed_total", "Connections that completed the handshake but became no session, by reason.",
			[]ops.Label{{Name: "reason", Values: []string{"no_protocol", "origin", "setup_timeout", "setup_failed", "not_moqt"}}},
			func(s stats, l []string) float64 {
				return float64(map[string]uint64{
					"no_protocol": s.NoProtocol, "origin": s.OriginDenied, "setup_timeout": s.SetupTimeout, "setup_failed": s.SetupFailed,
					"not_moqt": s.NotMOQT,
				}[l[0]])
			}),
		ops.CounterOf("moq_relay_unscheduled_streams_total", "WebTransport streams that got no priority, because the library's layout is unknown.",
			func(s stats) float64 { return float64(s.UnscheduledStreams) }),
	)
}

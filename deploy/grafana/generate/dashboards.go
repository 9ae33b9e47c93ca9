package main

import "fmt"

// here selects the processes that the viewer has chosen.
const here = `job=~"$job", instance=~"$instance"`

// sum adds the rates of a counter up over all processes, by some labels.
func sum(by, metric, more string) string {
	return aggregate(by, fmt.Sprintf("rate(%s{%s%s}[$__rate_interval])", metric, here, more))
}

// now adds a gauge up over all processes, by some labels.
func now(by, metric, more string) string {
	return aggregate(by, fmt.Sprintf("%s{%s%s}", metric, here, more))
}

func aggregate(by, what string) string {
	if by == "" {
		return "sum(" + what + ")"
	}
	return "sum by (" + by + ") (" + what + ")"
}

// ratio divides, and is 0 where there is nothing.
func ratio(part, whole string) string { return part + " / (" + whole + " > 0) or 0 * " + whole }

const stages = `Stages of a frame's way: ingest is from capture to its last byte at the first relay, relay from there until it was handed to a subscriber's connection, delivery from there until it was acknowledged, end_to_end from capture until a player shows it.`

func latency() dashboard {
	d := newDashboard("moq-frame-latency", "MoQ / Frame latency", "How long frames are on their way, by stage, kind and priority. "+stages,
		choose("kind", "Kind", "label_values(moq_frame_delay_seconds_count, kind)"),
		choose("priority", "Priority", "label_values(moq_frame_delay_seconds_count, priority)"),
		choose("stage", "Stage", "label_values(moq_frame_delay_seconds_count, stage)"),
	)
	const media = here + `, kind=~"$kind", priority=~"$priority"`
	const delay = "moq_frame_delay_seconds"
	var l layout
	l.row("By stage")
	for _, s := range []string{"ingest", "relay", "delivery", "end_to_end"} {
		l.lines(6, s, stages, "s", quantiles(delay, media+fmt.Sprintf(`, stage=%q`, s), "", "")...)
	}
	l.row("By stage and priority")
	for _, s := range []string{"ingest", "relay", "delivery", "end_to_end"} {
		l.lines(6, s+", 95 % by priority", "0 is the catalog, 2 audio, 4 the smallest video, 6 the better ones.", "s",
			q{quantile("0.95", delay, media+fmt.Sprintf(`, stage=%q`, s), "kind, priority, "), "{{kind}} {{priority}}"})
	}
	l.row("Distribution")
	l.heatmap(12, "$stage", stages, "stage", fmt.Sprintf(`sum by (le) (increase(%s_bucket{%s, stage=~"$stage"}[$__rate_interval]))`, delay, media))
	l.row("Lateness")
	l.lines(12, "Lateness by kind and priority, 95 %", "How much later a frame came in than the frame of its track that took the shortest way in the last minute. It needs no clocks that agree, and shows bursts and jams.", "s",
		q{quantile("0.95", "moq_frame_lateness_seconds", media, "kind, priority, "), "{{kind}} {{priority}}"})
	l.lines(12, "Frames more than 250 ms late", "The rule of the C4 test plan: a frame that is later than this is of no use to a call.", "percentunit",
		q{"1 - " + aggregate("kind, priority", fmt.Sprintf(`rate(moq_frame_lateness_seconds_bucket{%s, le="0.25"}[$__rate_interval])`, media)) + " / " +
			"(" + aggregate("kind, priority", fmt.Sprintf(`rate(moq_frame_lateness_seconds_count{%s}[$__rate_interval])`, media)) + " > 0)", "{{kind}} {{priority}}"})
	l.row("Viewers, and frames without a delay")
	l.lines(8, "Time stalled", "Share of the time that players reported on in which they had no new picture though there should have been one.", "percentunit",
		q{ratio(sum("", "moq_viewer_stalled_seconds_total", ""), sum("", "moq_viewer_reported_seconds_total", "")), "stalled"})
	l.lines(8, "Groups that players did not show to their end", "cancelled: given up because they were late.", "ops",
		q{sum("kind, reason", "moq_viewer_groups_lost_total", ""), "{{kind}} {{reason}}"})
	l.lines(8, "Frames without a delay", "no_capture: the publisher does not say when they were taken. negative: the clocks disagree. implausible: the timestamps are no wall-clock times.", "ops",
		q{sum("stage, reason", "moq_frame_delay_odd_total", ""), "{{stage}} {{reason}}"})
	d.Panels = l.panels
	return d
}

func controller() dashboard {
	d := newDashboard("moq-c4", "MoQ / C4", "What the congestion controllers of --cc do. Processes with --cc stock have no data here.",
		choose("transport", "Transport", "label_values(moq_cc_connections, transport)"))
	const tr = `, transport=~"$transport"`
	var l layout
	l.row("Now")
	l.stat("Connections", "With a controller of --cc.", "short", q{now("", "moq_cc_connections", tr), ""})
	l.stat("With nothing to send", "They have leave to send and nothing to send: the application limits them, not the path.", "percentunit",
		q{ratio(now("", "moq_cc_limited_connections", tr), now("", "moq_cc_connections", tr)), ""})
	l.stat("Median rate", "C4's nominal rate.", "binBps", q{`avg(moq_cc_nominal_rate_bytes_per_second{` + here + tr + `, of="median"})`, ""})
	l.stat("Median of the longest RTT", "C4's nominal max RTT.", "s", q{`avg(moq_cc_max_rtt_seconds{` + here + tr + `, of="median"})`, ""})
	l.stat("Pushes aligned with a burst", "Share of the pushes for more rate that began while there was data to send, so that they can find something out.", "percentunit",
		q{ratio(sum("", "moq_cc_states_entered_in_burst_total", tr+`, state="pushing"`), sum("", "moq_cc_states_entered_total", tr+`, state="pushing"`)), ""})
	l.stat("Not installed", "Connections that kept the QUIC library's controller because its layout is unknown.", "short", q{now("", "moq_cc_connections_total", tr+`, result="refused"`), ""})
	l.row("States")
	l.stacked(12, "Connections by state", "", "short", q{now("state", "moq_cc_connections", tr), "{{state}}"})
	l.stacked(12, "Time by state", "Share of the connections' time.", "percentunit",
		q{sum("state", "moq_cc_state_seconds_total", tr) + " / on() group_left() (" + sum("", "moq_cc_state_seconds_total", tr) + " > 0)", "{{state}}"})
	l.lines(12, "States entered", "Per second, over all connections.", "ops", q{sum("state", "moq_cc_states_entered_total", tr), "{{state}}"})
	l.lines(12, "Pushes aligned with a burst", "Of probing and pushing, the share that began while there was data to send for a round trip.", "percentunit",
		q{sum("state", "moq_cc_states_entered_in_burst_total", tr+`, state=~"probing|pushing"`) + " / (" + sum("state", "moq_cc_states_entered_total", tr+`, state=~"probing|pushing"`) + " > 0)", "{{state}}"})
	l.row("Rate and round trips")
	l.lines(12, "Nominal rate", "Least, median and greatest of the connections.", "binBps", q{`max by (of) (moq_cc_nominal_rate_bytes_per_second{` + here + tr + `})`, "{{of}}"})
	l.lines(12, "Nominal max RTT", "Least, median and greatest of the connections.", "s", q{`max by (of) (moq_cc_max_rtt_seconds{` + here + tr + `})`, "{{of}}"})
	l.lines(12, "Throughput", "UDP payload sent and acknowledged.", "binBps",
		q{sum("", "moq_cc_sent_bytes_total", tr), "sent"}, q{sum("", "moq_cc_acked_bytes_total", tr), "acknowledged"})
	l.lines(12, "Limited by the application", "Share of the time in which connections had leave to send and nothing to send.", "percentunit",
		q{ratio(sum("", "moq_cc_limited_seconds_total", tr), sum("", "moq_cc_lifetime_seconds_total", tr)), "limited"})
	l.row("Congestion")
	l.lines(8, "Congestion signals by cause", "Those that the controllers accepted.", "ops", q{sum("cause", "moq_cc_congestion_total", tr), "{{cause}}"})
	l.lines(8, "Packets lost, marked and late", "Share of the packets that were acknowledged.", "percentunit",
		q{sum("result", "moq_cc_packets_total", tr+`, result!="acked"`) + " / on() group_left() (" + sum("", "moq_cc_packets_total", tr+`, result="acked"`) + " > 0)", "{{result}}"})
	l.lines(8, "Probe timeouts and careful resume", "", "ops",
		q{sum("", "moq_cc_probe_timeouts_total", tr), "probe timeouts"}, q{sum("result", "moq_cc_resumes_total", tr), "resume {{result}}"})
	d.Panels = l.panels
	return d
}

func health() dashboard {
	d := newDashboard("moq-relay-health", "MoQ / Relay health", "Sessions, requests, throughput, cache, drops and the process.")
	var l layout
	l.row("Now")
	l.stat("Relays up", "", "short", q{`sum(up{` + here + `})`, ""})
	l.stat("Sessions", "", "short", q{now("", "moq_relay_sessions", ""), ""})
	l.stat("Subscriptions", "", "short", q{now("", "moq_relay_subscribers", ""), ""})
	l.stat("Tracks", "", "short", q{now("", "moq_relay_tracks", ""), ""})
	l.stat("Sent", "Bytes of subgroup streams.", "binBps", q{sum("", "moq_relay_sent_bytes_total", ""), ""})
	l.stat("Small UDP buffers", "Relays whose kernel grants smaller UDP buffers than asked for.", "short", q{now("", "moq_relay_small_udp_buffers", ""), ""})
	l.row("Sessions and requests")
	l.stacked(8, "Sessions by transport and version", "", "short", q{now("transport, version", "moq_relay_sessions", ""), "{{transport}} {{version}}"})
	l.lines(8, "Handshakes", "refused: turned away because too many were in their handshake.", "ops", q{sum("result", "moq_relay_handshakes_total", ""), "{{result}}"})
	l.lines(8, "Connections without a session", "By reason; origin means --origins.", "ops", q{sum("reason", "moq_relay_connections_failed_total", ""), "{{reason}}"},
		q{sum("", "moq_relay_sessions_over_total", ""), "--max-sessions"})
	l.lines(8, "Requests accepted", "", "ops", q{sum("kind", "moq_relay_requests_total", `, result="accepted"`), "{{kind}}"})
	l.lines(8, "Requests refused", "", "ops", q{sum("kind", "moq_relay_requests_total", `, result="refused"`), "{{kind}}"},
		q{sum("", "moq_relay_requests_refused_by_session_total", ""), "by the session"})
	l.lines(8, "What is carried", "", "short", q{now("", "moq_relay_namespaces", ""), "namespaces"}, q{now("", "moq_relay_tracks", ""), "tracks"},
		q{now("", "moq_relay_upstreams", ""), "upstream subscriptions"}, q{now("", "moq_relay_subscribers", ""), "subscriptions"})
	l.row("Objects")
	l.lines(8, "Throughput", "Payload in; streams with headers out.", "binBps", q{sum("", "moq_relay_received_bytes_total", ""), "received"}, q{sum("", "moq_relay_sent_bytes_total", ""), "sent"})
	l.lines(8, "Objects by kind", "Received, and handed to subscribers' connections.", "ops", q{sum("direction, kind", "moq_frame_objects_total", ""), "{{direction}} {{kind}}"})
	l.lines(8, "Groups and subgroup streams", "", "ops", q{sum("", "moq_relay_groups_received_total", ""), "groups in"},
		q{sum("", "moq_relay_subgroups_received_total", ""), "streams in"}, q{sum("", "moq_relay_subgroups_sent_total", ""), "streams out"})
	l.lines(8, "Streams cut", "Reset before their end. lag and evicted: slow subscribers. upstream: the publisher or its path.", "ops", q{sum("reason", "moq_relay_streams_cut_total", ""), "{{reason}}"})
	l.lines(8, "Datagrams dropped", "", "ops", q{sum("reason", "moq_relay_datagrams_dropped_total", ""), "out: {{reason}}"},
		q{sum("", "moq_relay_datagrams_missed_total", ""), "out: missed"}, q{sum("reason", "moq_relay_datagrams_unclaimed_total", ""), "in: {{reason}}"})
	l.lines(8, "Given up or not taken on the way in", "", "ops", q{sum("reason", "moq_relay_streams_unclaimed_total", ""), "stream: {{reason}}"},
		q{sum("reason", "moq_relay_refused_total", ""), "refused: {{reason}}"})
	l.row("Cache and queues")
	l.lines(8, "Cache", "", "bytes", q{now("", "moq_relay_cache_bytes", ""), "in the cache"})
	l.lines(8, "Evictions and hits", "Hits: new subscribers that found something to begin with, and FETCH that found something of its range.", "ops",
		q{sum("reason", "moq_relay_cache_evictions_total", ""), "evicted: {{reason}}"}, q{sum("by, result", "moq_relay_cache_requests_total", ""), "{{by}} {{result}}"})
	l.lines(8, "Queues", "", "short", q{now("", "moq_relay_open_streams", ""), "streams being sent"}, q{now("", "moq_relay_datagrams_queued", ""), "datagrams queued"},
		q{now("", "moq_relay_pending_connections", ""), "connections pending"})
	l.row("Process")
	l.lines(6, "CPU", "In cores.", "short", q{`rate(process_cpu_seconds_total{` + here + `}[$__rate_interval])`, "{{instance}}"})
	l.lines(6, "Memory", "", "bytes", q{`process_resident_memory_bytes{` + here + `}`, "{{instance}} resident"}, q{`go_memstats_heap_inuse_bytes{` + here + `}`, "{{instance}} heap"})
	l.lines(6, "Goroutines", "", "short", q{`go_goroutines{` + here + `}`, "{{instance}}"})
	l.lines(6, "Garbage collection", "Share of the time in which the world stood still.", "percentunit", q{`rate(go_gc_duration_seconds_sum{` + here + `}[$__rate_interval])`, "{{instance}}"})
	d.Panels = l.panels
	return d
}

func tracks() dashboard {
	d := newDashboard("moq-tracks", "MoQ / Tracks", "Single tracks, of relays that run with --track-metrics.",
		choose("namespace", "Namespace", "label_values(moq_relay_track_subscribers, namespace)"),
		choose("track", "Track", `label_values(moq_relay_track_subscribers{namespace=~"$namespace"}, track)`),
	)
	const names = `, namespace=~"$namespace", track=~"$track"`
	const by = "namespace, track"
	var l layout
	l.row("Tracks")
	l.lines(12, "Subscribers", "", "short", q{now(by, "moq_relay_track_subscribers", names), "{{namespace}} / {{track}}"})
	l.lines(12, "Received", "Payload.", "binBps", q{sum(by, "moq_relay_track_received_bytes_total", names), "{{namespace}} / {{track}}"})
	l.lines(12, "Objects", "", "ops", q{sum(by, "moq_relay_track_objects_total", names), "{{namespace}} / {{track}}"})
	l.lines(12, "In the cache", "", "bytes", q{now(by, "moq_relay_track_cache_bytes", names), "{{namespace}} / {{track}}"})
	l.row("Delay")
	for _, s := range []string{"ingest", "relay", "delivery"} {
		l.lines(8, s+", 95 %", stages, "s",
			q{quantile("0.95", "moq_relay_track_delay_seconds", here+names+fmt.Sprintf(`, stage=%q`, s), by+", "), "{{namespace}} / {{track}}"})
	}
	l.row("Chosen tracks together")
	for _, s := range []string{"ingest", "relay", "delivery"} {
		l.lines(8, s, stages, "s", quantiles("moq_relay_track_delay_seconds", here+names+fmt.Sprintf(`, stage=%q`, s), "", "")...)
	}
	d.Panels = l.panels
	return d
}

// Package ops is what an operator sees of a process: logs, build information,
// metrics, health and profiles, the last three over HTTP on an address of their own.
//
// In order of use:
//
//   - [LogConfig] makes the process's [log/slog] logger;
//   - [Registry] holds the metrics. A command counts with [Registry.Counter],
//     [Registry.Gauge] and [Registry.Delays], or shows the counters that a
//     package keeps itself with [Export];
//   - [Server] serves /metrics, /healthz, /readyz and /debug/pprof/, and what a
//     command adds with [JSON] and [Command]; guard.go says to whom;
//   - [History] keeps the last minutes for people without a database of metrics.
//
// This is the only package that imports the Prometheus client. The others keep
// plain counters (relay.Stats, say) and know nothing of metrics; a command
// joins the two. No series appears or disappears with what a peer does: the
// values of every label are declared when the metric is made.
package ops

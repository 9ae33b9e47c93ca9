// Package ccmetrics exports what congestion controllers do, for the commands that send.
package ccmetrics

import (
	"time"

	"github.com/moq-c4/moq-c4/internal/ops"
	"github.com/moq-c4/moq-c4/quicnet"
	"github.com/moq-c4/moq-c4/quicnet/ccinject"
)

type (
	stats    = quicnet.ControllerStats
	snapshot = ccinject.Snapshot
)

var transport = ops.Label{Name: "transport", Values: []string{"quic", "webtransport"}}

// of picks the connections of a transport.
func of(s *stats, transport string) *snapshot {
	if transport == "webtransport" {
		return &s.WebTransport
	}
	return &s.QUIC
}

// enum returns the label of a type whose values run from 0 to below n, and the place of each value.
func enum[E interface {
	~uint8
	String() string
}](name string, n E,
) (ops.Label, map[string]int) {
	label, index := ops.Label{Name: name}, make(map[string]int)
	for e := range n {
		index[e.String()] = int(e)
		label.Values = append(label.Values, e.String())
	}
	return label, index
}

// choice is a label with a way to read each of its values.
func choice(name string, order []string, value map[string]func(*snapshot) float64) (ops.Label, func(*stats, []string) float64) {
	return ops.Label{Name: name, Values: order}, func(s *stats, l []string) float64 { return value[l[1]](of(s, l[0])) }
}

// Export adds the metrics of the controllers that read tells of.
func Export(reg *ops.Registry, read func() quicnet.ControllerStats) {
	states, state := enum("state", ccinject.NumStates)
	causes, cause := enum("cause", ccinject.NumCauses)
	seconds := func(d time.Duration) float64 { return d.Seconds() }
	gauge := func(name, help string, value func(*snapshot) float64) ops.Series[*stats] {
		return ops.GaugeBy(name, help, []ops.Label{transport}, func(s *stats, l []string) float64 { return value(of(s, l[0])) })
	}
	counter := func(name, help string, value func(*snapshot) float64) ops.Series[*stats] {
		return ops.CounterBy(name, help, []ops.Label{transport}, func(s *stats, l []string) float64 { return value(of(s, l[0])) })
	}
	spread := []string{"min", "median", "max"}
	rates, rate := choice("of", spread, map[string]func(*snapshot) float64{
		"min":    func(s *snapshot) float64 { return float64(s.NominalRate.Min) },
		"median": func(s *snapshot) float64 { return float64(s.NominalRate.Median) },
		"max":    func(s *snapshot) float64 { return float64(s.NominalRate.Max) },
	})
	rtts, rtt := choice("of", spread, map[string]func(*snapshot) float64{
		"min":    func(s *snapshot) float64 { return seconds(s.MaxRTT.Min) },
		"median": func(s *snapshot) float64 { return seconds(s.MaxRTT.Median) },
		"max":    func(s *snapshot) float64 { return seconds(s.MaxRTT.Max) },
	})
	results, packets := choice("result", []string{"acked", "lost", "given_up", "spurious", "marked"}, map[string]func(*snapshot) float64{
		"acked":    func(s *snapshot) float64 { return float64(s.PacketsAcked) },
		"lost":     func(s *snapshot) float64 { return float64(s.PacketsLost) },
		"given_up": func(s *snapshot) float64 { return float64(s.PacketsGivenUp) },
		"spurious": func(s *snapshot) float64 { return float64(s.PacketsSpurious) },
		"marked":   func(s *snapshot) float64 { return float64(s.PacketsMarked) },
	})
	installs, connections := choice("result", []string{"installed", "refused", "reinstalled"}, map[string]func(*snapshot) float64{
		"installed":   func(s *snapshot) float64 { return float64(s.Installed) },
		"refused":     func(s *snapshot) float64 { return float64(s.Refused) },
		"reinstalled": func(s *snapshot) float64 { return float64(s.Reinstalled) },
	})
	seeds, resumes := choice("result", []string{"offered", "used"}, map[string]func(*snapshot) float64{
		"offered": func(s *snapshot) float64 { return float64(s.SeedsOffered) },
		"used":    func(s *snapshot) float64 { return float64(s.SeedsUsed) },
	})
	ops.Export(
		reg, func() *stats { s := read(); return &s },
		ops.GaugeBy("moq_cc_connections", "Connections with a controller of --cc now, by its state.", []ops.Label{transport, states},
			func(s *stats, l []string) float64 { return float64(of(s, l[0]).LiveInState[state[l[1]]]) }),
		gauge("moq_cc_limited_connections", "Connections that have leave to send and nothing to send now.", func(s *snapshot) float64 { return float64(s.LiveLimited) }),
		ops.GaugeBy("moq_cc_nominal_rate_bytes_per_second", "What the controllers take their paths to deliver: C4's nominal rate, of others the pacing rate. Least, median and greatest of the connections.", []ops.Label{transport, rates}, rate),
		ops.GaugeBy("moq_cc_max_rtt_seconds", "What the controllers take for the longest round trip without queues: C4's nominal max RTT, of others the smoothed RTT. Least, median and greatest of the connections.", []ops.Label{transport, rtts}, rtt),
		ops.CounterBy("moq_cc_connections_total", "Connections for which --cc chose the controller: installed, refused because the library's layout is unknown, or installed again after a change of path.", []ops.Label{transport, installs}, connections),
		ops.CounterBy("moq_cc_states_entered_total", "Changes of state, by the state entered; of pushing and probing these are the pushes for more rate.", []ops.Label{transport, states},
			func(s *stats, l []string) float64 { return float64(of(s, l[0]).Entered[state[l[1]]]) }),
		ops.CounterBy("moq_cc_states_entered_in_burst_total", "The part of moq_cc_states_entered_total for which there was data to send for a round trip: of pushing, the pushes that are aligned with a burst.", []ops.Label{transport, states},
			func(s *stats, l []string) float64 { return float64(of(s, l[0]).EnteredInBurst[state[l[1]]]) }),
		ops.CounterBy("moq_cc_state_seconds_total", "Time that connections spent in each state.", []ops.Label{transport, states},
			func(s *stats, l []string) float64 { return seconds(of(s, l[0]).InState[state[l[1]]]) }),
		ops.CounterBy("moq_cc_congestion_total", "Congestion signals that controllers accepted, by cause.", []ops.Label{transport, causes},
			func(s *stats, l []string) float64 { return float64(of(s, l[0]).Congestion[cause[l[1]]]) }),
		counter("moq_cc_limited_seconds_total", "Time for which connections had leave to send and nothing to send.", func(s *snapshot) float64 { return seconds(s.Limited) }),
		counter("moq_cc_lifetime_seconds_total", "Time for which connections had a controller.", func(s *snapshot) float64 { return seconds(s.Lifetime) }),
		counter("moq_cc_sent_bytes_total", "UDP payload sent.", func(s *snapshot) float64 { return float64(s.BytesSent) }),
		counter("moq_cc_acked_bytes_total", "UDP payload acknowledged, without authentication tags.", func(s *snapshot) float64 { return float64(s.BytesAcked) }),
		ops.CounterBy("moq_cc_packets_total", "Packets acknowledged, found lost, given up by a probe timeout, found to have arrived after all, and marked by the path (CE).", []ops.Label{transport, results}, packets),
		counter("moq_cc_probe_timeouts_total", "Probe timeouts.", func(s *snapshot) float64 { return float64(s.ProbeTimeouts) }),
		ops.CounterBy("moq_cc_resumes_total", "Careful resume: connections to a destination that was remembered, and those of them that used the memory.", []ops.Label{transport, seeds}, resumes),
	)
}

package main

import (
	"github.com/moq-c4/moq-c4/cmd/internal/ccmetrics"
	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/cmd/internal/frames"
	"github.com/moq-c4/moq-c4/internal/ops"
	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/quicnet"
	"github.com/moq-c4/moq-c4/quicnet/ackwatch"
	"github.com/moq-c4/moq-c4/relay"
)

// measurement is what a publisher is measured with. Its methods do nothing on a nil one.
type measurement struct {
	reg         *ops.Registry
	frames      *frames.Metrics
	controllers quicnet.ControllerMonitor
	connections ops.Counter
}

func newMeasurement(reg *ops.Registry) *measurement {
	if reg == nil {
		return nil
	}
	return &measurement{
		reg: reg, frames: frames.New(reg),
		connections: reg.Counter("moq_pub_connections_total", "Connections to the relay on which the namespace was accepted.").With(),
	}
}

func (m *measurement) registry() *ops.Registry {
	if m == nil {
		return nil
	}
	return m.reg
}

// attach makes relay and connections tell what they do.
func (m *measurement) attach(cfg *relay.Config, dialer *cli.Dialer) {
	if m == nil {
		return
	}
	cfg.Observer = m.frames.Observer(0)
	dialer.Measure(&ackwatch.Sampler{Least: 1}, &m.controllers)
}

func (m *measurement) connected() {
	if m != nil {
		m.connections.Inc()
	}
}

// export shows the counters of the relay from which the publisher serves.
func (m *measurement) export(r *relay.Relay) {
	if m == nil {
		return
	}
	type stats = *relay.Stats
	cuts := ops.Label{Name: "reason"}
	place := make(map[string]relay.Cut)
	for c := range relay.Cut(relay.Cut(0).Values()) {
		cuts.Values = append(cuts.Values, c.String())
		place[c.String()] = c
	}
	ops.Export(
		m.reg, r.Stats,
		ops.GaugeOf("moq_pub_connected", "1 while there is a session with the relay.", func(s stats) float64 { return float64(s.Sessions.Load()) }),
		ops.GaugeOf("moq_pub_tracks", "Tracks published now.", func(s stats) float64 { return float64(s.Tracks.Load()) }),
		ops.GaugeOf("moq_pub_subscriptions", "Tracks that the relay has subscribed to now.", func(s stats) float64 { return float64(s.Subscribers.Load()) }),
		ops.CounterOf("moq_pub_sent_bytes_total", "Bytes written to subgroup streams.", func(s stats) float64 { return float64(s.BytesOut.Load()) }),
		ops.CounterBy("moq_pub_streams_cut_total", "Subgroup streams reset before their end, by reason.", []ops.Label{cuts},
			func(s stats, l []string) float64 { return float64(s.Cuts[place[l[0]]].Load()) }),
	)
	drops := []string{"expired", "overflow", "too_large", "cancelled"}
	ops.Export(
		m.reg, r.SessionStats,
		ops.GaugeOf("moq_pub_datagrams_queued", "Datagrams that wait to be sent now.", func(s moqt.Stats) float64 { return float64(s.DatagramsQueued) }),
		ops.CounterBy("moq_pub_datagrams_dropped_total", "Datagrams dropped before they were sent, by reason.", []ops.Label{{Name: "reason", Values: drops}},
			func(s moqt.Stats, l []string) float64 {
				return float64(map[string]uint64{
					"expired": s.DatagramsExpired, "overflow": s.DatagramsOverflow, "too_large": s.DatagramsTooLarge, "cancelled": s.DatagramsCancelled,
				}[l[0]])
			}),
	)
	ccmetrics.Export(m.reg, m.controllers.Stats)
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
)

// run is the whole command.
func run(ctx context.Context, env cli.Env) error {
	f, err := parseFlags(env)
	if err != nil {
		return err
	}
	switch f.what {
	case rolePlain:
		return runPlain(ctx, f)
	case roleOrigin:
		return runOrigin(ctx, f)
	}
	var out result
	for round := range f.rounds {
		if f.what == "all" || f.what == "priorities" {
			fmt.Fprintf(env.Stderr, "round %d of %d: priorities on slow paths\n", round+1, f.rounds)
			r, err := shaped(ctx, f)
			if err != nil {
				return err
			}
			out.Shaped = append(out.Shaped, r)
		}
		if f.what == "all" || f.what == "delay" {
			fmt.Fprintf(env.Stderr, "round %d of %d: delay\n", round+1, f.rounds)
			r, err := delay(ctx, f)
			if err != nil {
				return err
			}
			out.Delay = append(out.Delay, r)
		}
		if f.what == "all" || f.what == "fanout" {
			fmt.Fprintf(env.Stderr, "round %d of %d: fan-out to %d\n", round+1, f.rounds, f.subscribers)
			r, err := fanout(ctx, f)
			if err != nil {
				return err
			}
			out.Fanout = append(out.Fanout, r)
		}
	}
	if f.json {
		enc := json.NewEncoder(env.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(out)
	}
	out.print(env.Stdout, f)
	return nil
}

// result is what was measured, a value per round.
type result struct {
	Delay  []delayResult  `json:"delay,omitempty"`
	Fanout []fanoutResult `json:"fanout,omitempty"`
	Shaped []shapedResult `json:"priorities,omitempty"`
}

func (r *result) print(w io.Writer, f *flags) {
	if len(r.Delay) > 0 {
		fmt.Fprintf(w, "Delay from capture to subscriber on loopback, ms (median of %d rounds, least to most)\n\n", len(r.Delay))
		fmt.Fprintf(w, "| | direct | one relay | ratio |\n|---|---|---|---|\n")
		for _, line := range []struct {
			name string
			of   func(quantiles) float64
		}{
			{"audio p50", func(q quantiles) float64 { return q.AudioP50 }},
			{"audio p99", func(q quantiles) float64 { return q.AudioP99 }},
			{"video p50", func(q quantiles) float64 { return q.VideoP50 }},
			{"video p99", func(q quantiles) float64 { return q.VideoP99 }},
		} {
			direct := each(r.Delay, func(d delayResult) float64 { return line.of(d.Direct) })
			relay := each(r.Delay, func(d delayResult) float64 { return line.of(d.Relay) })
			ratio := each(r.Delay, func(d delayResult) float64 { return line.of(d.Relay) / line.of(d.Direct) })
			fmt.Fprintf(w, "| %s | %s | %s | %s |\n", line.name, direct, relay, ratio)
		}
		fmt.Fprintln(w)
	}
	r.printShaped(w, f)
	if len(r.Fanout) == 0 {
		return
	}
	fmt.Fprintf(w, "%d subscribers of the synthetic call over %s (median of %d rounds, least to most)\n\n", f.subscribers, f.transport, len(r.Fanout))
	lines := []struct {
		name string
		of   func(fanoutResult) float64
	}{
		{"delivered Mbit/s", func(r fanoutResult) float64 { return r.Relay.mbps() }},
		{"objects lost", func(r fanoutResult) float64 { return float64(r.Lost) }},
		{"audio delay p99, ms", func(r fanoutResult) float64 { return r.AudioP99 }},
		{"video delay p99, ms", func(r fanoutResult) float64 { return r.VideoP99 }},
	}
	if !f.remote {
		n := float64(f.subscribers)
		lines = append(lines, []struct {
			name string
			of   func(fanoutResult) float64
		}{
			{"relay CPU s/GB", func(r fanoutResult) float64 { return r.Relay.cpuPerGB() }},
			{"plain quic-go CPU s/GB", func(r fanoutResult) float64 { return r.Plain.cpuPerGB() }},
			{"ratio", func(r fanoutResult) float64 { return r.Relay.cpuPerGB() / r.Plain.cpuPerGB() }},
			{"plain quic-go delivered Mbit/s", func(r fanoutResult) float64 { return r.Plain.mbps() }},
			{"relay KB per subscriber", func(r fanoutResult) float64 { return float64(r.Relay.RSS-r.IdleRSS) / n / 1000 }},
			{"plain quic-go KB per subscriber", func(r fanoutResult) float64 { return float64(r.Plain.RSS-r.PlainRSS) / n / 1000 }},
		}...)
	}
	fmt.Fprintf(w, "| | |\n|---|---|\n")
	for _, line := range lines {
		fmt.Fprintf(w, "| %s | %s |\n", line.name, each(r.Fanout, line.of))
	}
}

func (r *result) printShaped(w io.Writer, f *flags) {
	if len(r.Shaped) == 0 {
		return
	}
	fmt.Fprintf(w, "The call over emulated paths with 40 ms of round trip, %s (median of %d rounds, least to most)\n\n| | |\n|---|---|\n", f.transport, len(r.Shaped))
	for _, line := range []struct {
		name string
		of   func(shapedResult) float64
	}{
		{"4 Mbit/s: audio delay p99, ms", func(r shapedResult) float64 { return r.AudioP99 }},
		{"the same, nothing else on the path", func(r shapedResult) float64 { return r.AudioEmptyP99 }},
		{"4 Mbit/s: small video delay p95, ms", func(r shapedResult) float64 { return r.LowP95 }},
		{"the same, nothing else on the path", func(r shapedResult) float64 { return r.LowEmptyP95 }},
		{"4 Mbit/s: groups of the better video given up", func(r shapedResult) float64 { return float64(r.MidGivenUp) }},
		{"and whole", func(r shapedResult) float64 { return float64(r.MidWhole) }},
		{"4 Mbit/s: bulk, Mbit/s", func(r shapedResult) float64 { return r.BulkMbps }},
		{"2 Mbit/s: audio delay p99 beyond the path, ms", func(r shapedResult) float64 { return r.SlowAudioBeyond }},
		{"2 Mbit/s: audio frames lost", func(r shapedResult) float64 { return float64(r.SlowAudioLost) }},
		{"2 Mbit/s: small video, frames per second", func(r shapedResult) float64 { return r.SlowLowFPS }},
		{"2 Mbit/s: groups of the better video given up", func(r shapedResult) float64 { return float64(r.SlowMidGivenUp) }},
		{"back on 10 Mbit/s: groups before the first whole one", func(r shapedResult) float64 { return float64(r.BackAfter) }},
	} {
		fmt.Fprintf(w, "| %s | %s |\n", line.name, each(r.Shaped, line.of))
	}
	fmt.Fprintln(w)
}

// values are the results of the rounds.
type values []float64

func each[R any](rounds []R, of func(R) float64) (v values) {
	for _, r := range rounds {
		v = append(v, of(r))
	}
	slices.Sort(v)
	return v
}

// String gives the median and the range.
func (v values) String() string {
	return fmt.Sprintf("%.4g (%.4g-%.4g)", v[len(v)/2], v[0], v[len(v)-1])
}

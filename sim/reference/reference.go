// Package reference holds what the reference implementation of C4 gives on the
// drafts' scenarios, and how far a simulation may be from it.
//
// The figures are from picoquic's simulator at its revision of August 2026, whose
// C4 is that of draft-04, with the tables of the drafts beside them. [Load] gives
// them; [Row.Compare] sets a simulated row beside one.
package reference

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"
)

//go:embed reference.tsv
var table string

//go:embed reference_ecnfix.tsv
var tableECN string

// Row is what the reference gives for a scenario and a controller. Times are in
// us; 0 means not known.
type Row struct {
	Scenario, CC string
	Runs         int

	TimeAvg, TimeP90         float64
	AvLatency, MaxLatencyP90 float64 // media

	RTTMean, RTTStd, RTTMax, RTTPlusStdP90 float64

	// Draft are the figures of the drafts' own tables.
	DraftTimeAvg, DraftTimeP90         float64
	DraftAvLatency, DraftMaxLatencyP90 float64
}

// Key names a row.
type Key struct{ Scenario, CC string }

// Load returns the rows by scenario and controller (c4, cubic, bbr). With
// ecnFixed they are those of a reference that marks packets as each controller
// wants; only scenarios with the AQM are in it.
func Load(ecnFixed bool) (map[Key]*Row, error) {
	text := table
	if ecnFixed {
		text = tableECN
	}
	rows := map[Key]*Row{}
	for n, line := range strings.Split(strings.TrimSpace(text), "\n") {
		f := strings.Split(line, "\t")
		if len(f) != 12 {
			return nil, fmt.Errorf("reference line %d has %d fields", n+1, len(f))
		}
		if n == 0 {
			continue
		}
		v := make([]float64, 12)
		for i := 2; i < 12; i++ {
			if i == 5 || f[i] == "" {
				continue
			}
			x, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				return nil, fmt.Errorf("reference line %d: %w", n+1, err)
			}
			v[i] = x
		}
		k := Key{f[0], f[1]}
		r := rows[k]
		if r == nil {
			r = &Row{Scenario: k.Scenario, CC: k.CC}
			rows[k] = r
		}
		r.Runs = int(v[2])
		if f[5] == "time" {
			r.TimeAvg, r.TimeP90, r.DraftTimeAvg, r.DraftTimeP90 = v[3], v[4], v[6], v[7]
		} else {
			r.AvLatency, r.MaxLatencyP90, r.DraftAvLatency, r.DraftMaxLatencyP90 = v[3], v[4], v[6], v[7]
		}
		r.RTTMean, r.RTTStd, r.RTTMax, r.RTTPlusStdP90 = v[8], v[9], v[10], v[11]
	}
	return rows, nil
}

// Tolerance says how far a row may be from the reference, as fractions.
type Tolerance struct{ Time, RTT, AvLatency, MaxLatency float64 }

// ToleranceOf returns the tolerance of a scenario, by its group, and controller.
func ToleranceOf(name, group, cc string) Tolerance {
	const chaotic, others = 0.04, 0.08
	switch {
	case cc != "c4":
		return Tolerance{others, others, others, others}
	case group == "competition", group == "wifi", strings.HasPrefix(name, "media_w"),
		strings.Contains(name, "ecn_"), strings.HasPrefix(name, "bbloat_"):
		return Tolerance{chaotic, chaotic, chaotic, chaotic}
	}
	return Tolerance{Time: 0.01, RTT: 0.03, AvLatency: 0.005, MaxLatency: 0.01}
}

// Deviation is how far a figure is from the reference's.
type Deviation struct {
	What      string
	Got, Want float64
	Fraction  float64 // (Got - Want) / Want
	Outside   bool    // of the tolerance
}

// Measured are the figures of a simulated row, in us.
type Measured struct{ TimeAvg, RTTMean, AvLatency, MaxLatencyP90 float64 }

// Compare returns the deviations in time, round trip and, for media, latencies.
func (r *Row) Compare(m Measured, tol Tolerance) []Deviation {
	var out []Deviation
	add := func(what string, got, want, tol float64) {
		if want == 0 {
			return
		}
		d := Deviation{What: what, Got: got, Want: want, Fraction: (got - want) / want}
		d.Outside = math.Abs(d.Fraction) > tol
		out = append(out, d)
	}
	add("time", m.TimeAvg, r.TimeAvg, tol.Time)
	add("mean RTT", m.RTTMean, r.RTTMean, tol.RTT)
	add("average latency", m.AvLatency, r.AvLatency, tol.AvLatency)
	add("maximum latency", m.MaxLatencyP90, r.MaxLatencyP90, tol.MaxLatency)
	return out
}

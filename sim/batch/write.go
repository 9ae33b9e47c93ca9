package batch

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// columns of the TSV and of the table.
var columns = []struct {
	name string
	tsv  func(*Row) string
	// of the table: heading and shorter value
	head  string
	table func(*Row) string
}{
	{"scenario", func(r *Row) string { return r.Scenario.Name }, "scenario", nil},
	{"cc", func(r *Row) string { return r.CC }, "cc", nil},
	{"runs", func(r *Row) string { return fmt.Sprint(len(r.Results)) }, "runs", nil},
	{"time_avg_us", whole(func(r *Row) float64 { return r.TimeAvg }), "time s", seconds(func(r *Row) float64 { return r.TimeAvg })},
	{"time_p90_us", whole(func(r *Row) float64 { return r.TimeP90 }), "p90 s", seconds(func(r *Row) float64 { return r.TimeP90 })},
	{"av_latency_us", whole(func(r *Row) float64 { return r.AvLatency }), "latency ms", millis(func(r *Row) float64 { return r.AvLatency })},
	{"max_latency_p90_us", whole(func(r *Row) float64 { return r.MaxLatencyP90 }), "max p90 ms", millis(func(r *Row) float64 { return r.MaxLatencyP90 })},
	{"rtt_mean_us", whole(func(r *Row) float64 { return r.RTTMean }), "rtt ms", millis(func(r *Row) float64 { return r.RTTMean })},
	{"rtt_std_us", whole(func(r *Row) float64 { return r.RTTStd }), "std ms", millis(func(r *Row) float64 { return r.RTTStd })},
	{"load_share", func(r *Row) string { return fmt.Sprintf("%.4f", r.LoadShare) }, "load", nil},
	{"drops", func(r *Row) string { return fmt.Sprintf("%.1f", r.Drops) }, "drops", nil},
}

func whole(get func(*Row) float64) func(*Row) string {
	return func(r *Row) string { return fmt.Sprintf("%.0f", get(r)) }
}

func seconds(get func(*Row) float64) func(*Row) string {
	return func(r *Row) string { return fmt.Sprintf("%.3f", get(r)/1e6) }
}

func millis(get func(*Row) float64) func(*Row) string {
	return func(r *Row) string {
		if v := get(r); v > 0 {
			return fmt.Sprintf("%.1f", v/1e3)
		}
		return "-"
	}
}

// WriteTSV writes a header and a line for each row. Latencies are 0 without
// media.
func WriteTSV(w io.Writer, rows []Row) error {
	out := bufio.NewWriter(w)
	for i, c := range columns {
		if i > 0 {
			out.WriteByte('\t')
		}
		out.WriteString(c.name)
	}
	out.WriteByte('\n')
	for i := range rows {
		for j, c := range columns {
			if j > 0 {
				out.WriteByte('\t')
			}
			out.WriteString(c.tsv(&rows[i]))
		}
		out.WriteByte('\n')
	}
	return out.Flush()
}

// WriteTable writes the rows for people to read.
func WriteTable(w io.Writer, rows []Row) error {
	cells := make([][]string, 0, len(rows)+1)
	var head []string
	for _, c := range columns {
		head = append(head, c.head)
	}
	cells = append(cells, head)
	for i := range rows {
		var line []string
		for _, c := range columns {
			f := c.table
			if f == nil {
				f = c.tsv
			}
			line = append(line, f(&rows[i]))
		}
		cells = append(cells, line)
	}
	width := make([]int, len(columns))
	for _, line := range cells {
		for i, s := range line {
			width[i] = max(width[i], len(s))
		}
	}
	out := bufio.NewWriter(w)
	for _, line := range cells {
		var text strings.Builder
		for i, s := range line {
			if i < 2 { // names to the left, numbers to the right
				text.WriteString(fmt.Sprintf("%-*s  ", width[i], s))
			} else {
				text.WriteString(fmt.Sprintf("%*s  ", width[i], s))
			}
		}
		out.WriteString(strings.TrimRight(text.String(), " "))
		out.WriteByte('\n')
	}
	return out.Flush()
}

// jsonRow is a row as JSON. Times are in us.
type jsonRow struct {
	Scenario      string     `json:"scenario"`
	CC            string     `json:"cc"`
	Runs          int        `json:"runs"`
	Unfinished    int        `json:"unfinished"`
	TimeAvg       float64    `json:"time_avg_us"`
	TimeP90       float64    `json:"time_p90_us"`
	AvLatency     float64    `json:"av_latency_us"`
	MaxLatencyP90 float64    `json:"max_latency_p90_us"`
	RTTMean       float64    `json:"rtt_mean_us"`
	RTTStd        float64    `json:"rtt_std_us"`
	RTTPlusStdP90 float64    `json:"rtt_plus_std_p90_us"`
	RTTMax        float64    `json:"rtt_max_us"`
	LoadShare     float64    `json:"load_share"`
	Jain          float64    `json:"jain"`
	Drops         float64    `json:"drops"`
	Results       []jsonRuns `json:"results"`
}

type jsonRuns struct {
	Seed       uint64  `json:"seed"`
	Time       float64 `json:"time_us"`
	AvLatency  float64 `json:"av_latency_us"`
	MaxLatency float64 `json:"max_latency_us"`
	RTTMean    float64 `json:"rtt_mean_us"`
	RTTStd     float64 `json:"rtt_std_us"`
	Drops      int     `json:"drops"`
}

// WriteJSON writes an array of the rows, each with its runs.
func WriteJSON(w io.Writer, rows []Row) error {
	out := make([]jsonRow, 0, len(rows))
	for i := range rows {
		r := &rows[i]
		j := jsonRow{
			Scenario: r.Scenario.Name, CC: r.CC, Runs: len(r.Results), Unfinished: r.Unfinished,
			TimeAvg: r.TimeAvg, TimeP90: r.TimeP90, AvLatency: r.AvLatency, MaxLatencyP90: r.MaxLatencyP90,
			RTTMean: r.RTTMean, RTTStd: r.RTTStd, RTTPlusStdP90: r.RTTPlusStdP90, RTTMax: r.RTTMax,
			LoadShare: r.LoadShare, Jain: r.Jain, Drops: r.Drops,
		}
		for _, x := range r.Results {
			j.Results = append(j.Results, jsonRuns{x.Seed, x.Time, x.AvLatency, x.MaxLatency, x.RTTMean, x.RTTStd, x.Drops})
		}
		out = append(out, j)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(out)
}

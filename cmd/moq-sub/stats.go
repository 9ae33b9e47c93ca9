package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/priority"
)

// trackStats counts what came of one track. It is safe for use by several goroutines.
type trackStats struct {
	name string
	kind media.Kind

	mu       sync.Mutex // guards what follows
	groups   uint64
	group    uint64 // of the newest object
	objects  uint64
	frames   uint64
	bytes    uint64
	delay    media.Delay
	lateness priority.Lateness
	late     uint64 // frames that came more than priority.LateAfter after their time
	lost     uint64 // objects or groups that never came, or after their turn
	cut      uint64 // groups that the sender abandoned
	givenUp  uint64 // groups that were given up here, as too late
	bad      uint64 // objects that could not be read

	shown uint64 // bytes when the table was last shown
}

func (s *trackStats) object(p media.Packet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == 0 || p.Group != s.group {
		s.groups++
		s.group = p.Group
	}
	s.objects++
	s.bytes += uint64(len(p.Payload))
}

func (s *trackStats) frame(f media.Frame, arrived time.Time) (delay, late time.Duration, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frames++
	late = s.lateness.OnFrame(time.Unix(0, 0).Add(f.PTSTime()), arrived)
	if late > priority.LateAfter {
		s.late++
	}
	if f.Capture.IsZero() {
		return 0, late, false
	}
	delay = arrived.Sub(f.Capture)
	s.delay.Observe(delay)
	return delay, late, true
}

func (s *trackStats) count(counter *uint64, n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*counter += n
}

// report is the statistics of one track as JSON.
type report struct {
	Track     string  `json:"track"`
	Kind      string  `json:"kind"`
	RateBPS   int64   `json:"rate_bps"`
	Groups    uint64  `json:"groups"`
	Objects   uint64  `json:"objects"`
	Frames    uint64  `json:"frames"`
	Bytes     uint64  `json:"bytes"`
	DelayMS   *delays `json:"delay_ms,omitempty"` // absent if no object had a capture time
	Negative  uint64  `json:"delay_negative"`     // frames that came before their capture: the clocks disagree
	Late      uint64  `json:"late"`
	Lost      uint64  `json:"lost"`
	Cut       uint64  `json:"cut_groups"`
	GivenUp   uint64  `json:"given_up_groups"`
	Malformed uint64  `json:"malformed"`
}

type delays struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

func (s *trackStats) report(elapsed time.Duration) report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := report{
		Track: s.name, Kind: s.kind.String(), Groups: s.groups, Objects: s.objects, Frames: s.frames, Bytes: s.bytes,
		RateBPS:  int64(float64(8*s.bytes) / max(elapsed.Seconds(), 1e-9)),
		Negative: s.delay.Negative(), Late: s.late, Lost: s.lost, Cut: s.cut, GivenUp: s.givenUp, Malformed: s.bad,
	}
	if s.delay.Count() > 0 {
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		r.DelayMS = &delays{ms(s.delay.Quantile(0.5)), ms(s.delay.Quantile(0.95)), ms(s.delay.Quantile(0.99)), ms(s.delay.Max())}
	}
	return r
}

// statistics holds those of all tracks, in the order in which they appeared.
type statistics struct {
	began time.Time

	mu     sync.Mutex
	tracks []*trackStats
}

// track returns the statistics of a track, new if need be.
func (s *statistics) track(name string, kind media.Kind) *trackStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tracks {
		if t.name == name {
			return t
		}
	}
	t := &trackStats{name: name, kind: kind}
	s.tracks = append(s.tracks, t)
	return t
}

func (s *statistics) all() []*trackStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tracks)
}

// writeJSON prints all statistics as one JSON object.
func (s *statistics) writeJSON(w io.Writer, now time.Time, how *spliced) error {
	elapsed := now.Sub(s.began)
	out := struct {
		Seconds float64  `json:"seconds"`
		Tracks  []report `json:"tracks"`
		Spliced *spliced `json:"simulcast,omitempty"`
	}{Spliced: how, Seconds: elapsed.Seconds(), Tracks: []report{}}
	for _, t := range s.all() {
		out.Tracks = append(out.Tracks, t.report(elapsed))
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

// writeTable prints a line per track; rates are those since the table before, which was period ago.
func (s *statistics) writeTable(w io.Writer, now time.Time, period time.Duration) {
	var b strings.Builder
	fmt.Fprintf(&b, "%6.0fs %-14s %9s %7s %8s | delay ms %6s %6s %6s %6s | %5s %5s %5s %8s\n",
		now.Sub(s.began).Seconds(), "track", "kbit/s", "groups", "objects", "p50", "p95", "p99", "max", "late", "lost", "cut", "given up")
	for _, t := range s.all() {
		r := t.report(now.Sub(s.began))
		t.mu.Lock()
		rate := float64(8*(t.bytes-t.shown)) / max(period.Seconds(), 1e-9) / 1000
		t.shown = t.bytes
		t.mu.Unlock()
		delay := fmt.Sprintf("%6s %6s %6s %6s", "-", "-", "-", "-")
		if d := r.DelayMS; d != nil {
			delay = fmt.Sprintf("%6.1f %6.1f %6.1f %6.1f", d.P50, d.P95, d.P99, d.Max)
		}
		fmt.Fprintf(&b, "%7s %-14s %9.0f %7d %8d | %8s %s | %5d %5d %5d %8d\n", "", r.Track, rate, r.Groups, r.Objects, "", delay, r.Late, r.Lost, r.Cut, r.GivenUp)
	}
	io.WriteString(w, b.String())
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/cmd/internal/frames"
	"github.com/moq-c4/moq-c4/internal/ops"
)

const statusHelp = `
moq-relay status shows what a running relay is doing.

  moq-relay status
      sessions, throughput, frame delay by stage, and the tracks
  moq-relay status --sessions
      and each session
  moq-relay status --json
      all of it as JSON
`

// statusTimeout bounds how long the relay may take to answer.
const statusTimeout = 5 * time.Second

// statusReport is what the command shows.
type statusReport struct {
	Status   statusAnswer    `json:"status"`
	Tracks   []trackAnswer   `json:"tracks"`
	Sessions []sessionAnswer `json:"sessions,omitempty"`
}

// runStatus is the command "moq-relay status".
func runStatus(ctx context.Context, env cli.Env) error {
	var addr string
	var asJSON, sessions bool
	fs := cli.NewFlags("moq-relay status", statusHelp, env.Stderr)
	fs.StringVar(&addr, "ops", ops.DefaultAddr, "`address` that the relay was given with --ops")
	fs.BoolVar(&sessions, "sessions", false, "list the sessions, too")
	fs.BoolVar(&asJSON, "json", false, "print JSON")
	args, err := cli.Parse(fs, env.Args)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		return cli.Usage("moq-relay status takes no arguments, but got %q", args[0])
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	var r statusReport
	if err := fetch(ctx, addr, "status", &r.Status); err != nil {
		return err
	}
	if err := fetch(ctx, addr, "tracks", &r); err != nil {
		return err
	}
	if sessions {
		if err := fetch(ctx, addr, "sessions", &r); err != nil {
			return err
		}
	}
	if asJSON {
		enc := json.NewEncoder(env.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	return r.print(env.Stdout, sessions)
}

// fetch reads one answer of the admin API.
func fetch(ctx context.Context, addr, what string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/api/v1/"+what, nil)
	if err != nil {
		return cli.Usage("--ops %s: %w", addr, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("no relay answers at %s: %w", addr, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("what answers at %s is no relay: %s", addr, resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("answer of %s: %w", addr, err)
	}
	return nil
}

// print writes the report for people.
func (r *statusReport) print(out io.Writer, sessions bool) error {
	s := &r.Status
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(what, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", what, fmt.Sprintf(format, args...)) }
	ready := "ready"
	if !s.Ready {
		ready = "not ready: " + s.Reason
	}
	line("moq-relay", "%s, up %s, %s", s.Version, s.Uptime, ready)
	line("sessions", "%d%s", s.Sessions, breakdown(s.ByKind))
	line("tracks", "%d, %d subscriptions, %d namespaces", s.Tracks, s.Subscriptions, s.Namespaces)
	line("throughput", "%.2f Mbit/s in, %.2f Mbit/s out", s.ReceivedBPS/1e6, s.SentBPS/1e6)
	line("cache", "%.1f of %.0f MiB", float64(s.Cache.Bytes)/(1<<20), float64(s.Cache.MaxBytes)/(1<<20))
	line("streams cut", "%s", counts(s.Counts.StreamsCut))
	line("requests refused", "%s", counts(s.Counts.RequestsRefused))
	fmt.Fprintf(w, "\nDELAY (ms)\tFRAMES\tP50\tP95\tP99\n")
	for stage := range frames.NumStages {
		if d, ok := s.Delays[stage.String()]; ok {
			fmt.Fprintf(w, "%s\t%d\t%.1f\t%.1f\t%.1f\n", stage, d.Count, d.P50, d.P95, d.P99)
		}
	}
	fmt.Fprintf(w, "\nTRACK\tKIND\tSUBSCRIBERS\tGROUP\tCACHE KiB\tINGEST P50/P99\tRELAY P50/P99\tDELIVERY P50/P99\n")
	for _, t := range r.Tracks {
		group := "-"
		if t.LargestGroup != nil {
			group = fmt.Sprint(*t.LargestGroup)
		}
		delay := func(stage frames.Stage) string {
			d, ok := t.Delays[stage.String()]
			if !ok {
				return "-"
			}
			return fmt.Sprintf("%.1f/%.1f", d.P50, d.P99)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%d\t%s\t%s\t%s\n", printable(t.Namespace+" / "+t.Track), t.Kind, t.Subscribers, group, t.CacheBytes>>10,
			delay(frames.Ingest), delay(frames.Relay), delay(frames.Delivery))
	}
	if sessions {
		fmt.Fprintf(w, "\nSESSION\tFROM\tTRANSPORT\tVERSION\tAGE\tBRINGS\tGETS\tDROPPED\n")
		for _, s := range r.Sessions {
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%d\t%d\t%d\n", s.ID, s.Remote, s.Transport, printable(s.Version), s.Age, s.Upstreams, s.Subscriptions, s.DatagramsDropped)
		}
	}
	return w.Flush()
}

// breakdown lists parts, the largest first.
func breakdown(parts map[string]int) string {
	if len(parts) == 0 {
		return ""
	}
	var list []string
	for name, n := range parts {
		list = append(list, fmt.Sprintf("%d %s", n, printable(name)))
	}
	slices.Sort(list)
	return " (" + strings.Join(list, ", ") + ")"
}

// counts lists what is not zero.
func counts(all map[string]uint64) string {
	var list []string
	for name, n := range all {
		if n > 0 {
			list = append(list, fmt.Sprintf("%s %d", name, n))
		}
	}
	if len(list) == 0 {
		return "none"
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// printable keeps names that peers have chosen from moving the terminal's cursor.
func printable(s string) string {
	q := fmt.Sprintf("%q", s)
	return q[1 : len(q)-1]
}

//go:build linux

package realstack

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	update = flag.Bool("update", false, "run everything and write docs/c4/real-stack.md")
	only   = flag.String("scenarios", "", "comma-separated scenarios instead of all, without writing")
	runs   = flag.Int("runs", 0, "runs of each, instead of what the page is made with")
)

const page = "../../docs/c4/real-stack.md"

// Marks of the page between which the tables are.
const (
	tableBegin = "<!-- tables, by go test ./sim/realstack -run TestTable -update -timeout 60m -->"
	tableEnd   = "<!-- end of tables -->"
)

type row struct {
	name      string
	runs      int
	real, sim map[string]*figures // by controller
}

// TestTable compares all scenarios, many runs of each, and writes the tables. It takes minutes.
func TestTable(t *testing.T) {
	if !*update && *only == "" {
		t.Skip("takes minutes; -update runs it")
	}
	var rows []row
	for _, c := range compared {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), c.name) {
			continue
		}
		if *runs > 0 {
			c.runs = *runs
		}
		sc := load(t, c.name)
		r := row{c.name, c.runs, make(map[string]*figures), make(map[string]*figures)}
		for _, controller := range []string{"c4", stock} {
			a, b := real(t, sc, controller, c.runs), simulated(t, sc, controller, max(c.runs, 20))
			r.real[controller], r.sim[controller] = &a, &b
			for _, w := range check(c.name, controller, &a, &b) {
				t.Error(w)
			}
		}
		rows = append(rows, r)
	}
	text := tables(rows)
	t.Log("\n" + text)
	if *only != "" {
		return
	}
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(old), tableBegin)
	_, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no marks for the tables", page)
	}
	if err := os.WriteFile(page, []byte(before+tableBegin+"\n\n"+text+"\n"+tableEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tables is the text between the marks.
func tables(rows []row) string {
	var b strings.Builder
	notes := make(map[string]int)
	note := func(name, controller, what string, a, z time.Duration, bound float64) string {
		d := deviation(a, z)
		text := fmt.Sprintf("%+.1f %%", 100*d)
		if d > bound || d < -bound {
			text = "**" + text + "**"
		}
		if why := exceptions[name+" "+controller+" "+what].why; why != "" && (d > bound || d < -bound) {
			if notes[why] == 0 {
				notes[why] = len(notes) + 1
			}
			text += fmt.Sprintf(" (%d)", notes[why])
		}
		return text
	}
	for _, controller := range []string{"c4", stock} {
		fmt.Fprintf(&b, "### `--cc %s`\n\n", controller)
		b.WriteString("| scenario | runs | time s, real / sim | | average delay ms, real / sim | | mean RTT ms, real / sim | | drops | marks |\n")
		b.WriteString("|---|---|---|---|---|---|---|---|---|---|\n")
		for _, r := range rows {
			a, z := r.real[controller], r.sim[controller]
			media, mediaD := "", ""
			if a.average > 0 {
				media = fmt.Sprintf("%s / %s", ms(a.average), ms(z.average))
				mediaD = note(r.name, controller, "average", a.average, z.average, boundAverage)
			}
			fmt.Fprintf(&b, "| %s | %d | %.3f / %.3f | %s | %s | %s | %s / %s | %s | %.0f / %.0f | %.0f / %.0f |\n",
				r.name, r.runs, a.time.Seconds(), z.time.Seconds(), note(r.name, controller, "time", a.time, z.time, boundTime),
				media, mediaD, ms(a.rtt), ms(z.rtt), note(r.name, controller, "rtt", a.rtt, z.rtt, boundRTT),
				a.drops, z.drops, a.marked, z.marked)
		}
		b.WriteString("\n")
	}
	b.WriteString("### What a viewer notices, real stack\n\n")
	b.WriteString("| scenario | audio average ms, c4 / stock | latest audio after 2 s | latest frame | groups of vmid given up |\n|---|---|---|---|---|\n")
	for _, r := range rows {
		if c, s := r.real["c4"], r.real[stock]; c.average > 0 {
			fmt.Fprintf(&b, "| %s | %s / %s | %s / %s | %s / %s | %.1f / %.1f |\n", r.name,
				ms(c.audio), ms(s.audio), ms(c.audioSteady), ms(s.audioSteady), ms(c.most), ms(s.most), c.cancelled, s.cancelled)
		}
	}
	if len(notes) > 0 {
		b.WriteString("\nWhy figures in bold differ:\n\n")
	}
	for _, why := range slices.SortedFunc(maps.Keys(notes), func(a, b string) int { return notes[a] - notes[b] }) {
		fmt.Fprintf(&b, "%d. %s\n", notes[why], reasons[why])
	}
	return b.String()
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()*1e3) }

// TestExceptions checks that every exception has a reason, and is about a scenario that is compared.
func TestExceptions(t *testing.T) {
	for key, e := range exceptions {
		f := strings.Fields(key)
		known := len(f) == 3 && slices.ContainsFunc(compared, func(c struct {
			name string
			runs int
		},
		) bool {
			return c.name == f[0]
		})
		if !known || e.bound == 0 || reasons[e.why] == "" {
			t.Errorf("exception %q: %+v", key, e)
		}
	}
}

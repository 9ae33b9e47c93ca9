package c4

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

var update = flag.Bool("update", false, "rewrite testdata/*.txt from the present behaviour")

// TestTranscripts plays testdata/*.txt, one or more for each state: lines that
// are neither empty nor start with # or > are commands, and the lines with > that
// follow a command are what it leads to. See testdata/README.md.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 6 {
		t.Fatalf("transcripts %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := playTranscript(t, want)
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			w, g := bytes.Split(want, []byte("\n")), bytes.Split(got, []byte("\n"))
			for i := range max(len(w), len(g)) {
				switch {
				case i >= len(w):
					t.Fatalf("line %d: got %q after the end", i+1, g[i])
				case i >= len(g):
					t.Fatalf("line %d: got nothing, want %q", i+1, w[i])
				case !bytes.Equal(w[i], g[i]):
					t.Fatalf("line %d:\ngot  %s\nwant %s", i+1, g[i], w[i])
				}
			}
		})
	}
}

// playTranscript returns the transcript with the results as they are now.
func playTranscript(t *testing.T, text []byte) []byte {
	var out bytes.Buffer
	d := newC4Test(t, Config{})
	lines := bufio.NewScanner(bytes.NewReader(text))
	for number := 1; lines.Scan(); number++ {
		line := lines.Text()
		if strings.HasPrefix(line, ">") {
			continue
		}
		fmt.Fprintln(&out, line)
		command := strings.Fields(line)
		if len(command) == 0 || command[0] == "#" {
			continue
		}
		if err := play(&d, command[0], command[1:]); err != nil {
			t.Fatalf("line %d: %v", number, err)
		}
		switch command[0] {
		case "new", "rtt", "advance", "send": // nothing to see yet
		default:
			result(&out, d)
		}
	}
	return out.Bytes()
}

// play carries out one command.
func play(d **c4Test, name string, words []string) error {
	t := *d
	var a acked
	n, m, rate := int64(0), int64(0), cc.Rate(0)
	duration := time.Duration(0)
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		v, _ := strconv.ParseInt(strings.ReplaceAll(value, ",", ""), 10, 64)
		switch key {
		case "rate":
			a.rate = cc.Rate(v)
			rate = a.rate
		case "full": // the path was the limit
			a.since = 1 << 40
		case "peak":
			a.peak = cc.Rate(v)
		case "inflight":
			a.inFlight = v
		case "ce", "window":
			n = v
		case "ect1":
			m = v
		case "n":
			n = v
		case "more":
			rate = cc.Rate(v)
		default:
			var err error
			if duration, err = time.ParseDuration(key); err != nil {
				if _, err := Named(key); err != nil || name != "new" {
					return fmt.Errorf("%s: unknown word %q", name, word)
				}
			}
		}
	}
	switch name {
	case "new":
		cfg := Default()
		for _, word := range words {
			if c, err := Named(word); err == nil {
				cfg = c
			}
		}
		*d = newC4Test(t.T, cfg)
	case "rtt":
		t.rtt = duration
	case "advance":
		t.advance(duration)
	case "send":
		t.send(int(n))
	case "sample":
		t.sampleOf(duration)
	case "ack":
		a.lowest = t.next - 1
		t.ack(a)
	case "round":
		t.roundWith(a)
	case "lose":
		t.loseMany(int(n))
	case "pto":
		t.c.OnPTO(t.now, 1)
	case "mark":
		t.mark(n, m)
	case "dry":
		t.c.OnAppLimited(t.now)
	case "seed":
		t.c.OnSeed(t.now, cc.Seed{Window: n, RTT: duration})
	case "cruise":
		t.throughInitial(a.rate)
		t.cruise(a.rate)
	case "probe":
		t.probe(a.rate)
	case "push":
		t.push(a.rate, rate)
	default:
		return fmt.Errorf("unknown command %q", name)
	}
	return nil
}

// result writes events, state, control, and the variables that matter.
func result(out *bytes.Buffer, t *c4Test) {
	for _, e := range t.c.Events(nil) {
		switch e.Kind {
		case cc.EventState:
			fmt.Fprintf(out, "> * %s to %s: %s\n", e.From, e.To, e.Cause)
		default:
			fmt.Fprintf(out, "> * %s: %s, nominal rate %d to %d\n", e.Kind, e.Cause, e.Rate, e.NewRate)
		}
	}
	v := map[string]string{}
	for _, x := range t.c.Vars(nil) {
		v[x.Name] = strconv.FormatFloat(x.Value, 'f', -1, 64)
	}
	c := t.c.Control()
	fmt.Fprintf(out, "> %v %s: pacing %d, window %d, quantum %d\n", t.now, t.c.State(), c.PacingRate, c.Window, c.Quantum)
	fmt.Fprintf(out, ">   rate %s, recent %s; max %s, min %s, threshold %s, excess %s us\n",
		v["nominal_rate"], v["recent_max_rate"], v["nominal_max_rtt"], v["running_min_rtt"], v["delay_threshold"], v["delay_excess"])
	fmt.Fprintf(out, ">   alpha %s after %s, level %s, backlog %s, loss %.6s, ecn %s, congestions %s",
		v["alpha_current"], v["alpha_previous"], v["probe_level"], v["backlog"], v["smoothed_loss_rate"], v["ecn_alpha"], v["recent_congestions"])
	if t.c.state == Initial {
		fmt.Fprintf(out, ", initial_cwnd %s, no increase for %s", v["initial_cwnd"], v["nb_eras_no_increase"])
	}
	fmt.Fprintln(out)
}

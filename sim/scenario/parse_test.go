package scenario

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var known = []string{"c4", "c4-draft04", "c4-draft05", "cubic", "bbr", "reno"}

const good = `# comment
about  A short text.
group  test

link for=2.5s rate=5Mbit/s up=1Mbit/s delay=50ms queue=80ms
link rate=10Mbit/s jitter=7ms   # the rest as before
aqm dualq l4s_max=15ms

flow main media start=100ms
audio a1 rate=50 size=80B frames=250 priority=2
video v rate=30 size=3750B key=37500B group=30 frames=150 priority=4 cancel=250ms unmeasured
flow other size=10MB cc=cubic start=1s delay=20ms seed_window=15kB seed_rtt=80ms
cross up rate=5Mbit/s
measure from=200ms
stop at=10s
pass c4,cubic time_p90<=4.5s
pass c4 load_share>=0.9
`

func TestParse(t *testing.T) {
	sc, err := Parse("x.txt", "x", strings.NewReader(good), known)
	if err != nil {
		t.Fatal(err)
	}
	if sc.Name != "x" || sc.About != "A short text." || sc.Group != "test" {
		t.Errorf("head %q %q %q", sc.Name, sc.About, sc.Group)
	}
	if len(sc.Phases) != 2 || sc.Phases[0].For != 2500*time.Millisecond || sc.Phases[1].For != 0 {
		t.Fatalf("phases %+v", sc.Phases)
	}
	if p := sc.Phases[0]; p.Down.Rate != 5e6 || p.Up.Rate != 1e6 || p.Up.Delay != 50*time.Millisecond {
		t.Errorf("first phase %+v", p)
	}
	if p := sc.Phases[1]; p.Down.Rate != 10e6 || p.Up.Rate != 10e6 || p.Down.Queue != 80*time.Millisecond || p.Up.Jitter != 7*time.Millisecond {
		t.Errorf("second phase %+v", p)
	}
	if !sc.DualQ || sc.L4SMax != 15*time.Millisecond || sc.MeasureFrom != 200*time.Millisecond || sc.StopAt != 10*time.Second {
		t.Errorf("aqm %v %v, measure %v, stop %v", sc.DualQ, sc.L4SMax, sc.MeasureFrom, sc.StopAt)
	}
	if f := sc.Flows[0]; len(f.Sources) != 2 || f.Size != 0 || f.Start != 100*time.Millisecond {
		t.Errorf("main flow %+v", f)
	}
	if s := sc.Flows[0].Sources[1]; s.Datagrams || s.Key != 37500 || s.Cancel != 250*time.Millisecond || s.Measured || s.Groups() != 5 {
		t.Errorf("video %+v", s)
	}
	if f := sc.Flows[1]; f.CC != "cubic" || f.Size != 10e6 || f.Delay != 20*time.Millisecond || f.SeedWindow != 15000 {
		t.Errorf("other flow %+v", f)
	}
	if len(sc.Cross) != 1 || !sc.Cross[0].Up || sc.Cross[0].Size != 1250 {
		t.Errorf("cross %+v", sc.Cross)
	}
	if b := sc.Bounds[0]; b.Metric != TimeP90 || b.Value != 4.5e6 || !b.For("cubic") || b.For("bbr") || !b.Holds(4.5e6) || b.Holds(4.6e6) {
		t.Errorf("bound %+v", b)
	}
	if b := sc.Bounds[1]; !b.AtLeast || !b.Holds(0.95) || b.Holds(0.85) {
		t.Errorf("bound %+v", b)
	}
}

// What the drafts call the capacity of a link that changes.
func TestCapacity(t *testing.T) {
	sc, err := Parse("x", "x", strings.NewReader("link for=1800ms rate=20Mbit/s delay=5ms\nlink for=200ms rate=0\nflow m size=1MB\n"), known)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := sc.Capacity(4*time.Second), 2*1.8*20e6/8; got != want {
		t.Errorf("capacity %v, want %v", got, want)
	}
}

// Each bad file is refused with the line and a reason. The files say in their
// first line what is expected.
func TestBadFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatal("no bad files", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		want := strings.TrimPrefix(first, "# want: ")
		name := filepath.Base(f)
		_, err = Parse(name, "x", strings.NewReader(string(text)), known)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: error %v, want a *Error", name, err)
			continue
		}
		if got := strings.TrimPrefix(e.Error(), name); got != want {
			t.Errorf("%s: error\n%s, want\n%s", name, got, want)
		}
	}
}

func TestBuiltin(t *testing.T) {
	// 42 of the drafts, and wifi_bad with the queue that they used for bbr and
	// cubic
	if n := len(Names()); n != 43 {
		t.Errorf("%d built-in scenarios", n)
	}
	all, err := All(known)
	if err != nil {
		t.Fatal(err)
	}
	for _, sc := range all {
		if sc.About == "" || !slices.Contains(groupOrder, sc.Group) || len(sc.Bounds) == 0 {
			t.Errorf("%s: about %q, group %q, %d bounds", sc.Name, sc.About, sc.Group, len(sc.Bounds))
		}
	}
	if _, err := Builtin("nothing", known); err == nil {
		t.Error("an unknown name gives no error")
	}
	// the sources of the files are those of Call
	sc, err := Builtin("media", known)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(sc.Flows[0].Sources, Call(150, 250)) {
		t.Errorf("sources %+v", sc.Flows[0].Sources)
	}
}

func TestOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.txt")
	if err := os.WriteFile(file, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	if sc, err := Open(file, known); err != nil || sc.Name != "mine" {
		t.Errorf("file: %v", err)
	}
	if sc, err := Open("alone", known); err != nil || sc.Name != "alone" {
		t.Errorf("name: %v", err)
	}
	if _, err := Open("nothing", known); err == nil || !strings.Contains(err.Error(), "neither") {
		t.Errorf("unknown name: %v", err)
	}
}

// The format's description names every word that a file may have, and the text
// of it is free of comment marks.
func TestFormat(t *testing.T) {
	text := Format()
	for _, w := range []string{"about", "group", "link", "aqm", "flow", "audio", "video", "cross", "measure", "stop", "pass"} {
		if !strings.Contains(text, "\n"+w+" ") {
			t.Errorf("no %q in the description", w)
		}
	}
	if strings.Contains(text, "//") || strings.Contains(text, "package") {
		t.Errorf("description:\n%s", text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(good)
	for _, n := range Names() {
		text, err := builtin.ReadFile("builtin/" + n + ".txt")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		sc, err := Parse("f", "f", strings.NewReader(text), known)
		if err != nil {
			return
		}
		if len(sc.Phases) == 0 || len(sc.Flows) == 0 || sc.Phases[0].Down.Rate <= 0 {
			t.Errorf("accepted %+v", sc)
		}
		sc.Capacity(time.Minute)
	})
}

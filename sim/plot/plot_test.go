package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/sim"
	"github.com/moq-c4/moq-c4/sim/scenario"
)

// draw renders a figure and checks that it is well-formed XML.
func draw(t *testing.T, f *Figure) string {
	t.Helper()
	var b bytes.Buffer
	if n, err := f.WriteTo(&b); err != nil || n != int64(b.Len()) {
		t.Fatalf("wrote %d of %d bytes: %v", n, b.Len(), err)
	}
	d := xml.NewDecoder(bytes.NewReader(b.Bytes()))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
		t.Error("the drawing has coordinates that are no numbers")
	}
	return b.String()
}

func TestRunFigure(t *testing.T) {
	for _, n := range []string{"media_ws", "low_and_up"} {
		for _, cc := range []string{"c4", "bbr"} {
			sc, err := scenario.Builtin(n, sim.Controllers())
			if err != nil {
				t.Fatal(err)
			}
			text := func() string {
				var s sim.Sim
				var r Recorder
				if _, err := s.Run(sc, sim.Options{CC: cc, Tracer: &r}); err != nil {
					t.Fatal(err)
				}
				return draw(t, r.Figure("a <title>", sc))
			}
			svg := text()
			if svg != text() {
				t.Errorf("%s %s: two drawings of the same run differ", n, cc)
			}
			for _, want := range []string{"a &lt;title&gt;", "pacing", "smoothed", "in flight"} {
				if !strings.Contains(svg, want) {
					t.Errorf("%s %s: no %q in the drawing", n, cc, want)
				}
			}
			if cc == "c4" && !strings.Contains(svg, "cruising") {
				t.Errorf("%s: no states in the drawing", n)
			}
			if n == "media_ws" && !strings.Contains(svg, "vlow") {
				t.Error("no frame delays in the drawing")
			}
		}
	}
}

func TestEmptyFigure(t *testing.T) {
	f := &Figure{Title: "nothing"}
	f.Add(&Panel{Title: "no data"})
	f.Add(Distribution("one", "ms", []string{"a"}, [][]float64{{5}}))
	draw(t, f)
}

func TestHeatMap(t *testing.T) {
	f := &Figure{Title: "map"}
	f.AddHeatMap(&HeatMap{
		Title: "Jain", Rows: []string{"c4", "bbr"}, Cols: []string{"0", "400"},
		Values: [][]float64{{1, 0.5}, {math.NaN(), 0.75}}, Low: 0.5, High: 1, Format: "%.2f", HighIsBetter: true,
	})
	svg := draw(t, f)
	for _, want := range []string{">1.00<", ">0.50<", ">0.75<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in the map", want)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, tt := range []struct{ lo, hi, top float64 }{{0, 1, 1}, {0, 7.3, 8}, {0, 0.13, 0.14}, {50, 210, 210}, {-1, 1, 1}} {
		got, top := ticks(tt.lo, tt.hi, 5)
		if len(got) < 2 || len(got) > 12 || got[0] < tt.lo-1e-9 || top < tt.hi-1e-9 {
			t.Errorf("%v to %v: ticks %v, top %v", tt.lo, tt.hi, got, top)
		}
	}
}

// A trace keeps its length bounded and its order.
func TestTraceLimit(t *testing.T) {
	var tr trace
	for i := range 100_000 {
		tr.add(float64(i), 0)
	}
	if n := len(tr.xs); n >= traceLimit || n < traceLimit/4 {
		t.Errorf("%d points", n)
	}
	for i := 1; i < len(tr.xs); i++ {
		if tr.xs[i] <= tr.xs[i-1] {
			t.Fatal("out of order")
		}
	}
}

// A part of a run has only what happened in it, in the state that it began in.
func TestPartOfRun(t *testing.T) {
	sc, err := scenario.Builtin("low_and_up", sim.Controllers())
	if err != nil {
		t.Fatal(err)
	}
	r := Recorder{From: 2300 * time.Millisecond, To: 4 * time.Second}
	var s sim.Sim
	if _, err := s.Run(sc, sim.Options{CC: "c4", Tracer: &r}); err != nil {
		t.Fatal(err)
	}
	for _, tr := range []*trace{&r.rtt, &r.inFlight, &r.delivered} {
		if n := len(tr.xs); n < 100 || tr.xs[0] < 2.3 || tr.xs[0] > 2.32 || tr.xs[n-1] > 4 || tr.xs[n-1] < 3.98 {
			t.Errorf("%d points from %v to %v", n, tr.xs[0], tr.xs[n-1])
		}
	}
	if len(r.states) < 3 || r.states[0].at != 2.3 {
		t.Errorf("states %v", r.states)
	}
	xs, ys := capacity(sc, 2.3, 4)
	if len(xs) != 3 || xs[0] != 2.3 || xs[1] != 2.5 || xs[2] != 4 || ys[0] != 5 || ys[1] != 10 {
		t.Errorf("capacity %v at %v", ys, xs)
	}
	// 5 Mbit/s, then 10: the curve of what was delivered has no teeth.
	xs, ys = r.throughput(2.3, 4)
	for i, y := range ys {
		if i > 0 && (y < 4 || y > 10.1) {
			t.Errorf("%v Mbit/s delivered at %v s", y, xs[i])
		}
	}
}

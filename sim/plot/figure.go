package plot

import (
	"fmt"
	"io"
	"math"
	"strconv"
)

// Measures of a figure in pixels.
const (
	figureWidth  = 900
	panelHeight  = 150
	marginLeft   = 62
	marginRight  = 16
	marginTop    = 34
	panelHead    = 20
	panelFoot    = 26
	legendMargin = 12
)

const (
	grey   = "#666666"
	faint  = "#e6e6e6"
	black  = "#222222"
	blue   = "#1f77b4"
	orange = "#ff7f0e"
	green  = "#2ca02c"
	red    = "#d62728"
	purple = "#9467bd"
	brown  = "#8c564b"
)

// palette colours series that have no colour of their own.
var palette = []string{blue, orange, green, red, purple, brown, "#e377c2", "#7f7f7f"}

// Figure is a stack of panels.
type Figure struct {
	Title  string
	panels []drawer
}

// drawer draws itself at a height and returns how much it used.
type drawer interface {
	draw(c *canvas, y float64) float64
	height() float64
}

// Panel is a diagram with axes.
type Panel struct {
	Title  string
	XLabel string
	// YMin and YMax extend the y axis, which else fits the data and 0.
	YMin, YMax float64
	// XMin and XMax extend the x axis, which else fits the data.
	XMin, XMax float64

	series []series
	bands  []band
	hints  []hint
}

type kind uint8

const (
	lines kind = iota
	steps
	dots
)

type series struct {
	name, color string
	kind        kind
	xs, ys      []float64
}

type band struct {
	from, to    float64
	color, name string
}

// hint is a vertical mark at the foot of the panel.
type hint struct {
	color string
	xs    []float64
	name  string
}

// Add adds a panel at the bottom.
func (f *Figure) Add(p *Panel) { f.panels = append(f.panels, p) }

// Line adds a line through points.
func (p *Panel) Line(name, color string, xs, ys []float64) {
	p.series = append(p.series, series{name, color, lines, xs, ys})
}

// Steps adds a line that keeps each value until the next point.
func (p *Panel) Steps(name, color string, xs, ys []float64) {
	p.series = append(p.series, series{name, color, steps, xs, ys})
}

// Dots adds points.
func (p *Panel) Dots(name, color string, xs, ys []float64) {
	p.series = append(p.series, series{name, color, dots, xs, ys})
}

// WriteTo writes the SVG.
func (f *Figure) WriteTo(w io.Writer) (int64, error) {
	height := float64(marginTop)
	for _, p := range f.panels {
		height += p.height()
	}
	var c canvas
	c.begin(figureWidth, height)
	c.heading(marginLeft, 20, f.Title)
	y := float64(marginTop)
	for _, p := range f.panels {
		y += p.draw(&c, y)
	}
	c.end()
	n, err := w.Write(c.Bytes())
	return int64(n), err
}

func (p *Panel) height() float64 { return panelHead + panelHeight + panelFoot }

// scale maps data to pixels.
type scale struct{ lo, hi, from, to float64 }

func (s scale) at(v float64) float64 {
	return s.from + (v-s.lo)/(s.hi-s.lo)*(s.to-s.from)
}

func (p *Panel) ranges() (x0, x1, y0, y1 float64) {
	x0, x1, y0, y1 = math.Inf(1), math.Inf(-1), p.YMin, p.YMax
	for _, s := range p.series {
		for i := range s.xs {
			x0, x1 = min(x0, s.xs[i]), max(x1, s.xs[i])
			y0, y1 = min(y0, s.ys[i]), max(y1, s.ys[i])
		}
	}
	if p.XMax > p.XMin {
		x0, x1 = min(x0, p.XMin), max(x1, p.XMax)
	}
	if x0 >= x1 {
		if math.IsInf(x0, 0) {
			x0 = 0
		}
		x1 = x0 + 1
	}
	if y0 >= y1 {
		y1 = y0 + 1
	}
	return x0, x1, y0, y1
}

func (p *Panel) draw(c *canvas, top float64) float64 {
	x0, x1, y0, y1 := p.ranges()
	yTicks, y1 := ticks(y0, y1, 5)
	left, right := float64(marginLeft), float64(figureWidth-marginRight)
	upper, lower := top+panelHead, top+panelHead+panelHeight
	x := scale{x0, x1, left, right}
	y := scale{y0, y1, lower, upper}

	for _, b := range p.bands {
		c.rect(x.at(b.from), upper, max(0.3, x.at(b.to)-x.at(b.from)), panelHeight, b.color, b.name)
	}
	for _, v := range yTicks {
		c.line(left, y.at(v), right, y.at(v), faint)
		c.text(left-6, y.at(v)+4, "end", grey, label(v))
	}
	xTicks, _ := ticks(x0, x1, 10)
	for _, v := range xTicks {
		if v < x0 || v > x1 {
			continue
		}
		c.line(x.at(v), lower, x.at(v), lower+4, grey)
		c.text(x.at(v), lower+15, "middle", grey, label(v))
	}
	c.line(left, lower, right, lower, grey)
	c.line(left, upper, left, lower, grey)
	c.text(left, top+14, "start", black, p.Title)
	if p.XLabel != "" {
		c.text(right, lower+25, "end", grey, p.XLabel)
	}
	for _, h := range p.hints {
		for _, v := range h.xs {
			c.line(x.at(v), lower-6, x.at(v), lower, h.color)
		}
	}
	for _, s := range p.series {
		s.draw(c, x, y)
	}
	p.legend(c, right, top+14)
	return p.height()
}

func (s *series) draw(c *canvas, x, y scale) {
	var xs, ys []float64
	for i := range s.xs {
		px, py := x.at(s.xs[i]), y.at(s.ys[i])
		if s.kind == steps && i > 0 {
			xs, ys = append(xs, px), append(ys, ys[len(ys)-1])
		}
		xs, ys = append(xs, px), append(ys, py)
	}
	switch {
	case len(xs) == 0:
	case s.kind == dots:
		c.dots(xs, ys, s.color)
	default:
		c.path(xs, ys, s.color, 1.2)
	}
}

// legend names the series and the bands from the right.
func (p *Panel) legend(c *canvas, right, y float64) {
	type entry struct{ name, color string }
	var entries []entry
	for _, s := range p.series {
		if s.name != "" {
			entries = append(entries, entry{s.name, s.color})
		}
	}
	for _, h := range p.hints {
		if len(h.xs) > 0 {
			entries = append(entries, entry{h.name, h.color})
		}
	}
	seen := map[string]bool{}
	for _, b := range p.bands {
		if b.name != "" && !seen[b.name] {
			seen[b.name] = true
			entries = append(entries, entry{b.name, b.color})
		}
	}
	const perLetter = 6.1
	x := right
	for i := len(entries) - 1; i >= 0; i-- {
		x -= perLetter * float64(len(entries[i].name))
		c.text(x, y, "start", black, entries[i].name)
		c.rect(x-14, y-8, 10, 8, entries[i].color, "")
		x -= 14 + legendMargin
	}
}

// ticks returns about n round values from lo to hi, and the last of them if it
// is above hi.
func ticks(lo, hi float64, n int) ([]float64, float64) {
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/float64(n))))
	for _, f := range []float64{1, 2, 5, 10} {
		if (hi-lo)/(step*f) <= float64(n) {
			step *= f
			break
		}
	}
	var t []float64
	first := math.Ceil(lo/step - 1e-9)
	for i := 0.0; ; i++ {
		v := (first + i) * step
		t = append(t, v)
		if v >= hi-step*1e-9 {
			return t, max(v, hi)
		}
	}
}

func label(v float64) string {
	switch {
	case math.Abs(v) >= 1e6:
		return fmt.Sprintf("%gM", round(v/1e6))
	case math.Abs(v) >= 1e4:
		return fmt.Sprintf("%gk", round(v/1e3))
	}
	return strconv.FormatFloat(round(v), 'g', -1, 64)
}

func round(v float64) float64 { return math.Round(v*1e6) / 1e6 }

package plot

import (
	"bytes"
	"fmt"
	"html"
	"strconv"
)

// canvas collects SVG elements.
type canvas struct{ bytes.Buffer }

func (c *canvas) begin(width, height float64) {
	fmt.Fprintf(c, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" font-family="sans-serif" font-size="11">`+"\n",
		num(width), num(height), num(width), num(height))
	c.rect(0, 0, width, height, "#ffffff", "")
}

func (c *canvas) end() { c.WriteString("</svg>\n") }

// num writes coordinates with a tenth of a pixel.
func num(v float64) string {
	s := strconv.FormatFloat(v, 'f', 1, 64)
	if len(s) > 2 && s[len(s)-2:] == ".0" {
		return s[:len(s)-2]
	}
	return s
}

func (c *canvas) rect(x, y, w, h float64, fill, title string) {
	fmt.Fprintf(c, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"`, num(x), num(y), num(w), num(h), fill)
	if title == "" {
		c.WriteString("/>\n")
		return
	}
	fmt.Fprintf(c, "><title>%s</title></rect>\n", html.EscapeString(title))
}

func (c *canvas) line(x1, y1, x2, y2 float64, color string) {
	fmt.Fprintf(c, `<line x1="%s" y1="%s" x2="%s" y2="%s" stroke="%s"/>`+"\n", num(x1), num(y1), num(x2), num(y2), color)
}

// text writes text; anchor is start, middle or end.
func (c *canvas) text(x, y float64, anchor, color, s string) {
	fmt.Fprintf(c, `<text x="%s" y="%s" text-anchor="%s" fill="%s">%s</text>`+"\n", num(x), num(y), anchor, color, html.EscapeString(s))
}

func (c *canvas) heading(x, y float64, s string) {
	fmt.Fprintf(c, `<text x="%s" y="%s" font-size="14" font-weight="bold">%s</text>`+"\n", num(x), num(y), html.EscapeString(s))
}

// path draws a polyline; breaks[i] says that point i begins a new one.
func (c *canvas) path(xs, ys []float64, color string, width float64) {
	fmt.Fprintf(c, `<path fill="none" stroke="%s" stroke-width="%s" d="`, color, num(width))
	for i := range xs {
		if i == 0 {
			c.WriteByte('M')
		} else {
			c.WriteByte('L')
		}
		c.WriteString(num(xs[i]))
		c.WriteByte(' ')
		c.WriteString(num(ys[i]))
	}
	c.WriteString("\"/>\n")
}

// dots draws small squares as one path, which keeps files small.
func (c *canvas) dots(xs, ys []float64, color string) {
	fmt.Fprintf(c, `<path fill="none" stroke="%s" stroke-width="2" stroke-linecap="round" d="`, color)
	for i := range xs {
		fmt.Fprintf(c, "M%s %sh0", num(xs[i]), num(ys[i]))
	}
	c.WriteString("\"/>\n")
}

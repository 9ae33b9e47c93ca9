package plot

import (
	"fmt"
	"math"
)

// HeatMap is a table of values as colours, with the values written in. Values
// are shaded from Low to High; NaN stays white.
type HeatMap struct {
	Title        string
	Rows, Cols   []string
	Values       [][]float64 // by row
	Low, High    float64
	Format       string // of a value, such as "%.2f"
	HighIsBetter bool
	MiddleIsBest bool // of Low and High
}

const (
	cellHeight = 20
	cellMax    = 90
	rowLabel   = 150
)

// AddHeatMap adds a heat map at the bottom.
func (f *Figure) AddHeatMap(h *HeatMap) { f.panels = append(f.panels, h) }

func (h *HeatMap) height() float64 { return panelHead + cellHeight*float64(len(h.Rows)+1) + 10 }

func (h *HeatMap) draw(c *canvas, top float64) float64 {
	c.text(marginLeft, top+14, "start", black, h.Title)
	width := min(cellMax, (figureWidth-marginRight-rowLabel)/float64(max(1, len(h.Cols))))
	for j, name := range h.Cols {
		c.text(rowLabel+(float64(j)+0.5)*width, top+panelHead+14, "middle", grey, name)
	}
	for i, name := range h.Rows {
		y := top + panelHead + cellHeight*float64(i+1)
		c.text(rowLabel-6, y+14, "end", grey, name)
		for j := range h.Cols {
			v := h.Values[i][j]
			x := rowLabel + float64(j)*width
			c.rect(x+0.5, y+0.5, width-1, cellHeight-1, h.color(v), "")
			if v == v {
				c.text(x+width/2, y+14, "middle", black, fmt.Sprintf(h.Format, v))
			}
		}
	}
	return h.height()
}

// color goes from red over white to green, green being better.
func (h *HeatMap) color(v float64) string {
	if v != v || h.High <= h.Low {
		return "#ffffff"
	}
	t := min(max((v-h.Low)/(h.High-h.Low), 0), 1)
	switch {
	case h.MiddleIsBest:
		t = 1 - 2*math.Abs(t-0.5)
	case !h.HighIsBetter:
		t = 1 - t
	}
	mix := func(a, b, t float64) int { return int(a + (b-a)*t) }
	if t < 0.5 {
		return fmt.Sprintf("#%02x%02x%02x", mix(244, 255, 2*t), mix(165, 250, 2*t), mix(130, 220, 2*t))
	}
	return fmt.Sprintf("#%02x%02x%02x", mix(255, 140, 2*t-1), mix(250, 200, 2*t-1), mix(220, 140, 2*t-1))
}

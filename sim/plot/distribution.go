package plot

import "slices"

// Distribution is a panel with the cumulative distribution of a value over runs,
// one curve for each name.
func Distribution(title, unit string, names []string, values [][]float64) *Panel {
	p := &Panel{Title: title, XLabel: unit, YMax: 1}
	for i, v := range values {
		v = slices.Clone(v)
		slices.Sort(v)
		var xs, ys []float64
		for j, x := range v {
			xs, ys = append(xs, x), append(ys, float64(j+1)/float64(len(v)))
		}
		p.Steps(names[i], palette[i%len(palette)], xs, ys)
	}
	return p
}

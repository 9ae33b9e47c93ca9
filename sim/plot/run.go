package plot

import (
	"slices"

	"github.com/moq-c4/moq-c4/sim/scenario"
)

// stateColors are pale: they lie behind the curves.
var stateColors = []struct{ state, color string }{
	{"initial", "#fde0c5"},
	{"resuming", "#f6cfe6"},
	{"recovery", "#d3e6f5"},
	{"cruising", "#eef3ee"},
	{"probing", "#d9f0d3"},
	{"pushing", "#b8e2b0"},
}

// otherColors are for states of other controllers, by order of appearance.
var otherColors = []string{"#fde0c5", "#d3e6f5", "#d9f0d3", "#f6cfe6", "#eef3ee", "#e8dff5", "#fff3c4", "#dfe8ea"}

// Figure draws the recorded flow over time.
func (r *Recorder) Figure(title string, sc *scenario.Scenario) *Figure {
	f := &Figure{Title: title}
	end := 0.0
	for _, t := range []*trace{&r.rtt, &r.inFlight} {
		if n := len(t.xs); n > 0 {
			end = max(end, t.xs[n-1])
		}
	}
	begin := r.From.Seconds()
	bands := r.bands(end)
	add := func(p *Panel) {
		p.bands, p.XMin, p.XMax = bands, begin, end
		if len(f.panels) > 0 {
			p.bands = nil
			for _, b := range bands {
				b.name = ""
				p.bands = append(p.bands, b)
			}
		}
		f.Add(p)
	}

	p := &Panel{Title: "rate, Mbit/s"}
	xs, ys := capacity(sc, begin, end)
	p.Steps("link", grey, xs, ys)
	p.Line("pacing", orange, r.pacing.xs, r.clip(&r.pacing, ys))
	if len(r.nominal.xs) > 0 {
		p.Line("nominal", green, r.nominal.xs, r.clip(&r.nominal, ys))
	}
	xs, ys = r.throughput(begin, end)
	p.Steps("delivered", blue, xs, ys)
	p.hints = []hint{{red, r.dropped, "drops"}}
	add(p)

	p = &Panel{Title: "round trip, ms"}
	p.Line("queue", "#c9c9c9", r.queue.xs, r.queue.ys)
	p.Dots("sample", blue, r.rtt.xs, r.rtt.ys)
	p.Line("smoothed", orange, r.smoothed.xs, r.smoothed.ys)
	add(p)

	p = &Panel{Title: "window, kB", XLabel: "seconds"}
	p.Line("in flight", blue, r.inFlight.xs, r.inFlight.ys)
	p.Line("window", orange, r.window.xs, r.window.ys)
	p.hints = []hint{{red, r.lost, "lost"}}
	add(p)

	if len(r.sources) > 0 {
		p = &Panel{Title: "frame delay, ms", XLabel: "seconds"}
		for i, name := range r.sources {
			t := r.frames[name]
			p.Dots(name, palette[i%len(palette)], t.xs, t.ys)
		}
		add(p)
	}
	return f
}

// bands turns the states into coloured stretches of time.
func (r *Recorder) bands(end float64) []band {
	colors := map[string]string{}
	for _, s := range stateColors {
		colors[s.state] = s.color
	}
	n := 0
	var out []band
	for i, s := range r.states {
		to := end
		if i+1 < len(r.states) {
			to = r.states[i+1].at
		}
		if _, ok := colors[s.state]; !ok {
			colors[s.state] = otherColors[n%len(otherColors)]
			n++
		}
		out = append(out, band{s.at, to, colors[s.state], s.state})
	}
	return out
}

// clip keeps a curve within three times the link's rate, so that a start-up does
// not flatten the rest.
func (r *Recorder) clip(t *trace, link []float64) []float64 {
	limit := 3 * slices.Max(link)
	ys := slices.Clone(t.ys)
	for i := range ys {
		ys[i] = min(ys[i], limit)
	}
	return ys
}

// capacity is the link's rate over time.
func capacity(sc *scenario.Scenario, begin, end float64) (xs, ys []float64) {
	at := 0.0
	for i := 0; ; i = (i + 1) % len(sc.Phases) {
		p := &sc.Phases[i]
		until := at + p.For.Seconds()
		last := p.For == 0 || until >= end
		if last || until > begin {
			xs, ys = append(xs, max(at, begin)), append(ys, p.Down.Rate/1e6)
		}
		if at = until; last {
			return append(xs, end), append(ys, p.Down.Rate/1e6)
		}
	}
}

// throughput is what was delivered in each of about 150 stretches of time.
// Between two acknowledgements it grows steadily: counting them whole would show
// how they fall into the stretches.
func (r *Recorder) throughput(begin, end float64) (xs, ys []float64) {
	const stretches = 150
	step := (end - begin) / stretches
	t := &r.delivered
	if step <= 0 || len(t.xs) == 0 {
		return nil, nil
	}
	i := 0
	at := func(x float64) float64 {
		for i < len(t.xs) && t.xs[i] <= x {
			i++
		}
		switch i {
		case 0:
			return t.ys[0]
		case len(t.xs):
			return t.ys[i-1]
		}
		part := (x - t.xs[i-1]) / (t.xs[i] - t.xs[i-1])
		return t.ys[i-1] + part*(t.ys[i]-t.ys[i-1])
	}
	before := at(begin)
	for n := range stretches {
		now := at(begin + float64(n+1)*step)
		xs, ys = append(xs, begin+float64(n)*step), append(ys, (now-before)*8/1e6/step)
		before = now
	}
	return xs, ys
}

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress draws a bar on a terminal, and nothing elsewhere.
type progress struct {
	out   io.Writer // nil: not a terminal
	began time.Time
	last  time.Time
	shown bool
}

func newProgress(w io.Writer) *progress {
	p := &progress{began: time.Now()}
	if f, ok := w.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.Mode()&os.ModeCharDevice != 0 {
			p.out = w
		}
	}
	return p
}

func (p *progress) show(done, total int) {
	const period = 100 * time.Millisecond
	now := time.Now()
	if p.out == nil || now.Sub(p.last) < period {
		return
	}
	p.last = now
	p.shown = true
	const width = 40
	full := width * done / total
	rate := float64(done) / now.Sub(p.began).Seconds()
	left := time.Duration(float64(total-done) / rate * float64(time.Second)).Round(time.Second)
	fmt.Fprintf(p.out, "\r%s%s %d/%d runs, %.0f/s, %s left \x1b[K",
		strings.Repeat("#", full), strings.Repeat(".", width-full), done, total, rate, left)
}

func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

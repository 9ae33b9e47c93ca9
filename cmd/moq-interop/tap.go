package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// tap writes results in the form of the Test Anything Protocol, version 14.
type tap struct {
	w      io.Writer
	points int
	failed int
}

func newTAP(w io.Writer, plan int, comments ...string) *tap {
	fmt.Fprintln(w, "TAP version 14")
	for _, c := range comments {
		fmt.Fprintln(w, "#", oneLine(c))
	}
	fmt.Fprintf(w, "1..%d\n", plan)
	return &tap{w: w}
}

// result writes the test point of a case, with what is known of it below.
func (t *tap) result(name string, took time.Duration, r report, err error) {
	t.points++
	ok := "ok"
	if err != nil {
		ok = "not ok"
		t.failed++
	}
	fmt.Fprintf(t.w, "%s %d - %s\n  ---\n  duration_ms: %d\n", ok, t.points, name, took.Milliseconds())
	for _, line := range r.lines {
		fmt.Fprintf(t.w, "  %s\n", line)
	}
	if err != nil {
		fmt.Fprintf(t.w, "  message: %q\n", oneLine(err.Error()))
	}
	fmt.Fprint(t.w, "  ...\n")
}

// report is what a case has to say beside whether it passed.
type report struct{ lines []string }

func (r *report) add(key string, value any) {
	r.lines = append(r.lines, fmt.Sprintf("%s: %v", key, value))
}

// oneLine makes a text fit on a line, whatever a peer has put into it.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

package scenario

import (
	"strings"
	"testing"
	"time"
)

func TestParseLink(t *testing.T) {
	sc, err := ParseLink("f", "f", strings.NewReader(`
link for=2s rate=20Mbit/s delay=40ms queue=1bdp
link rate=2Mbit/s delay=10ms queue=1.5bdp
aqm dualq
flow main size=1MB cc=whatever`))
	if err != nil {
		t.Fatal(err)
	}
	if len(sc.Phases) != 2 || len(sc.Flows) != 0 || !sc.DualQ {
		t.Fatalf("got %+v", sc)
	}
	if q := sc.Phases[0].Down.Queue; q != 80*time.Millisecond {
		t.Errorf("a queue of one product at 40 ms of delay is %v", q)
	}
	if q := sc.Phases[1].Up.Queue; q != 30*time.Millisecond {
		t.Errorf("a queue of 1.5 products at 10 ms of delay is %v", q)
	}
}

func TestParseLinkErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "no link line",
		"link rate=1Mbit/s":                      "needs a delay",
		"link rate=1Mbit/s delay=1ms queue=xbdp": "bandwidth-delay products",
		"link rate=1Mbit/s delay=1ms\nhello":     `unknown word "hello"`,
	} {
		_, err := ParseLink("f", "f", strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Every built-in scenario has a link, and the same one by both ways.
func TestOpenLink(t *testing.T) {
	for _, n := range Names() {
		sc, err := OpenLink(n)
		if err != nil {
			t.Fatal(err)
		}
		if len(sc.Phases) == 0 || sc.Phases[0].Down.Rate == 0 {
			t.Errorf("%s: %+v", n, sc.Phases)
		}
	}
	if _, err := OpenLink("nothing"); err == nil || !strings.Contains(err.Error(), "neither built in nor a file") {
		t.Errorf("got %v", err)
	}
}

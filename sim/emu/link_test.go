package emu

import (
	"strings"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/sim/scenario"
)

func TestParseLink(t *testing.T) {
	l := parse(t, "for=10s rate=20Mbit/s delay=20ms queue=1bdp; link rate=2Mbit/s up=1Mbit/s;aqm dualq l4s_max=2ms")
	if len(l.Phases) != 2 || l.Phases[0].For != 10*time.Second || l.Phases[0].Up.Rate != 20e6 || l.Phases[1].Up.Rate != 1e6 ||
		l.Phases[1].Down.Queue != 40*ms || !l.DualQ || l.L4SMax != 2*ms {
		t.Errorf("got %+v", l)
	}
	for text, want := range map[string]string{
		"":                              "no link line",
		"rate=fast delay=1ms":           "rate",
		"rate=1Mbit/s delay=1ms\nx":     "semicolons",
		"rate=1Mbit/s delay=1ms; aqm x": "aqm",
	} {
		if _, err := ParseLink(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestOpenLink(t *testing.T) {
	if len(Presets()) == 0 {
		t.Error("no presets")
	}
	for _, name := range append(Presets(), scenario.Names()...) {
		l, err := OpenLink(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := NewPath[int](l, 0, 0, nil); err != nil || l.Name != name {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
	if _, err := OpenLink("nothing"); err == nil {
		t.Error("a link that is not there was opened")
	}
	for _, p := range Presets() {
		for _, s := range scenario.Names() {
			if p == s {
				t.Errorf("preset %s hides the scenario of that name", p)
			}
		}
	}
}

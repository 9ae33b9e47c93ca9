package emu

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/moq-c4/moq-c4/sim/scenario"
)

// Link is what a [Path] is made of.
type Link struct {
	// Name is where the link comes from, for people. Default: none.
	Name string

	// Phases are the states of the link in order, at least one. If the last has
	// an end, the first follows it.
	Phases []scenario.Phase

	// DualQ puts the DualQ coupled AQM in place of the drop-tail queues. L4SMax
	// is the sojourn time above which every packet of its low-latency queue is
	// marked. Default: 1.2 ms.
	DualQ  bool
	L4SMax time.Duration

	// Loss is the share of packets, 0 to 1, that is lost at random before the
	// queue. Default: none.
	Loss float64
}

//go:embed presets/*.txt
var presets embed.FS

// Presets returns the names of the links that come with this package, sorted.
func Presets() []string {
	files, err := fs.Glob(presets, "presets/*.txt")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(filepath.Base(f), ".txt")
	}
	slices.Sort(names)
	return names
}

// OpenLink returns the link of a preset, of a built-in scenario, or of a
// scenario file.
func OpenLink(nameOrFile string) (Link, error) {
	if slices.Contains(Presets(), nameOrFile) {
		f, err := presets.Open("presets/" + nameOrFile + ".txt")
		if err != nil {
			return Link{}, err
		}
		defer f.Close()
		return fromScenario(scenario.ParseLink(nameOrFile+".txt", nameOrFile, f))
	}
	return fromScenario(scenario.OpenLink(nameOrFile))
}

// ParseLink reads link lines of a scenario (see package scenario) with
// semicolons between and without the word link, as
//
//	for=10s rate=20Mbit/s delay=20ms queue=1bdp; for=10s rate=2Mbit/s
//
// A part that begins with "aqm" is that statement.
func ParseLink(text string) (Link, error) {
	var b strings.Builder
	for part := range strings.SplitSeq(text, ";") {
		part = strings.TrimSpace(part)
		switch {
		case part == "":
			continue
		case strings.ContainsAny(part, "\n\r#"):
			return Link{}, fmt.Errorf("link %q: put semicolons between the lines", part)
		case !strings.HasPrefix(part, "aqm") && !strings.HasPrefix(part, "link "):
			b.WriteString("link ")
		}
		b.WriteString(part + "\n")
	}
	l, err := fromScenario(scenario.ParseLink("link", text, strings.NewReader(b.String())))
	if perr := (*scenario.Error)(nil); errors.As(err, &perr) {
		err = fmt.Errorf("link %q: %s", text, perr.Reason)
	}
	return l, err
}

func fromScenario(sc *scenario.Scenario, err error) (Link, error) {
	if err != nil {
		return Link{}, err
	}
	return Link{Name: sc.Name, Phases: sc.Phases, DualQ: sc.DualQ, L4SMax: sc.L4SMax}, nil
}

// Of returns the link of a scenario.
func Of(sc *scenario.Scenario) Link {
	l, _ := fromScenario(sc, nil)
	return l
}

func (l *Link) check() error {
	switch {
	case len(l.Phases) == 0:
		return errors.New("a link needs a phase")
	case l.Loss < 0 || l.Loss > 1 || l.Loss != l.Loss:
		return errors.New("loss is not between 0 and 1")
	}
	for i, p := range l.Phases {
		if p.For == 0 && i < len(l.Phases)-1 {
			return errors.New("a phase after one without end is never reached")
		}
	}
	return nil
}

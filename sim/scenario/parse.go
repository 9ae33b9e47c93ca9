package scenario

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds on what a file can ask for.
const (
	maxLineBytes = 4096
	maxLines     = 10_000
	maxFlows     = 64
	maxSources   = 16
	maxPhases    = 1000
	maxPriority  = 255
)

// Error says what is wrong with a file, and where.
type Error struct {
	File   string
	Line   int // 0: the file as a whole
	Reason string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Reason)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason)
}

// Parse reads a scenario. file is for messages, name is the scenario's name,
// controllers are the names that cc= may have. Errors are of type *Error.
func Parse(file, name string, r io.Reader, controllers []string) (*Scenario, error) {
	p := parser{sc: &Scenario{Name: name}, controllers: controllers}
	return p.read(file, r)
}

func (p *parser) read(file string, r io.Reader) (*Scenario, error) {
	fail := func(line int, err error) (*Scenario, error) {
		return nil, &Error{File: file, Line: line, Reason: err.Error()}
	}
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, maxLineBytes), maxLineBytes)
	line := 0
	for in.Scan() {
		line++
		if line > maxLines {
			return fail(line, errors.New("too many lines"))
		}
		p.line = line
		if err := p.statement(in.Text()); err != nil {
			return fail(line, err)
		}
	}
	if err := in.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("line is longer than %d bytes", maxLineBytes)
		}
		return fail(line+1, err)
	}
	if err := p.finish(); err != nil {
		return fail(0, err)
	}
	return p.sc, nil
}

type parser struct {
	sc          *Scenario
	controllers []string
	line        int
	linkOnly    bool // see ParseLink
	media       bool // the last flow carries media
	measured    bool
}

func (p *parser) statement(text string) error {
	text, _, _ = strings.Cut(text, "#")
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	rest = strings.TrimSpace(rest)
	switch word {
	case "":
		return nil
	case "about":
		return setOnce(&p.sc.About, rest, "about")
	case "group":
		return setOnce(&p.sc.Group, rest, "group")
	}
	if p.linkOnly && isTraffic(word) {
		return nil
	}
	f, err := splitFields(word, rest)
	if err != nil {
		return err
	}
	switch word {
	case "link":
		err = p.link(f)
	case "aqm":
		err = p.aqm(f)
	case "flow":
		err = p.flow(f)
	case "audio", "video":
		err = p.source(f, word == "audio")
	case "cross":
		err = p.cross(f)
	case "measure":
		p.measured = true
		f.duration("from", &p.sc.MeasureFrom)
		err = f.done()
	case "stop":
		f.duration("at", &p.sc.StopAt)
		if err = f.done(); err == nil && p.sc.StopAt == 0 {
			err = errors.New("stop needs at=DURATION, more than 0")
		}
	case "pass":
		err = p.pass(rest)
	default:
		err = fmt.Errorf("unknown word %q", word)
	}
	return err
}

func setOnce(dst *string, v, word string) error {
	switch {
	case v == "":
		return fmt.Errorf("%s without text", word)
	case *dst != "":
		return fmt.Errorf("second %s", word)
	}
	*dst = v
	return nil
}

func (p *parser) link(f *fields) error {
	if len(p.sc.Phases) == maxPhases {
		return fmt.Errorf("more than %d link lines", maxPhases)
	}
	var ph Phase
	n := len(p.sc.Phases)
	if n > 0 {
		if p.sc.Phases[n-1].For == 0 {
			return errors.New("the link line before this one has no for=DURATION, so this is never reached")
		}
		ph = p.sc.Phases[n-1]
	}
	up, down := &ph.Up, &ph.Down
	ph.For = 0
	forGiven := f.duration("for", &ph.For)
	if f.rate("rate", &down.Rate) {
		up.Rate = down.Rate
	}
	f.rate("up", &up.Rate)
	f.rate("down", &down.Rate)
	f.duration("delay", &down.Delay)
	f.queue("queue", &down.Queue, 2*down.Delay)
	f.duration("jitter", &down.Jitter)
	up.Delay, up.Queue, up.Jitter = down.Delay, down.Queue, down.Jitter
	if err := f.done(); err != nil {
		return err
	}
	switch {
	case forGiven && ph.For == 0:
		return errors.New("for=0")
	case n == 0 && (up.Rate == 0 || down.Rate == 0):
		return errors.New("the first link line needs a rate above 0")
	case n == 0 && down.Delay == 0:
		return errors.New("the first link line needs a delay above 0")
	}
	p.sc.Phases = append(p.sc.Phases, ph)
	return nil
}

func (p *parser) aqm(f *fields) error {
	if p.sc.DualQ {
		return errors.New("second aqm")
	}
	if f.bare("dualq", "aqm") {
		p.sc.DualQ = true
	}
	f.duration("l4s_max", &p.sc.L4SMax)
	return f.done()
}

func (p *parser) flow(f *fields) error {
	if len(p.sc.Flows) == maxFlows {
		return fmt.Errorf("more than %d flows", maxFlows)
	}
	if err := p.checkMedia(); err != nil {
		return err
	}
	var fl Flow
	f.name(&fl.Name)
	p.media = f.flag("media")
	sized := f.size("size", &fl.Size)
	f.text("cc", &fl.CC)
	f.duration("start", &fl.Start)
	f.duration("delay", &fl.Delay)
	f.size("seed_window", &fl.SeedWindow)
	f.duration("seed_rtt", &fl.SeedRTT)
	if err := f.done(); err != nil {
		return err
	}
	switch {
	case slices.ContainsFunc(p.sc.Flows, func(o Flow) bool { return o.Name == fl.Name }):
		return fmt.Errorf("second flow %q", fl.Name)
	case p.media == sized:
		return errors.New(`a flow has either size=SIZE or "media"`)
	case sized && fl.Size == 0:
		return errors.New("size=0")
	case fl.CC != "" && len(p.sc.Flows) == 0:
		return errors.New("the first flow's controller is the one under test; cc= is for the others")
	case fl.CC != "" && !slices.Contains(p.controllers, fl.CC):
		return fmt.Errorf("unknown controller %q (known: %s)", fl.CC, strings.Join(p.controllers, ", "))
	case (fl.SeedWindow == 0) != (fl.SeedRTT == 0):
		return errors.New("seed_window and seed_rtt belong together")
	}
	p.sc.Flows = append(p.sc.Flows, fl)
	return nil
}

func (p *parser) checkMedia() error {
	if n := len(p.sc.Flows); p.media && len(p.sc.Flows[n-1].Sources) == 0 {
		return fmt.Errorf("flow %q carries media, but no audio or video line follows it", p.sc.Flows[n-1].Name)
	}
	return nil
}

func (p *parser) source(f *fields, datagrams bool) error {
	if !p.media {
		return errors.New("audio and video lines belong after a media flow")
	}
	fl := &p.sc.Flows[len(p.sc.Flows)-1]
	if len(fl.Sources) == maxSources {
		return fmt.Errorf("more than %d sources", maxSources)
	}
	s := Source{Datagrams: datagrams}
	priority := int64(0)
	f.name(&s.Name)
	f.count("rate", &s.Rate)
	f.size("size", &s.Size)
	f.count("frames", &s.Frames)
	f.count("priority", &priority)
	if !datagrams {
		f.size("key", &s.Key)
		f.count("group", &s.Group)
		f.duration("cancel", &s.Cancel)
	}
	s.Measured = !f.flag("unmeasured")
	if err := f.done(); err != nil {
		return err
	}
	switch {
	case slices.ContainsFunc(fl.Sources, func(o Source) bool { return o.Name == s.Name }):
		return fmt.Errorf("second source %q", s.Name)
	case s.Rate == 0 || s.Size == 0 || s.Frames == 0:
		return errors.New("rate, size and frames are needed, more than 0")
	case s.Rate > 10_000 || s.Frames > 1_000_000:
		return errors.New("rate is more than 10000, or frames more than 1000000")
	case priority > maxPriority:
		return fmt.Errorf("priority is more than %d", maxPriority)
	case datagrams && s.Size > 1000:
		return errors.New("an audio frame has at most 1000B: it must fit into a packet")
	case !datagrams && s.Group == 0:
		return errors.New("video needs group=FRAMES")
	}
	s.Priority = int(priority)
	if s.Key == 0 && !datagrams {
		s.Key = s.Size
	}
	fl.Sources = append(fl.Sources, s)
	return nil
}

func (p *parser) cross(f *fields) error {
	c := Cross{Size: 1250, Burst: 1, Up: f.flag("up")}
	if down := f.flag("down"); down == c.Up {
		return errors.New("cross goes either up or down")
	}
	f.rate("rate", &c.Rate)
	f.size("size", &c.Size)
	f.count("burst", &c.Burst)
	f.duration("start", &c.Start)
	if err := f.done(); err != nil {
		return err
	}
	switch {
	case len(p.sc.Cross) == maxFlows:
		return fmt.Errorf("more than %d cross lines", maxFlows)
	case c.Size < 50 || c.Size > 9000:
		return errors.New("size is not between 50B and 9000B")
	case c.Burst < 1 || c.Burst > 1000:
		return errors.New("burst is not between 1 and 1000")
	case c.Rate > 0:
		p.sc.Cross = append(p.sc.Cross, c)
	}
	return nil
}

func (p *parser) pass(text string) error {
	who, what, ok := strings.Cut(text, " ")
	if !ok {
		return errors.New("pass needs CONTROLLERS METRIC<=VALUE")
	}
	b := Bound{Line: p.line, CCs: strings.Split(who, ",")}
	for _, n := range b.CCs {
		if !slices.Contains(p.controllers, n) {
			return fmt.Errorf("unknown controller %q (known: %s)", n, strings.Join(p.controllers, ", "))
		}
	}
	metric, value, ok := strings.Cut(strings.TrimSpace(what), "<=")
	if !ok {
		metric, value, ok = strings.Cut(strings.TrimSpace(what), ">=")
		b.AtLeast = true
	}
	metric, value = strings.TrimSpace(metric), strings.TrimSpace(value)
	if !ok || value == "" {
		return errors.New("pass needs METRIC<=VALUE or METRIC>=VALUE")
	}
	b.Metric = Metric(metric)
	duration, known := isDuration[b.Metric]
	if !known {
		return fmt.Errorf("unknown metric %q", metric)
	}
	if duration {
		d, err := parseDuration(value)
		if err != nil {
			return err
		}
		b.Value = float64(d / time.Microsecond)
	} else {
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || v < 0 || v > 1e12 {
			return fmt.Errorf("%q is not a number", value)
		}
		b.Value = v
	}
	p.sc.Bounds = append(p.sc.Bounds, b)
	return nil
}

func (p *parser) finish() error {
	switch {
	case len(p.sc.Phases) == 0:
		return errors.New("no link line")
	case len(p.sc.Flows) == 0 && !p.linkOnly:
		return errors.New("no flow line")
	}
	if err := p.checkMedia(); err != nil {
		return err
	}
	active := false
	for _, ph := range p.sc.Phases {
		active = active || ph.Up.Rate > 0 && ph.Down.Rate > 0
	}
	last := p.sc.Phases[len(p.sc.Phases)-1]
	if !active || last.For == 0 && (last.Up.Rate == 0 || last.Down.Rate == 0) {
		return errors.New("the link ends suspended")
	}
	return nil
}

package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/sim/link"
	"github.com/moq-c4/moq-c4/sim/scenario"
)

// Options choose what a run does beside its scenario.
type Options struct {
	// CC names the controller under test, see Controllers.
	CC string

	// New overrides CC, for controllers that have no name.
	New func(cc.Config) cc.Controller

	// C4 is what the name c4 stands for in a scenario's other flows. "" means
	// the controller under test if that is a C4, else c4.
	C4 string

	// Seed makes runs differ. Equal seeds give equal runs.
	Seed uint64

	// Quirks switches on faults of the reference simulator.
	Quirks Quirks

	// QUICGoAcks lets clients acknowledge as quic-go does, not as the reference:
	// each second packet, gaps in the numbers and CE marks at once, others
	// after 25 ms.
	QUICGoAcks bool

	// Tracer sees what happens; nil costs nothing.
	Tracer Tracer

	// Limit ends a run that does not come to its end. 0 means ten minutes of
	// virtual time.
	Limit time.Duration
}

// Quirks are faults of the reference simulator, needed to reproduce the drafts'
// tables. The zero value is correct behaviour.
type Quirks struct {
	// MediaTimer: the server's application forgets the time of an audio frame
	// when it looks at an idle video stream.
	MediaTimer bool

	// ECNMarking: all packets carry ECT(0), whatever the controller wants, so
	// that the low-latency queue is never used.
	ECNMarking bool

	// DualQCoupling: see link.DualQConfig.
	DualQCoupling bool

	// FixedSeeds: controllers draw the same random numbers in every run. BBR's
	// depend on the time of its first packet alone, to the microsecond.
	FixedSeeds bool
}

// AllQuirks is what the drafts' tables were made with.
var AllQuirks = Quirks{MediaTimer: true, ECNMarking: true, DualQCoupling: true, FixedSeeds: true}

const limitDefault = 10 * time.Minute

// Sim runs scenarios. The zero value is ready; memory is kept from run to run.
type Sim struct {
	now      time.Duration
	scenario *scenario.Scenario
	quirks   Quirks
	quicGo   bool // Options.QUICGoAcks
	tracer   Tracer

	up, down link.Link[*packet]
	phase    int
	changeAt time.Duration

	conns    []*conn // of this run
	spare    []*conn
	lines    bool // some connection has lines
	startAt  time.Duration
	cross    []crossSource
	pool     pool
	sequence uint64
	done     bool
	events   int64
}

type crossSource struct {
	*scenario.Cross
	interval time.Duration
	at       time.Duration
}

// Run simulates a scenario.
func (s *Sim) Run(sc *scenario.Scenario, o Options) (*Result, error) {
	if err := s.set(sc, o); err != nil {
		return nil, err
	}
	limit := o.Limit
	if limit == 0 {
		limit = limitDefault
	}
	if sc.StopAt > 0 {
		limit = min(limit, sc.StopAt)
	}
	s.loop(limit)
	return s.result(), nil
}

// linkSeed is what the reference seeds the links' generators with.
const linkSeed = 0xDEADBEEFBABAC001

func (s *Sim) set(sc *scenario.Scenario, o Options) error {
	s.now, s.scenario, s.quirks, s.quicGo, s.tracer = 0, sc, o.Quirks, o.QUICGoAcks, o.Tracer
	s.done, s.sequence, s.events, s.lines = false, 0, 0, false
	s.phase, s.changeAt = 0, never
	if d := sc.Phases[0].For; d > 0 {
		s.changeAt = d
	}
	drop := func(k *packet) {
		if s.tracer != nil && k.kind == kindData {
			s.tracer.Dropped(s.now, k.conn.id, k.number, int64(k.size))
		}
		s.pool.put(k)
	}
	// As in the reference, seed 0 lets both directions draw the same numbers.
	// Neighbouring seeds must not give shifted sequences: hence the extra step.
	first := link.NewRand(o.Seed)
	rand := link.NewRand(first.Uint64())
	s.up.Reset(sc.Phases[0].Up, linkSeed^noise(&rand, o.Seed), drop)
	s.down.Reset(sc.Phases[0].Down, linkSeed^noise(&rand, o.Seed), drop)
	if sc.DualQ {
		c := link.DualQConfig{L4SMax: sc.L4SMax, ReferenceFault: o.Quirks.DualQCoupling}
		s.up.UseDualQ(c)
		s.down.UseDualQ(c)
	}
	s.spare = append(s.spare, s.conns...)
	s.conns = s.conns[:0]
	for i := range sc.Flows {
		f := &sc.Flows[i]
		name, create := o.CC, o.New
		if f.CC != "" {
			name, create = o.other(f.CC), nil
		}
		if create == nil {
			if create = Controller(name); create == nil {
				return fmt.Errorf("unknown controller %q", name)
			}
		}
		c := s.addConn(i, f, name)
		seed := rand.Uint64()
		config := cc.Config{Seed: rand.Uint64()}
		if o.Quirks.FixedSeeds {
			config.Seed = 0
		}
		c.sender.reset(c, create(config), seed)
		c.receiver.reset(c)
	}
	s.cross = s.cross[:0]
	for i := range sc.Cross {
		x := &sc.Cross[i]
		s.cross = append(s.cross, crossSource{x, x.Interval(), x.Start})
	}
	s.findStart()
	return nil
}

// noise returns 32 random bits, none for seed 0.
func noise(r *link.Rand, seed uint64) uint64 {
	if seed == 0 {
		return 0
	}
	return r.Uint64() >> 32
}

// other resolves the name of another flow's controller.
func (o *Options) other(name string) string {
	switch {
	case name != "c4":
	case o.C4 != "":
		return o.C4
	case strings.HasPrefix(o.CC, "c4"):
		return o.CC
	}
	return name
}

func (s *Sim) addConn(id int, f *scenario.Flow, name string) *conn {
	var c *conn
	if n := len(s.spare); n > 0 {
		c = s.spare[n-1]
		s.spare = s.spare[:n-1]
	} else {
		c = &conn{}
	}
	c.sim, c.id, c.flow, c.ccName = s, id, f, name
	c.started, c.finished, c.startedAt, c.endedAt = false, false, 0, 0
	c.upLine, c.downLine = nil, nil
	if f.Delay > 0 {
		s.lines = true
		p := link.Params{Rate: 100e9, Delay: f.Delay}
		c.upLine = link.New[*packet](p, 0, nil)
		c.downLine = link.New[*packet](p, 0, nil)
	}
	s.conns = append(s.conns, c)
	return c
}

func (s *Sim) nextOrder() uint64 {
	s.sequence++
	return s.sequence
}

func (s *Sim) findStart() {
	s.startAt = never
	for _, c := range s.conns {
		if !c.started {
			s.startAt = min(s.startAt, c.flow.Start)
		}
	}
}

// codepoint returns what a packet is marked with.
func (s *Sim) codepoint(wanted cc.Codepoint) cc.Codepoint {
	if s.quirks.ECNMarking {
		return cc.ECT0
	}
	return wanted
}

package main

import (
	"flag"
	"slices"
	"strings"

	"github.com/moq-c4/moq-c4/c4"
	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/sim"
	"github.com/moq-c4/moq-c4/sim/scenario"
)

// common are the flags of all commands that simulate.
type common struct {
	cc      string
	runs    int
	seed    uint
	workers int
}

func (c *common) register(fs *flag.FlagSet, cc string, runs int) {
	fs.StringVar(&c.cc, "cc", cc, "controllers under test, comma-separated `names`; c4 and its drafts take changes to their fields, as in c4+PushEras=1")
	fs.IntVar(&c.runs, "runs", runs, "`number` of runs of each scenario and controller")
	fs.UintVar(&c.seed, "seed", 1, "`number` that makes batches of runs differ; 0 begins with the reference's seed")
	fs.IntVar(&c.workers, "workers", 0, "`number` of runs at once (default one per core); results do not depend on it")
}

// check returns the controllers' names.
func (c *common) check() ([]string, error) {
	if c.runs < 1 || c.runs > 100_000 {
		return nil, cli.Usage("--runs is not between 1 and 100000")
	}
	if c.seed > 1<<32-1 {
		return nil, cli.Usage("--seed is more than 4294967295")
	}
	if c.workers < 0 || c.workers > 1024 {
		return nil, cli.Usage("--workers is not between 0 and 1024")
	}
	return controllers(c.cc)
}

func controllers(list string) ([]string, error) {
	known := sim.Controllers()
	var names []string
	for n := range strings.SplitSeq(list, ",") {
		n = strings.TrimSpace(n)
		if sim.Controller(n) == nil {
			if _, err := c4.Named(n); strings.Contains(n, "+") {
				return nil, cli.Usage("--cc: %w", err)
			}
			return nil, cli.Usage("unknown controller %q (known: %s)", n, strings.Join(known, ", "))
		}
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names, nil
}

// quirks reads a list of the reference's faults.
func quirks(list string) (q sim.Quirks, err error) {
	for n := range strings.SplitSeq(list, ",") {
		switch strings.TrimSpace(n) {
		case "none", "":
		case "all":
			q = sim.AllQuirks
		case "media-timer":
			q.MediaTimer = true
		case "ecn-marking":
			q.ECNMarking = true
		case "dualq-coupling":
			q.DualQCoupling = true
		case "fixed-seeds":
			q.FixedSeeds = true
		default:
			return q, cli.Usage("unknown quirk %q (known: media-timer, ecn-marking, dualq-coupling, fixed-seeds, all, none)", n)
		}
	}
	return q, nil
}

// scenarios opens the scenarios named on the command line.
func scenarios(args []string) ([]*scenario.Scenario, error) {
	var all []*scenario.Scenario
	for _, a := range args {
		if a == "all" {
			builtin, err := scenario.All(sim.Controllers())
			if err != nil {
				return nil, err
			}
			all = append(all, builtin...)
			continue
		}
		sc, err := scenario.Open(a, sim.Controllers())
		if err != nil {
			return nil, cli.Usage("%w", err)
		}
		all = append(all, sc)
	}
	return all, nil
}

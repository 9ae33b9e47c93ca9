package main

import (
	"flag"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/internal/ops"
	"github.com/moq-c4/moq-c4/sim/emu"
)

const help = `
moq-link forwards UDP between clients and a server over an emulated link.

  moq-link --to 127.0.0.1:4443 --rate 10Mbit/s --delay 20ms --queue 1bdp
      10 Mbit/s and a round trip of 40 ms in front of a relay; clients use port 5443 in place of 4443
  moq-link --to 127.0.0.1:4443 --scenario steps --stats
      a preset, a scenario of c4sim by name, or a scenario file; --list shows the names
  moq-link --to 127.0.0.1:4443 --link 'for=10s rate=20Mbit/s delay=20ms queue=1bdp; for=10s rate=2Mbit/s'
      link lines of a scenario file with semicolons between; "c4sim format" explains them
  moq-link --listen :5443 --to relay.example:443 --rate 2Mbit/s --up 500kbit/s --loss 1% --duration 60s --json
      for a minute, with the counters as JSON at the end

"Up" is what clients send, "down" what they receive. All clients share the link unless --per-client is given; its time
begins with the first packet. TCP on the same port is passed on unshaped, so that a browser can be shown the link's
address in place of the relay's. The counters are printed at the end.
`

type flags struct {
	config   emu.Config
	list     bool
	stats    bool
	json     bool
	duration time.Duration
	log      *slog.Logger
}

func parseFlags(env cli.Env) (*flags, error) {
	f := &flags{}
	var l linkFlags
	var logs ops.LogConfig
	fs := cli.NewFlags("moq-link", help, env.Stderr)
	fs.StringVar(&f.config.Listen, "listen", "127.0.0.1:5443", "`address` for clients, UDP and TCP")
	fs.StringVar(&f.config.To, "to", "127.0.0.1:4443", "the server's `address`")
	l.add(fs)
	fs.BoolVar(&f.config.PerClient, "per-client", false, "give each client a link of its own")
	fs.Uint64Var(&f.config.Seed, "seed", 0, "`number` that makes jitter and loss differ")
	fs.IntVar(&f.config.MaxClients, "max-clients", 256, "`number` of clients at a time")
	fs.BoolVar(&f.config.NoTCP, "no-tcp", false, "leave the TCP port alone")
	fs.DurationVar(&f.duration, "duration", 0, "stop after this time; 0 is never")
	fs.BoolVar(&f.stats, "stats", false, "show rates, waits and drops every second")
	fs.BoolVar(&f.json, "json", false, "print the counters at the end as JSON")
	fs.BoolVar(&f.list, "list", false, "list the names that --scenario knows")
	logs.AddFlags(fs)
	args, err := cli.Parse(fs, env.Args)
	if err != nil {
		return nil, err
	}
	if f.log, _, err = logs.NewLogger(env.Stderr); err != nil {
		return nil, cli.Usage("%w", err)
	}
	f.config.Logger = f.log
	switch {
	case len(args) > 0:
		return nil, cli.Usage("unexpected argument %q (see moq-link --help)", args[0])
	case f.duration < 0:
		return nil, cli.Usage("--duration is negative")
	case f.config.MaxClients < 1 || f.config.MaxClients > 65536:
		return nil, cli.Usage("--max-clients is not between 1 and 65536")
	}
	f.config.Link, err = l.link(fs)
	return f, err
}

// linkFlags are the ways to say what the link is like.
type linkFlags struct {
	scenario, lines string
	loss            string
	dualq           bool
	fields          map[string]*string // of a link line
}

// simple are the flags that together are one link line, with their defaults.
var simple = []struct{ name, value, usage string }{
	{"rate", "10Mbit/s", "`rate` of both directions"},
	{"up", "", "`rate` of what clients send, if it differs"},
	{"down", "", "`rate` of what clients receive, if it differs"},
	{"delay", "20ms", "one-way delay, a `duration`"},
	{"queue", "1bdp", "longest queueing delay: a `duration`, bandwidth-delay products as 1bdp, or 0 for no bound"},
	{"jitter", "", "average Wi-Fi jitter, a `duration`"},
}

func (l *linkFlags) add(fs *flag.FlagSet) {
	l.fields = make(map[string]*string)
	fs.StringVar(&l.scenario, "scenario", "", "link of a preset, a built-in scenario or a scenario `file`, by its name")
	fs.StringVar(&l.lines, "link", "", "link `lines` of a scenario, with semicolons between")
	for _, s := range simple {
		l.fields[s.name] = fs.String(s.name, s.value, s.usage)
	}
	fs.BoolVar(&l.dualq, "dualq", false, "DualQ coupled AQM in place of the drop-tail queue")
	fs.StringVar(&l.loss, "loss", "0", "share of packets lost at random, as `1%` or 0.01")
}

// link returns the link that the flags of fs describe.
func (l *linkFlags) link(fs *flag.FlagSet) (link emu.Link, err error) {
	given := ""
	fs.Visit(func(f *flag.Flag) {
		if l.fields[f.Name] != nil || f.Name == "dualq" {
			given = f.Name
		}
	})
	switch {
	case l.scenario != "" && l.lines != "":
		return link, cli.Usage("--scenario and --link exclude each other")
	case l.scenario+l.lines != "" && given != "":
		return link, cli.Usage("--%s goes without --scenario and --link", given)
	case l.scenario != "":
		link, err = emu.OpenLink(l.scenario)
	case l.lines != "":
		link, err = emu.ParseLink(l.lines)
	default:
		link, err = l.line()
	}
	if err != nil {
		return link, cli.Usage("%w", err)
	}
	link.Loss, err = parseLoss(l.loss)
	return link, err
}

func (l *linkFlags) line() (emu.Link, error) {
	var fields []string
	for _, s := range simple {
		v := *l.fields[s.name]
		if strings.ContainsAny(v, " ;=\t") {
			return emu.Link{}, cli.Usage("--%s %q is no value", s.name, v)
		}
		if v != "" {
			fields = append(fields, s.name+"="+v)
		}
	}
	text := strings.Join(fields, " ")
	if l.dualq {
		text += "; aqm dualq"
	}
	return emu.ParseLink(text)
}

func parseLoss(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(number, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return 0, cli.Usage("--loss %q: want a share such as 1%% or 0.01", s)
	}
	return v, nil
}

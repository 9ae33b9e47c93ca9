package main

import (
	"log/slog"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/internal/ops"
)

const help = `
moq-bench loads a relay with the synthetic call, about 3.2 Mbit/s to each subscriber, and measures.

  moq-bench
      everything: fan-out beside plain quic-go, the delay that a relay adds, and priorities on slow paths
  moq-bench fanout --subscribers 200 --duration 30s
      CPU seconds per delivered GB and memory per subscriber, as a ratio to quic-go sending the same bytes
  moq-bench delay
      delay from capture to subscriber, direct and through one relay
  moq-bench priorities --duration 15s
      the call over an emulated path of 4 Mbit/s with a bulk track behind it, and over one of 2 Mbit/s: what audio and
      small video suffer, what is given up, and how soon it is back
  moq-bench fanout --subscribers 50 --tls-insecure moqt://relay.example:443
      against any relay, with a publisher of its own; delays and losses only

The relay, the publisher and the plain sender run as processes of their own beside this one, which receives. It
takes about as much CPU as the relay does.
`

type flags struct {
	what        string // "all", "fanout", "delay", "priorities", or a role that moq-bench starts itself in
	subscribers int
	duration    time.Duration
	rounds      int
	transport   string
	json        bool
	relay       string
	dialer      cli.Dialer
	remote      bool // the argument named a relay
	listen      string
	log         *slog.Logger
}

func parseFlags(env cli.Env) (*flags, error) {
	f := &flags{what: "all"}
	logs := ops.LogConfig{Level: "warn"}
	fs := cli.NewFlags("moq-bench", help, env.Stderr)
	fs.IntVar(&f.subscribers, "subscribers", 100, "`number` of subscribers")
	fs.DurationVar(&f.duration, "duration", 15*time.Second, "how long each measurement takes")
	fs.IntVar(&f.rounds, "rounds", 3, "how often each measurement is repeated, in turns with what it is compared to")
	fs.StringVar(&f.transport, "transport", "quic", "`transport` of the subscribers, quic or webtransport")
	fs.BoolVar(&f.json, "json", false, "print the result as JSON")
	fs.StringVar(&f.relay, "relay", "", "`path` of the relay to start; that of the same build if empty")
	fs.StringVar(&f.listen, "listen", "", "`address`, for the roles that moq-bench starts itself in")
	f.dialer.AddFlags(fs)
	logs.AddFlags(fs)
	args, err := cli.Parse(fs, env.Args)
	if err != nil {
		return nil, err
	}
	if f.log, _, err = logs.NewLogger(env.Stderr); err != nil {
		return nil, cli.Usage("%w", err)
	}
	if f.relay == "" {
		f.relay = sibling("moq-relay")
	}
	if len(args) > 0 {
		switch args[0] {
		case "all", "fanout", "delay", "priorities", rolePlain, roleOrigin:
			f.what, args = args[0], args[1:]
		}
	}
	if len(args) > 0 && (f.what == "fanout" || f.what == roleOrigin) {
		f.remote, f.dialer.URL, args = true, args[0], args[1:]
		if err := f.dialer.Check(f.log); err != nil {
			return nil, err
		}
	}
	switch {
	case len(args) > 0:
		return nil, cli.Usage("unknown argument %q (see moq-bench --help)", args[0])
	case f.subscribers <= 0 || f.rounds <= 0 || f.duration < time.Second:
		return nil, cli.Usage("--subscribers and --rounds must be positive, --duration at least 1s")
	case f.transport != "quic" && f.transport != "webtransport":
		return nil, cli.Usage("--transport %q: want quic or webtransport", f.transport)
	}
	return f, nil
}

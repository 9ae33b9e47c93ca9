package main

import (
	"log/slog"
	"slices"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/internal/ops"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

const help = `
moq-sub receives a broadcast from a relay.

  moq-sub moqt://localhost:4443
      lists the namespaces that the relay knows
  moq-sub --namespace live/demo moqt://localhost:4443
      lists the tracks of a broadcast
  moq-sub --namespace live/demo -o out.mp4 --duration 60s moqt://localhost:4443
      records it; -o - writes to standard output, as for: moq-sub ... -o - URL | ffplay -
  moq-sub --namespace live/demo --track video-360p --track audio -o - https://relay.example/
      only some tracks, over WebTransport
  moq-sub --namespace live/demo --simulcast -o out.mp4 https://relay.example/
      the best picture that the path carries, group by group
  moq-sub --namespace live/demo --stats --csv frames.csv moqt://localhost:4443
      shows rates and delays, and writes a line per frame

Delays are those from the capture time in each object to its arrival here: across machines, they are as good as the
clocks. With --wait it waits for a broadcast that is not there yet. Once it receives, it goes on over
restarts of publisher and relay until --duration or Ctrl-C.
`

type flags struct {
	namespace wire.Namespace
	named     bool // --namespace was given
	tracks    []string
	audio     string
	output    string
	stats     bool
	json      bool
	csv       string
	duration  time.Duration
	wait      bool
	patience  time.Duration
	late      lateFlag
	simulcast bool
	dialer    cli.Dialer
	ops       cli.OpsFlag
	log       *slog.Logger
}

// lists reports whether the command only lists what there is.
func (f *flags) lists() bool {
	return f.output == "" && !f.stats && !f.json && f.csv == ""
}

// stringList is a flag that may be given several times.
type stringList []string

func (l *stringList) String() string     { return "" }
func (l *stringList) Set(s string) error { *l = append(*l, s); return nil }

func parseFlags(env cli.Env) (*flags, error) {
	f := &flags{late: make(lateFlag)}
	var namespace string
	logs := ops.LogConfig{}
	fs := cli.NewFlags("moq-sub", help, env.Stderr)
	fs.StringVar(&namespace, "namespace", "", "`name` of the broadcast, as live/demo")
	fs.Var((*stringList)(&f.tracks), "track", "`name` of a track to receive, may be given several times; all but the second audio if not given")
	fs.StringVar(&f.audio, "audio", "auto", "`form` of audio to take: datagrams, streams, or auto: streams if it is recorded, else datagrams")
	fs.StringVar(&f.output, "o", "", "record as fragmented MP4 into `file`; - is standard output")
	fs.BoolVar(&f.stats, "stats", false, "show a table of rates and delays every second")
	fs.BoolVar(&f.json, "json", false, "print the statistics as JSON at the end")
	fs.StringVar(&f.csv, "csv", "", "write a line per frame into `file`: time, track, kind, group, object, bytes, key, delay in microseconds")
	fs.DurationVar(&f.duration, "duration", 0, "stop after this time; 0 is never")
	fs.BoolVar(&f.wait, "wait", false, "wait for a relay or broadcast that is not there yet")
	fs.DurationVar(&f.patience, "patience", time.Second, "how long a missing object is waited for")
	fs.Var(f.late, "late", "`track` of which a group is given up when a frame of it is later than the time after =, or 250ms; may be given several times")
	fs.BoolVar(&f.simulcast, "simulcast", false, "take all renditions of the video, and record of each group the best that came whole; the better ones are given up when they are late, as by --late")
	f.dialer.AddFlags(fs)
	f.ops.AddFlags(fs)
	logs.AddFlags(fs)
	args, err := cli.Parse(fs, env.Args)
	if err != nil {
		return nil, err
	}
	if f.log, _, err = logs.NewLogger(env.Stderr); err != nil {
		return nil, cli.Usage("%w", err)
	}
	f.named = namespace != ""
	switch {
	case len(args) != 1:
		return nil, cli.Usage("want one argument, the relay's URL, as moqt://localhost:4443 (see moq-sub --help)")
	case !slices.Contains([]string{"auto", "datagrams", "streams"}, f.audio):
		return nil, cli.Usage("--audio %q: want auto, datagrams or streams", f.audio)
	case f.json && f.output == "-":
		return nil, cli.Usage("--json and -o - both want standard output")
	case f.duration < 0 || f.patience <= 0:
		return nil, cli.Usage("--duration must not be negative, --patience must be positive")
	case !f.named && (len(f.tracks) > 0 || !f.lists()):
		return nil, cli.Usage("a namespace is missing: use --namespace, as in --namespace live/demo")
	}
	f.dialer.URL = args[0]
	if err := f.dialer.Check(f.log); err != nil {
		return nil, err
	}
	if f.named {
		f.namespace, err = cli.ParseNamespace(namespace)
	}
	return f, err
}

// wantsStreams reports whether audio is taken from streams.
func (f *flags) wantsStreams() bool {
	return f.audio == "streams" || (f.audio == "auto" && f.output != "")
}

package main

import (
	"log/slog"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/internal/ops"
	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

const help = `
moq-pub publishes fragmented MP4, as ffmpeg writes it, on a relay.

  ffmpeg ... -movflags +cmaf+frag_every_frame+separate_moof -f mp4 pipe:1 | moq-pub --namespace live/demo moqt://localhost:4443
      a live stream; see README.md for the whole ffmpeg command
  moq-pub --namespace live/demo --input clip.mp4 --loop https://relay.example/
      a file over and over, over WebTransport
  moq-pub --namespace live/call --synthetic moqt://localhost:4443
      made-up audio and video with exact sizes, to measure with

Every video track is published by its height (video-720p), audio twice: in datagrams (audio) and on streams
(audio-stream). What nobody subscribes to is not sent. If the relay goes away, moq-pub connects again.
`

type flags struct {
	namespace wire.Namespace
	input     string
	loop      bool
	synthetic bool
	packaging media.Packaging
	dialer    cli.Dialer
	ops       cli.OpsFlag
	log       *slog.Logger
}

func parseFlags(env cli.Env) (*flags, error) {
	f := &flags{}
	var namespace, packaging string
	var logs ops.LogConfig
	fs := cli.NewFlags("moq-pub", help, env.Stderr)
	fs.StringVar(&namespace, "namespace", "", "`name` of the broadcast, as live/demo")
	fs.StringVar(&f.input, "input", "-", "fragmented MP4 `file`; - is standard input, which is taken as live")
	fs.BoolVar(&f.loop, "loop", false, "play the file over and over")
	fs.BoolVar(&f.synthetic, "synthetic", false, "publish the synthetic call instead of a file")
	fs.StringVar(&packaging, "packaging", string(media.CMAF), "`form` of the objects: cmaf, one moof and mdat each, or loc, the codec's bytes alone")
	f.dialer.AddFlags(fs)
	f.dialer.AddControllerFlag(fs)
	f.ops.AddFlags(fs)
	logs.AddFlags(fs)
	args, err := cli.Parse(fs, env.Args)
	if err != nil {
		return nil, err
	}
	if f.log, _, err = logs.NewLogger(env.Stderr); err != nil {
		return nil, cli.Usage("%w", err)
	}
	f.packaging = media.Packaging(packaging)
	switch {
	case len(args) != 1:
		return nil, cli.Usage("want one argument, the relay's URL, as moqt://localhost:4443 (see moq-pub --help)")
	case f.packaging != media.CMAF && f.packaging != media.LOC:
		return nil, cli.Usage("--packaging %q: want cmaf or loc", packaging)
	case f.synthetic && (f.input != "-" || f.loop):
		return nil, cli.Usage("--synthetic goes without --input and --loop")
	case f.loop && f.input == "-":
		return nil, cli.Usage("--loop needs a file: use --input")
	}
	f.dialer.URL = args[0]
	if err := f.dialer.Check(f.log); err != nil {
		return nil, err
	}
	f.namespace, err = cli.ParseNamespace(namespace)
	return f, err
}

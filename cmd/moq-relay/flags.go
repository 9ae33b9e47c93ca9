package main

import (
	"strings"
	"time"

	"golang.org/x/crypto/acme"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/cmd/internal/frames"
	"github.com/moq-c4/moq-c4/internal/ops"
	"github.com/moq-c4/moq-c4/relay"
)

const help = `
moq-relay passes live tracks from publishers to subscribers: MOQT over QUIC and over WebTransport on one UDP port.

  moq-relay
      with a development certificate; its SHA-256 is at http://localhost:4443/certificate.sha256
  moq-relay --cert fullchain.pem --key key.pem --listen :443
      with a real one, read again when the files change
  moq-relay status
      what a running relay is doing; see moq-relay status --help

SIGTERM sends GOAWAY, waits until the sessions have gone or --drain is over, and exits 0.
`

type flags struct {
	listen    string
	ops       string
	cert, key string
	certNames string
	origins   string
	qlog      string
	cc        cli.ControllerFlag
	drain     time.Duration
	log       ops.LogConfig
	relay     relay.Config

	acme           acmeFlags
	qlogEvery      int
	qlogBytes      int64
	trackMetrics   int
	deliverySample int
}

func parseFlags(env cli.Env) (*flags, error) {
	f := &flags{}
	fs := cli.NewFlags("moq-relay", help, env.Stderr)
	fs.StringVar(&f.listen, "listen", ":4443", "UDP `address` of MOQT; the TCP port of the same number serves pages and the certificate's hash")
	fs.StringVar(&f.ops, "ops", ops.DefaultAddr, "`address` of metrics, health and profiles; \"off\" for none")
	fs.IntVar(&f.trackMetrics, "track-metrics", 0, "`number` of tracks that have metrics of their own, by name; the first that are carried")
	fs.IntVar(&f.deliverySample, "delivery-sample", 64, "of how many connections one tells when frames were acknowledged; 0: none does")
	fs.StringVar(&f.cert, "cert", "", "certificate chain `file` (PEM); without it a development certificate is made")
	fs.StringVar(&f.key, "key", "", "private key `file` (PEM)")
	fs.StringVar(&f.acme.domains, "acme-domains", "", "`names` to get a certificate for from an ACME authority, comma separated")
	fs.StringVar(&f.acme.cache, "acme-cache", "", "`directory` that keeps the account and the certificates of --acme-domains")
	fs.StringVar(&f.acme.email, "acme-email", "", "`address` that the authority may write to")
	fs.StringVar(&f.acme.http, "acme-http", ":80", "TCP `address` where the authority asks; it has to be port 80 from outside")
	fs.StringVar(&f.acme.directory, "acme-directory", acme.LetsEncryptURL, "`URL` of the authority")
	fs.StringVar(&f.certNames, "cert-names", "", "further `names` and addresses of the development certificate, comma separated")
	fs.StringVar(&f.origins, "origins", "", "`origins` whose pages may connect, comma separated; all if empty")
	fs.StringVar(&f.qlog, "qlog", "", "`directory` that gets qlog files of connections")
	fs.IntVar(&f.qlogEvery, "qlog-every", 1, "of how many connections one gets a qlog file; 0: none, until the admin API says otherwise")
	fs.Int64Var(&f.qlogBytes, "qlog-bytes", 1<<30, "`bytes` of qlog files at most; the oldest are deleted")
	f.cc.AddFlags(fs)
	fs.DurationVar(&f.drain, "drain", 10*time.Second, "how long sessions may stay after SIGTERM")
	fs.Int64Var(&f.relay.CacheBytes, "cache-bytes", 256<<20, "`bytes` cached over all tracks")
	fs.IntVar(&f.relay.CacheTrackBytes, "cache-track-bytes", 32<<20, "`bytes` cached of one track; a larger group cannot be carried")
	fs.DurationVar(&f.relay.CacheAge, "cache-age", 10*time.Second, "how long a group is kept after the next one has begun")
	fs.DurationVar(&f.relay.MaxLag, "max-lag", 2*time.Second, "how long a subscriber may go on with a group after the next one has begun")
	fs.DurationVar(&f.relay.Linger, "linger", 5*time.Second, "how long a track is fetched after its last subscriber left; negative: not at all")
	fs.DurationVar(&f.relay.PublisherGrace, "publisher-grace", 3*time.Second, "how long subscribers are kept when their publisher was lost; negative: not at all")
	fs.DurationVar(&f.relay.RendezvousMax, "rendezvous-max", time.Minute, "how long a SUBSCRIBE may wait for its publisher; negative: not at all")
	fs.IntVar(&f.relay.MaxSessions, "max-sessions", 16384, "sessions at once")
	fs.IntVar(&f.relay.MaxTracks, "max-tracks", 16384, "tracks carried at once")
	fs.IntVar(&f.relay.MaxNamespaces, "max-namespaces", 16384, "namespaces announced at once")
	fs.DurationVar(&f.relay.FillTimeout, "fill-timeout", 5*time.Second, "how long a FETCH waits for publishers to send what is not cached; negative: they are not asked")
	fs.IntVar(&f.relay.SessionMaxTracks, "session-max-tracks", 1024, "tracks that a session publishes and subscribes to at once")
	fs.IntVar(&f.relay.SessionMaxNamespaces, "session-max-namespaces", 1024, "namespaces that a session announces at once")
	fs.IntVar(&f.relay.SessionRequestRate, "session-request-rate", 2000, "requests of a session in a second; negative: no bound")
	fs.BoolVar(&f.relay.JoinAtObject, "join-at-object", false, "begin a LargestObject subscription with the next object, as the draft has it, not with the current group")
	f.log.AddFlags(fs)
	args, err := cli.Parse(fs, env.Args)
	if err != nil {
		return nil, err
	}
	switch {
	case len(args) > 0:
		return nil, cli.Usage("moq-relay takes no arguments, but got %q", args[0])
	case (f.cert == "") != (f.key == ""):
		return nil, cli.Usage("--cert and --key go together")
	case f.cert != "" && f.certNames != "":
		return nil, cli.Usage("--cert-names is for the development certificate, not for --cert")
	case f.trackMetrics < 0 || f.trackMetrics > frames.DefaultTracks:
		return nil, cli.Usage("--track-metrics must be from 0 to %d", frames.DefaultTracks)
	case f.acme.domains != "" && (f.cert != "" || f.certNames != ""):
		return nil, cli.Usage("--acme-domains goes without --cert and --cert-names")
	case (f.acme.domains == "") != (f.acme.cache == ""):
		return nil, cli.Usage("--acme-domains and --acme-cache go together")
	case f.acme.domains != "" && len(list(f.acme.domains)) == 0:
		return nil, cli.Usage("--acme-domains %q has no name", f.acme.domains)
	case f.qlogEvery < 0 || f.qlogBytes <= 0:
		return nil, cli.Usage("--qlog-every must not be negative, --qlog-bytes must be positive")
	case f.deliverySample < 0:
		return nil, cli.Usage("--delivery-sample must not be negative")
	case f.relay.CacheBytes <= 0 || f.relay.CacheTrackBytes <= 0:
		return nil, cli.Usage("--cache-bytes and --cache-track-bytes must be positive")
	case f.relay.CacheAge <= 0 || f.relay.MaxLag <= 0 || f.drain < 0:
		return nil, cli.Usage("--cache-age and --max-lag must be positive, --drain not negative")
	case f.relay.MaxSessions <= 0 || f.relay.MaxTracks <= 0 || f.relay.MaxNamespaces <= 0:
		return nil, cli.Usage("--max-sessions, --max-tracks and --max-namespaces must be positive")
	case f.relay.SessionMaxTracks <= 0 || f.relay.SessionMaxNamespaces <= 0 || f.relay.SessionRequestRate == 0:
		return nil, cli.Usage("--session-max-tracks and --session-max-namespaces must be positive, --session-request-rate not 0")
	case f.relay.FillTimeout == 0:
		return nil, cli.Usage("--fill-timeout must not be 0; a negative one means that publishers are not asked")
	}
	return f, nil
}

// list splits a comma-separated flag.
func list(s string) (items []string) {
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

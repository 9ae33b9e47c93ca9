package main

import (
	"crypto/rand"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
)

const help = `
moq-interop runs test cases against a relay and reports them in TAP version 14.

  moq-interop --relay moqt://localhost:4443 --tls-disable-verify
      all cases over QUIC; https://localhost:4443 is WebTransport
  moq-interop -r https://localhost:4443 -t announce-subscribe -v
      one case, with what happens on the connections
  moq-interop --list
      the names of the cases
  moq-interop -r moqt://localhost:4443 -t announce-subscribe-race --rounds 1000
      a thousand announcements, each followed at once by a subscription

The environment can say the same: RELAY_URL, TESTCASE, TLS_DISABLE_VERIFY=1 and VERBOSE=1; flags come first. The exit code is
0 if all cases passed, 1 if one failed, 127 for a case that there is not.
`

const defaultRelay = "https://localhost:4443"

type flags struct {
	relay    string
	cases    []testCase
	list     bool
	verbose  bool
	insecure bool
	draft    int
	requests uint64
	rounds   int
	parallel int
	run      string // makes the namespaces of this run its own
	log      *slog.Logger
}

// fromEnv returns what the environment says, or a default.
func fromEnv(name, def string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return def
}

func parseFlags(env cli.Env) (*flags, error) {
	f := &flags{run: strings.ToLower(rand.Text()[:8])}
	fs := cli.NewFlags("moq-interop", help, env.Stderr)
	var only string
	both := func(long, short string, define func(name string)) {
		define(long)
		define(short)
	}
	both("relay", "r", func(name string) {
		fs.StringVar(&f.relay, name, fromEnv("RELAY_URL", defaultRelay), "`URL` of the relay: moqt:// is QUIC, https:// WebTransport")
	})
	both("test", "t", func(name string) {
		fs.StringVar(&only, name, fromEnv("TESTCASE", ""), "`name` of the case to run; all if empty")
	})
	both("list", "l", func(name string) { fs.BoolVar(&f.list, name, false, "list the names of the cases") })
	both("verbose", "v", func(name string) {
		fs.BoolVar(&f.verbose, name, os.Getenv("VERBOSE") == "1", "say on standard error what happens")
	})
	fs.BoolVar(&f.insecure, "tls-disable-verify", os.Getenv("TLS_DISABLE_VERIFY") == "1", "accept any certificate")
	fs.IntVar(&f.draft, "draft", 0, "`number` of the only draft to offer; 0 offers all")
	fs.Uint64Var(&f.requests, "assume-requests", 0, "`MAX_REQUEST_ID` of a relay of draft-16 that says none; the draft has 0, so that nothing may be asked")
	fs.IntVar(&f.rounds, "rounds", 100, "`number` of rounds of announce-subscribe-race")
	fs.IntVar(&f.parallel, "parallel", 8, "`number` of rounds of announce-subscribe-race at once")
	args, err := cli.Parse(fs, env.Args)
	if err != nil {
		return nil, err
	}
	if len(args) > 0 {
		return nil, cli.Usage("moq-interop takes no arguments, but got %q; the relay goes with --relay", args[0])
	}
	if u, err := url.Parse(f.relay); err != nil || u.Host == "" || u.Scheme != "moqt" && u.Scheme != "https" {
		return nil, cli.Usage("--relay %q: want moqt://host:port/path for QUIC or https://host:port/path for WebTransport", f.relay)
	}
	if f.rounds <= 0 || f.parallel <= 0 {
		return nil, cli.Usage("--rounds and --parallel must be positive")
	}
	if f.cases = cases; only != "" {
		if f.cases = find(only); f.cases == nil {
			return nil, cli.Unsupported("--test %q: there is no such case (see --list)", only)
		}
	}
	f.log = slog.New(slog.DiscardHandler)
	if f.verbose {
		f.log = slog.New(slog.NewTextHandler(env.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return f, nil
}

package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		args, rest []string
		n          int
		b          bool
		err        string
	}{
		{args: nil},
		{args: []string{"--n", "3", "url"}, rest: []string{"url"}, n: 3},
		{args: []string{"url", "--n=3", "-b", "file"}, rest: []string{"url", "file"}, n: 3, b: true},
		{args: []string{"url", "--", "-b"}, rest: []string{"url", "-b"}},
		{args: []string{"url", "--wrong"}, err: "flag provided but not defined: -wrong (see x --help)"},
		{args: []string{"--n", "many"}, err: `invalid value "many" for flag -n: parse error (see x --help)`},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			var out bytes.Buffer
			fs := NewFlags("x", "x does things.\n", &out)
			n := fs.Int("n", 0, "a `number`")
			b := fs.Bool("b", false, "a switch")
			rest, err := Parse(fs, tt.args)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Fatalf("error %v, want %s", err, tt.err)
				}
				if out.Len() != 0 {
					t.Errorf("printed %q; the error is all there should be", &out)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(rest, tt.rest) || *n != tt.n || *b != tt.b {
				t.Errorf("got %q, n %d, b %v", rest, *n, *b)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	fs := NewFlags("x", "x does things.\n", &out)
	fs.Int("number", 7, "a `number` of things")
	_, err := Parse(fs, []string{"--help"})
	if !errors.Is(err, flag.ErrHelp) {
		t.Fatalf("error %v, want ErrHelp", err)
	}
	for _, want := range []string{"x does things.", "--number number", "a number of things (default 7)", "Exit codes"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help lacks %q:\n%s", want, &out)
		}
	}
}

func TestExitCode(t *testing.T) {
	live := context.Background()
	cancelled, cancel := context.WithCancel(live)
	cancel()
	for _, tt := range []struct {
		ctx  context.Context
		err  error
		want int
	}{
		{live, nil, ExitOK},
		{live, flag.ErrHelp, ExitOK},
		{live, errors.New("no"), ExitFailed},
		{live, context.Canceled, ExitFailed},
		{cancelled, fmt.Errorf("dial: %w", context.Canceled), ExitOK},
		{live, fmt.Errorf("start: %w", Usage("bad flag")), ExitUsage},
		{live, NotFound("no namespace %q", "x"), ExitNotFound},
	} {
		var out bytes.Buffer
		if got := ExitCode(tt.ctx, tt.err, &out); got != tt.want {
			t.Errorf("%v: exit code %d, want %d", tt.err, got, tt.want)
		}
		if strings.Count(out.String(), "\n") > 1 {
			t.Errorf("%v: printed more than one line: %q", tt.err, &out)
		}
	}
}

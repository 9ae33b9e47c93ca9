package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/quicnet"
)

// errFailed makes the exit code 1. What failed has been printed.
var errFailed = errors.New("some cases failed")

func run(ctx context.Context, env cli.Env) error {
	f, err := parseFlags(env)
	if err != nil {
		return err
	}
	if f.list {
		for _, c := range cases {
			fmt.Fprintln(env.Stdout, c.name)
		}
		return nil
	}
	dial := quicnet.DialConfig{Insecure: f.insecure}
	dial.Logger = f.log
	if f.draft != 0 {
		dial.Protocols = []string{"moqt-" + strconv.Itoa(f.draft)}
	}
	out := newTAP(env.Stdout, len(f.cases), "moq-interop of moq-c4", "Relay: "+f.relay)
	for _, c := range f.cases {
		began := time.Now()
		t := newTester(f, dial, c)
		err := t.run(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		out.result(c.name, time.Since(began), t.report, err)
	}
	if out.failed > 0 {
		return errFailed
	}
	return nil
}

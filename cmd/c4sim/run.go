package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
)

const help = `
c4sim runs congestion-control scenarios in virtual time, packet by packet.

  c4sim run NAME|FILE... [flags]   run scenarios; "all" means all built-in ones
  c4sim list                       built-in scenarios and controllers
  c4sim format                     how to write a scenario file
  c4sim report [flags]             compare with the reference results, as Markdown
  c4sim survey [flags]             base line, fairness and RTT fairness measurements

c4sim COMMAND --help shows the flags. A scenario is a text file; "c4sim list NAME"
prints a built-in one, to copy and change.
`

// run is the whole command.
func run(ctx context.Context, env cli.Env) error {
	commands := map[string]cli.Run{
		"run":    runScenarios,
		"list":   runList,
		"format": runFormat,
		"report": runReport,
		"survey": runSurvey,
	}
	if len(env.Args) == 0 {
		fmt.Fprint(env.Stderr, help[1:])
		return cli.Usage("no command")
	}
	switch env.Args[0] {
	case "help", "-h", "-help", "--help":
		fmt.Fprint(env.Stdout, help[1:])
		return flag.ErrHelp
	}
	command, ok := commands[env.Args[0]]
	if !ok {
		return cli.Usage("unknown command %q (see c4sim --help)", env.Args[0])
	}
	env.Args = env.Args[1:]
	return command(ctx, env)
}

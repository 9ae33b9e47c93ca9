package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/sim"
	"github.com/moq-c4/moq-c4/sim/scenario"
)

const listHelp = `
c4sim list shows the built-in scenarios and the controllers; c4sim list NAME...
prints the files of scenarios, to copy and change.
`

func runList(_ context.Context, env cli.Env) error {
	fs := cli.NewFlags("c4sim list", listHelp, env.Stderr)
	args, err := cli.Parse(fs, env.Args)
	if err != nil {
		return err
	}
	for _, name := range args {
		text, err := scenario.Text(name)
		if err != nil {
			return cli.NotFound("%w", err)
		}
		env.Stdout.Write(text)
	}
	if len(args) > 0 {
		return nil
	}
	all, err := scenario.All(sim.Controllers())
	if err != nil {
		return err
	}
	group := ""
	for _, sc := range all {
		if sc.Group != group {
			group = sc.Group
			fmt.Fprintf(env.Stdout, "%s\n", group)
		}
		fmt.Fprintf(env.Stdout, "  %-17s %s\n", sc.Name, sc.About)
	}
	fmt.Fprintf(env.Stdout, "controllers\n  %s\n", strings.Join(sim.Controllers(), " "))
	return nil
}

func runFormat(_ context.Context, env cli.Env) error {
	fs := cli.NewFlags("c4sim format", "c4sim format prints how to write a scenario file.\n", env.Stderr)
	if _, err := cli.Parse(fs, env.Args); err != nil {
		return err
	}
	_, err := fmt.Fprint(env.Stdout, scenario.Format())
	return err
}

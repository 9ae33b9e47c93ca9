package main

import (
	"context"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
)

func runReport(ctx context.Context, env cli.Env) error { return cli.Usage("not yet") }
func runSurvey(ctx context.Context, env cli.Env) error { return cli.Usage("not yet") }

package main

import (
	"testing"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/cmd/internal/clitest"
	"github.com/moq-c4/moq-c4/internal/ops"
	"github.com/moq-c4/moq-c4/relay"
)

func TestMetricsAreDocumented(t *testing.T) {
	m := newMeasurement(ops.NewRegistry(clitest.TestBuild))
	cfg := relay.Config{}
	m.attach(&cfg, new(cli.Dialer))
	m.export(relay.New(cfg))
	clitest.MetricsDocumented(t, m.reg, "moq-pub")
}

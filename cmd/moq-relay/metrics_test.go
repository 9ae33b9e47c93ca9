package main

import (
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/clitest"
	"github.com/moq-c4/moq-c4/cmd/internal/frames"
	"github.com/moq-c4/moq-c4/quicnet"
	"github.com/moq-c4/moq-c4/relay"
)

// testInstruments are those of a relay with every metric that there is.
func testInstruments() *instruments {
	in := newInstruments(clitest.TestBuild)
	cfg := relay.Config{}
	in.attach(&cfg, 1)
	in.export(relay.New(cfg), new(quicnet.Listener), 1)
	return in
}

func TestMetricsAreDocumented(t *testing.T) {
	in := testInstruments()
	in.frames.Delay(frames.Ingest, "video", 4).Observe(time.Millisecond) // they show from then on, and are linted
	in.frames.Lateness("video", 4).Observe(time.Millisecond)
	clitest.MetricsDocumented(t, in.reg, "moq-relay")
}

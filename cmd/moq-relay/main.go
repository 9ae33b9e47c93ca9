// Command moq-relay is a Media-over-QUIC relay.
//
// run.go wires its parts and runs them: the relay, its transports, the pages of package web, certificates (acme.go) and what
// operators see of it. That is metrics.go and instruments.go (metrics), admin.go (the admin API), page.go (the live page) and
// status.go (the command "moq-relay status").
package main

import (
	"os"
	"runtime/debug"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
)

// gcPercent trades processor time for memory where GOGC does not say otherwise. Most of a relay's memory are buffers
// that wait for an acknowledgement, and the pools they come from, which the garbage collector empties: with 100
// subscribers it brings a fifth less memory for one or two percent more processor time.
const gcPercent = 50

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	cli.Main(run)
}

// Command moq-sub receives media from a Media-over-QUIC relay: it lists, records and measures.
package main

import "github.com/moq-c4/moq-c4/cmd/internal/cli"

func main() { cli.Main(run) }

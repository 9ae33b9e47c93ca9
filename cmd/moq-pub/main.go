// Command moq-pub publishes live media on a Media-over-QUIC relay.
package main

import "github.com/moq-c4/moq-c4/cmd/internal/cli"

func main() { cli.Main(run) }

// Command moq-bench loads a Media-over-QUIC relay and measures it.
package main

import "github.com/moq-c4/moq-c4/cmd/internal/cli"

func main() { cli.Main(run) }

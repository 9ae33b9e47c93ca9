// Command c4sim runs congestion-control scenarios in virtual time.
package main

import "github.com/moq-c4/moq-c4/cmd/internal/cli"

func main() { cli.Main(run) }

// Command moq-link puts a bad link in front of a server: a UDP proxy with the simulator's link in real time.
package main

import "github.com/moq-c4/moq-c4/cmd/internal/cli"

func main() { cli.Main(run) }

// Command moq-sub receives media from a Media-over-QUIC relay: it lists, records and measures.
//
// The files along the path of a frame: session.go (requests) and catalog.go (what there is), receive.go (subscriptions and their
// streams), late.go (what is given up), sequence.go (the order of groups), sink.go (objects to frames), simulcast.go and
// splice.go (one video of several renditions), record.go (the file), stats.go, csv.go and metrics.go (figures). list.go lists.
package main

import "github.com/moq-c4/moq-c4/cmd/internal/cli"

func main() { cli.Main(run) }

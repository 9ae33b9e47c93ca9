// Package frames measures frame delay for the commands: what the histograms are called, which labels they have, and
// where the figures come from.
//
//   - [New] makes the [Metrics] of a process.
//   - [Metrics.Observer] measures the stages that a relay sees, for relay.Config.
//   - [Metrics.Delay] and [Metrics.Lateness] are for those who know a frame's delay themselves.
//
// Labels are the kind of media, the publisher's priority and the stage, all with few values: nothing that peers do adds
// series. A relay does not look into objects, so it takes the kind from the beginning of the track's name.
package frames

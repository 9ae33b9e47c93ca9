// Package plot draws simulations as SVG: the life of one connection over time,
// distributions over many runs, and heat maps.
//
// A [Recorder] is a [sim.Tracer] that collects one flow of a run;
// [Recorder.Figure] makes a [Figure] of it. [Figure.Add] adds panels of one's own,
// such as those of [Distribution] and [HeatMap], and [Figure.WriteTo] writes the
// file. Equal inputs give equal files.
package plot

// Package report writes the results of the simulator as Markdown: how far it is
// from the reference, and how the default C4 compares with the drafts' figures.
// The tables are made from batches of runs; only the explanations are written by
// hand, in reasons.go.
package report

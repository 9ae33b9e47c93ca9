// Package catalog builds and reads the two catalogs that announce the tracks of
// a broadcast: MSF and hang. Both announce the same tracks, so that players of
// either family work.
package catalog

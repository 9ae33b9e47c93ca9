// Package catalog builds and reads the two catalogs that announce the tracks of
// a broadcast: MSF and hang. Both announce the same tracks, so that players of
// either family work.
//
// # Limitations
//
// Delta updates of MSF are neither written nor read: [ParseMSF] returns media.ErrUnsupported for one. The catalogs that are
// published are whole.
package catalog

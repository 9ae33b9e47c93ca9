// Package media turns an encoder's output into timestamped frames, and frames
// into what travels: groups, objects and catalogs. It knows codecs and
// containers and nothing of any network protocol; what it hands over are plain
// values that the commands turn into MOQT objects.
//
// The types in order of use:
//
//   - [Source] yields [Frame] after [Frame], each one access unit of one [Track]
//     (packages fmp4 and synthetic hold the sources). [Pacer] says when a frame
//     of a source that is not live is due.
//   - [Timeline] moves source timestamps onto one wall-clock timeline that never
//     goes back, whatever the source does.
//   - [Grouper] numbers groups and objects.
//   - [Packet] is one object ready to be sent, of one [Rendition]: a track under
//     the name it is published by. Package cmaf or loc makes its payload and
//     properties, package broadcast does all of the above in one call, package
//     catalog says to subscribers what there is.
//   - [Delay] measures how long frames take.
//
// # Texts and tags
//
//	[MSF]   draft-ietf-moq-msf, catalog version "draft-01"
//	[CMSF]  draft-ietf-moq-cmsf-00
//	[LOC]   draft-ietf-moq-loc-04
//	[hang]  draft-lcurley-moq-hang
//	[BMFF]  ISO/IEC 14496-12, the box structure of fragmented MP4
//
// # Timestamps
//
// A frame's times are integers in its track's timescale, so nothing is lost to
// rounding between reading and writing. After [Timeline.Map] they count from the
// Unix epoch.
//
// # Limitations
//
// H.264, H.265, AV1 and VP9; AAC and Opus. No encryption, no captions, no data
// tracks: tracks of other kinds are skipped by the readers, which say so.
package media

// Package fmp4 reads and writes fragmented MP4, the format in which ffmpeg hands
// a live stream through a pipe.
//
// [Reader] is a media.Source over an io.Reader, [File] one over a file that can
// be played for ever. [Writer] records. [ParseFragments] and [AppendFragment]
// convert between samples and one moof with its mdat.
package fmp4

// Package report is what a player tells its relay about the frames it has shown:
// how long each was on its way from capture to screen. [Append] writes a
// [Report], [Decode] reads one; both are pure.
//
// A report is the payload of one object. The player offers it with PUBLISH, on
// the session over which it receives, as the track
//
//	namespace  .session / moq-c4
//	name       frame-delay
//
// which by its first field is a matter between the two ends of the session: a
// relay never hands it on, and one that does not know it refuses it with
// DOES_NOT_EXIST, upon which the player reports nothing.
// [MOQT-18] Section 3.2.2, Session-Level Tracks and Namespaces
//
// Each report is a group of its own with one object, number 0, about the time
// since the one before. Nothing in it says who watches, or what.
//
// # Format
//
// All fields are unsigned integers in base 128 with the lowest seven bits first
// (as encoding/binary's Uvarint), at most 2^32-1.
//
//	Report {
//	  Version (1),
//	  Period,        milliseconds that the report is about
//	  Stalled,       milliseconds of them without a new picture though there should have been
//	  Track Count,   at most 16
//	  Track {
//	    Kind,        1 video, 2 audio
//	    Priority,    publisher priority of its objects, 0 to 255
//	    Cancelled,   groups given up because they were too late
//	    Dropped,     groups not shown to their end for other reasons; for audio, packets lost
//	    Unknown,     frames shown or heard whose delay is not known, for want of a capture time or of clocks that agree
//	    Step Count,  at most 256
//	    Step {
//	      Delay,     milliseconds, above the delay of the step before; of the first, above 0
//	      Frames,    how many had this delay, at least 1
//	    } ...
//	  } ...
//	}
//
// Delays are rounded to the nearest millisecond. A step's Delay is a difference:
// 0 is allowed only for the first. What follows the last track is ignored, so
// that fields can be added; a change of any other kind gets another Version.
package report

package media

import "time"

// Grouper numbers the groups and objects of all tracks of one source.
type Grouper struct{ first uint64 }

// NewGrouper starts at the group FirstGroup(now).
func NewGrouper(now time.Time) *Grouper { return &Grouper{first: FirstGroup(now)} }

// FirstGroup is the id of the first group of anything that starts at now:
// milliseconds since the Unix epoch. It is above every id given out before,
// also by a process that ran earlier, as long as groups last 1 ms or more.
func FirstGroup(now time.Time) uint64 { return uint64(now.UnixMilli()) }

// Position is a place in a track.
type Position struct{ Group, Object uint64 }

// Place gives the position of a frame, or false if the frame cannot be sent
// because no key frame was seen yet.
func (g *Grouper) Place(f Frame) (Position, bool) { return Position{}, false }

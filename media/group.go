package media

import (
	"slices"
	"time"
)

// Grouper numbers the groups and objects of all tracks of one source. Within a
// track
//
//   - group ids rise by exactly 1, and object ids are 0, 1, 2 and so on;
//   - a video group begins at a key frame and lasts to the next;
//   - every frame of sound is a group by itself. A datagram can be lost, and only
//     so is it clear at once which one was; on streams one that is late holds up
//     no other, and a player skips it at the cost of a frame or two.
//     [LOC] Section "Application with one audio track"
//
// The first id is the time of the start in milliseconds, so that ids rise over
// restarts of the process too. [MSF] Section "Group numbering"
//
// Video tracks whose key frames are at the same times have the same group ids at
// these times, also when one of them begins later or misses some.
// [MSF] Section "Time-alignment", [CMSF] Section "Switching sets and tracks"
// Only there may an id rise by more than 1: after a hole in the track.
// A track with key frames elsewhere is numbered by itself; Misaligned tells.
type Grouper struct {
	first  uint64
	tracks map[uint32]*groupTrack
	starts []groupStart // of the aligned video groups of late, in order
}

// groupStart is where a group begins in all aligned tracks.
type groupStart struct {
	id  uint64
	pts time.Duration
}

// groupTrack is the state of one track.
type groupTrack struct {
	open    bool // a group has begun
	pos     Position
	end     time.Duration // decode time at which the latest frame ends
	alone   bool          // numbered by itself
	run     int
	waiting bool // frames are dropped until a key frame comes
	hole    bool // the source has started over since the latest group
}

const (
	// sameStart is how far apart the key frames of two renditions may be to be the
	// same: rounding to milliseconds, but less than half a frame.
	sameStart = 4 * time.Millisecond
	// maxStarts is how many group starts are remembered, and so by how many groups
	// a rendition may come later than another.
	maxStarts = 64
)

// FirstGroup is the id of the first group of anything that starts at now:
// milliseconds since the Unix epoch. It is above every id given out before, also
// by a process that ran earlier, as long as groups last 1 ms or more.
func FirstGroup(now time.Time) uint64 { return uint64(now.UnixMilli()) }

// NewGrouper starts at the group FirstGroup(now).
func NewGrouper(now time.Time) *Grouper {
	return &Grouper{first: FirstGroup(now), tracks: map[uint32]*groupTrack{}}
}

// Position is a place in a track.
type Position struct{ Group, Object uint64 }

// Place gives the position of a frame, which Timeline.Map has to have returned.
// It reports false for a frame that cannot be sent, because no key frame came
// since the start or since the source started over.
func (g *Grouper) Place(f Frame) (Position, bool) {
	tr := g.tracks[f.Track.ID]
	if tr == nil {
		tr = &groupTrack{run: f.Run}
		g.tracks[f.Track.ID] = tr
	}
	if tr.run != f.Run {
		tr.run, tr.waiting, tr.hole, tr.alone = f.Run, true, true, false
	}
	if tr.waiting || !tr.open {
		tr.waiting = !f.Key
		if !f.Key {
			return Position{}, false
		}
	}
	switch {
	case f.Track.Kind == Audio:
		tr.begin(g.soundGroup(tr))
	case f.Key:
		tr.begin(g.videoGroup(tr, f))
	default:
		tr.pos.Object++
	}
	tr.end = f.DTSTime() + f.Length()
	return tr.pos, true
}

// Misaligned tells whether the groups of a video track do not begin where those
// of the others do.
func (g *Grouper) Misaligned(t *Track) bool {
	tr := g.tracks[t.ID]
	return tr != nil && tr.alone
}

func (tr *groupTrack) begin(id uint64) { tr.open, tr.pos = true, Position{Group: id} }

// soundGroup is the id of the next group of sound.
func (g *Grouper) soundGroup(tr *groupTrack) uint64 {
	if !tr.open {
		return g.first
	}
	return tr.pos.Group + 1
}

// videoGroup is the id of the group that begins with a key frame.
func (g *Grouper) videoGroup(tr *groupTrack, f Frame) uint64 {
	pts := f.PTSTime()
	next := tr.pos.Group + 1
	if tr.alone {
		return next
	}
	id, found := g.sharedGroup(pts)
	hole := tr.hole || f.DTSTime()-tr.end > f.Length()
	tr.hole = false
	switch {
	case found && (!tr.open || id == next || id > next && hole):
		return id
	case !tr.open:
		next = g.first
		if len(g.starts) > 0 {
			next = g.starts[len(g.starts)-1].id
		}
	}
	tr.alone = true
	return next
}

// sharedGroup is the group that begins at pts in all aligned tracks. It reports
// false if the tracks seen before have no key frame there and have passed it.
func (g *Grouper) sharedGroup(pts time.Duration) (uint64, bool) {
	if len(g.starts) == 0 {
		return g.share(groupStart{id: g.first, pts: pts}), true
	}
	for _, s := range slices.Backward(g.starts) {
		if diff := pts - s.pts; diff > -sameStart && diff < sameStart {
			return s.id, true
		}
	}
	newest := g.starts[len(g.starts)-1]
	if pts < newest.pts {
		return 0, false
	}
	return g.share(groupStart{id: newest.id + 1, pts: pts}), true
}

func (g *Grouper) share(s groupStart) uint64 {
	g.starts = append(g.starts, s)
	if len(g.starts) > maxStarts {
		g.starts = g.starts[1:]
	}
	return s.id
}

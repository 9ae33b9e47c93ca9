package moqt

import (
	"fmt"
	"sync"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// TrackRules finds out that a track is malformed from what one publisher sends of it over many streams and datagrams. It
// remembers the newest groups only (ruleGroups of them), and of each a bounded number of subgroups; what is older passes.
// All errors match [wire.ErrMalformedTrack]. After one, cancel the subscription with [wire.StreamMalformedTrack]; a relay ends
// those downstream with [wire.DoneMalformedTrack]. Payloads are not compared.
//
// The zero value is ready for use. All methods may be called from several goroutines.
//
// [MOQT-18] Section 2.4.2, Malformed Tracks; Sections 12.7 to 12.9
type TrackRules struct {
	mu       sync.Mutex // guards what follows
	groups   [ruleGroups]groupRules
	ended    bool // the end of the track is known
	trackEnd wire.Location
	largest  wire.Location
	any      bool // there was an object
}

const (
	ruleGroups    = 16 // groups that are remembered
	ruleSubgroups = 32 // subgroups of a group that are remembered
	ruleGaps      = 16 // gaps in a group that are remembered
)

// groupRules is what is known of one group.
type groupRules struct {
	used      bool
	id        uint64
	ended     bool // end is known: no object has an id of end or above
	end       uint64
	smallest  uint64 // object seen
	largest   uint64 // object seen
	any       bool
	gap       wire.Opt[uint64] // Prior Group ID Gap
	gaps      []idGap          // Prior Object ID Gaps
	subgroups []subgroupRules
}

// idGap is a range of object ids, both included, that do not exist.
type idGap struct{ first, last uint64 }

// subgroupRules is what is known of one subgroup.
type subgroupRules struct {
	id          uint64
	hasPriority bool
	priority    uint8
	finished    bool
	last        uint64 // the final object, if finished
}

func malformedTrack(format string, args ...any) error {
	return fmt.Errorf("%w: %s", wire.ErrMalformedTrack, fmt.Sprintf(format, args...))
}

// Object takes an object or the mark of an end. subgroup is absent for datagrams. priority is the publisher's, with the
// track's default filled in.
//
// "An Object with a particular Subgroup ID is received, but its Publisher Priority is different from that of the previous
// Object with the same Subgroup ID. ... An Object is received whose Object ID is larger than the final Object in the
// Subgroup. ... An Object is received in a Group whose Object ID is larger than the final Object in the Group. ... An
// Object is received whose Group and Object ID are larger than the final Object in the Track."
// [MOQT-18] Section 2.4.2, Malformed Tracks
func (r *TrackRules) Object(at wire.Location, subgroup wire.Opt[uint64], priority uint8, status wire.ObjectStatus, props wire.Properties, v wire.Version) error {
	parsed, err := props.Object(at, v)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended && !at.Less(r.trackEnd) && status == wire.ObjectNormal {
		return malformedTrack("object %v after the end of the track %v", at, r.trackEnd)
	}
	g := r.group(at.Group)
	if status != wire.ObjectNormal {
		return r.mark(g, at, status)
	}
	if err := r.gapBefore(at, parsed.PriorGroupIDGap); err != nil {
		return err
	}
	if g != nil {
		if err := g.object(at.Object, subgroup, priority, &parsed); err != nil {
			return err
		}
	}
	if !r.any || r.largest.Less(at) {
		r.largest, r.any = at, true
	}
	return nil
}

// mark takes an object that says where something ends. r.mu is held.
func (r *TrackRules) mark(g *groupRules, at wire.Location, status wire.ObjectStatus) error {
	if status == wire.ObjectEndOfTrack {
		if r.any && !r.largest.Less(at) {
			return malformedTrack("end of track at %v before object %v", at, r.largest)
		}
		r.ended, r.trackEnd = true, at
		return nil
	}
	if g == nil {
		return nil
	}
	return g.endsBefore(at.Object)
}

// SubgroupEnded takes the end of a subgroup stream by FIN, after all its objects. last is the id of its last object, and
// endOfGroup the bit of the stream's header.
//
// "A Subgroup is received over multiple transport streams terminated by FIN with different final Objects."
// [MOQT-18] Section 2.4.2, Malformed Tracks
func (r *TrackRules) SubgroupEnded(group, subgroup, last uint64, endOfGroup bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.group(group)
	if g == nil {
		return nil
	}
	if s := g.subgroup(subgroup); s != nil {
		if s.finished && s.last != last {
			return malformedTrack("subgroup %d of group %d ends with object %d and with %d", subgroup, group, s.last, last)
		}
		s.finished, s.last = true, last
	}
	if !endOfGroup || last == 1<<64-1 || g.ended && g.end == last { // the last is itself the mark of the end
		return nil
	}
	return g.endsBefore(last + 1)
}

// group returns what is known of a group; nil if it is too old. r.mu is held.
func (r *TrackRules) group(id uint64) *groupRules {
	oldest := &r.groups[0]
	for i := range r.groups {
		g := &r.groups[i]
		switch {
		case g.used && g.id == id:
			return g
		case !g.used && oldest.used, g.used && oldest.used && g.id < oldest.id:
			oldest = g
		}
	}
	if oldest.used && id < oldest.id {
		return nil
	}
	*oldest = groupRules{used: true, id: id}
	return oldest
}

// gapBefore takes the gap of groups before one. r.mu is held.
//
// "A Group contains more than one Object with different values for Prior Group ID Gap. ... An endpoint receives an Object
// with a Prior Group ID Gap covering an Object it previously received. ... An endpoint receives an Object with a Group ID
// within a previously communicated gap."
// [MOQT-18] Section 12.8, Prior Group ID Gap
func (r *TrackRules) gapBefore(at wire.Location, gap wire.Opt[uint64]) error {
	for i := range r.groups {
		g := &r.groups[i]
		if !g.used {
			continue
		}
		if n, ok := g.gap.Get(); ok && at.Group < g.id && at.Group >= g.id-n {
			return malformedTrack("group %d is in the gap before group %d", at.Group, g.id)
		}
		n, ok := gap.Get()
		if !ok {
			continue
		}
		if g.any && g.id < at.Group && g.id >= at.Group-n {
			return malformedTrack("the gap before group %d covers group %d", at.Group, g.id)
		}
		if was, ok := g.gap.Get(); ok && g.id == at.Group && was != n {
			return malformedTrack("group %d has gaps of %d and of %d groups before it", g.id, was, n)
		}
		if g.id == at.Group {
			g.gap = gap
		}
	}
	return nil
}

// object takes an object with status Normal.
func (g *groupRules) object(id uint64, subgroup wire.Opt[uint64], priority uint8, props *wire.ObjectProperties) error {
	if g.ended && id >= g.end {
		return malformedTrack("object %d of group %d, which ends before %d", id, g.id, g.end)
	}
	if sid, ok := subgroup.Get(); ok {
		if s := g.subgroup(sid); s != nil {
			switch {
			case s.hasPriority && s.priority != priority:
				return malformedTrack("subgroup %d of group %d has priorities %d and %d", sid, g.id, s.priority, priority)
			case s.finished && id > s.last:
				return malformedTrack("object %d of subgroup %d of group %d, whose last is %d", id, sid, g.id, s.last)
			}
			s.priority, s.hasPriority = priority, true
		}
	}
	// "An endpoint receives an Object with a Prior Object ID Gap covering an Object it previously received. ... An endpoint
	// receives an Object with an Object ID within a previously communicated gap."
	// [MOQT-18] Section 12.9, Prior Object ID Gap
	for _, gap := range g.gaps {
		if gap.first <= id && id <= gap.last {
			return malformedTrack("object %d of group %d is in a gap", id, g.id)
		}
	}
	if n := props.PriorObjectIDGap.Or(0); n > 0 {
		gap := idGap{id - n, id - 1}
		// Of the objects seen only the smallest and the largest id are known.
		if g.any && (gap.first <= g.smallest && g.smallest <= gap.last || gap.first <= g.largest && g.largest <= gap.last) {
			return malformedTrack("the gap before object %d of group %d covers an object", id, g.id)
		}
		if len(g.gaps) < ruleGaps {
			g.gaps = append(g.gaps, gap)
		}
	}
	if !g.any {
		g.smallest, g.largest, g.any = id, id, true
	}
	g.smallest, g.largest = min(g.smallest, id), max(g.largest, id)
	return nil
}

// endsBefore notes that no object of the group has an id of end or above.
func (g *groupRules) endsBefore(end uint64) error {
	switch {
	case g.ended && g.end != end:
		return malformedTrack("group %d ends before %d and before %d", g.id, g.end, end)
	case g.any && g.largest >= end:
		return malformedTrack("group %d ends before %d, and there was object %d", g.id, end, g.largest)
	}
	g.ended, g.end = true, end
	return nil
}

// subgroup returns what is known of a subgroup; nil if there is no room for it.
func (g *groupRules) subgroup(id uint64) *subgroupRules {
	for i := range g.subgroups {
		if g.subgroups[i].id == id {
			return &g.subgroups[i]
		}
	}
	if len(g.subgroups) == ruleSubgroups {
		return nil
	}
	g.subgroups = append(g.subgroups, subgroupRules{id: id})
	return &g.subgroups[len(g.subgroups)-1]
}

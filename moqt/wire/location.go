package wire

import (
	"cmp"
	"math"
)

// Location is the place of an object in a track.
//
// [MOQT-18] Section 1.4.2, Location Structure
type Location struct {
	Group  uint64
	Object uint64
}

// Compare returns -1, 0 or +1: by group, then by object.
func (l Location) Compare(m Location) int {
	if c := cmp.Compare(l.Group, m.Group); c != 0 {
		return c
	}
	return cmp.Compare(l.Object, m.Object)
}

// Less reports whether l comes before m.
func (l Location) Less(m Location) bool { return l.Compare(m) < 0 }

// FetchEnd returns the End Location that FETCH and FETCH_OK carry for a range
// whose last object is last: one more. The last object id of all, 2^64-1,
// becomes 0, which stands for the whole group.
//
// "End Location: The end Location, plus 1. A Location.Object value of 0 means the
// entire group is requested." [MOQT-18] Section 10.12.1, Standalone Fetch
func FetchEnd(last Location) Location {
	return Location{Group: last.Group, Object: last.Object + 1}
}

// FetchLast is the inverse of FetchEnd: the last location inside a range with the
// End Location end. For a whole group its object is 2^64-1.
func FetchLast(end Location) Location {
	if end.Object == 0 {
		return Location{Group: end.Group, Object: math.MaxUint64}
	}
	return Location{Group: end.Group, Object: end.Object - 1}
}

func (l Location) append(b []byte, v Version) []byte {
	return v.appendVarint(v.appendVarint(b, l.Group), l.Object)
}

// GroupOrder is the order in which groups are sent.
type GroupOrder uint8

// [MOQT-18] Section 10.2.8, GROUP ORDER Parameter
const (
	GroupOrderAscending  GroupOrder = 1
	GroupOrderDescending GroupOrder = 2
)

// valid reports whether the draft defines o.
func (o GroupOrder) valid() bool { return o == GroupOrderAscending || o == GroupOrderDescending }

// String returns "ascending", "descending" or "unknown".
func (o GroupOrder) String() string {
	switch o {
	case GroupOrderAscending:
		return "ascending"
	case GroupOrderDescending:
		return "descending"
	default:
		return "unknown"
	}
}

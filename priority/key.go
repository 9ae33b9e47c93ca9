package priority

import "cmp"

// Key is what decides about the place of a stream or datagram among those of its
// session.
//
// [MOQT-18] Section 7.2, Scheduling Algorithm
type Key struct {
	Subscriber uint8  // priority of the request
	Publisher  uint8  // priority of the subgroup or datagram
	Request    uint64 // which request, for the two fields that only count within one
	Descending bool   // group order of the request: the newest group first

	Group    uint64
	Subgroup uint64 // of a datagram: its object id
}

// class compares what counts between requests.
//
// "If two objects have different subscriber priorities associated with them, the
// one with the highest subscriber priority is scheduled to be sent first. ... If two
// objects have the same subscriber priority, but different publisher priorities,
// the one with the highest publisher priority is scheduled to be sent first."
// [MOQT-18] Section 7.2, Scheduling Algorithm
func (k *Key) class(o *Key) int {
	if c := cmp.Compare(k.Subscriber, o.Subscriber); c != 0 {
		return c
	}
	return cmp.Compare(k.Publisher, o.Publisher)
}

// within compares what counts within a request.
//
// "... but belong to two different groups of the same track, the group order of
// the associated subscription is used to decide the one that is scheduled to be
// sent first. ... and belong to the same group of the same track, the one with the
// lowest Subgroup ID (for objects with forwarding preference Subgroup), or the
// lowest Object ID (for objects with forwarding preference Datagram) is scheduled
// to be sent first."
// [MOQT-18] Section 7.2, Scheduling Algorithm
func (k *Key) within(o *Key) int {
	c := cmp.Compare(k.Group, o.Group)
	if k.Descending {
		c = -c
	}
	if c != 0 {
		return c
	}
	return cmp.Compare(k.Subgroup, o.Subgroup)
}

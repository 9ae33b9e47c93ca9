package relay

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// fetchBatch is how many objects of a group a FETCH looks up at a time, so that what it keeps beside the cache is bounded.
const fetchBatch = 64

// lastObject is the largest object id there can be: with it a location stands for the end of its group.
const lastObject = math.MaxUint64

// cached is one object that the cache holds, or that is coming in.
type cached struct {
	at     wire.Location
	gap    uint64 // so many objects right before it do not exist
	object objectRef
	header moqt.SubgroupHeader
	log    *subgroup      // holds the payload, or
	dgram  *moqt.Datagram // has it, or
	kept   *keptObject    // is it
}

// cachedGroup is what the cache knows of a group that it holds a part of.
type cachedGroup struct {
	id  uint64
	gap uint64 // so many groups right before it do not exist
}

// between returns the groups from first to last of which something is cached, by rising id.
func (t *track) between(first, last uint64) []cachedGroup {
	t.mu.Lock()
	defer t.mu.Unlock()
	var groups []cachedGroup
	for _, g := range t.groups {
		if g.id < first || g.id > last {
			continue
		}
		c := cachedGroup{id: g.id}
		for _, s := range g.subgroups {
			if o, _, ok := s.object(0); ok {
				c.gap = max(c.gap, groupGap(g.id, o.props))
			}
		}
		groups = append(groups, c)
	}
	for i := range t.datagrams {
		d := &t.datagrams[i].object
		if first <= d.Group && d.Group <= last {
			groups = append(groups, cachedGroup{id: d.Group, gap: groupGap(d.Group, d.Properties)})
		}
	}
	for _, k := range t.kept {
		if n := len(k.objects); n > 0 && first <= k.id && k.id <= last {
			groups = append(groups, cachedGroup{id: k.id, gap: max(k.gap, groupGap(k.id, k.objects[0].header.Properties))})
		}
	}
	slices.SortFunc(groups, func(a, b cachedGroup) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(b.gap, a.gap)) // the one that knows of a gap first
	})
	return slices.CompactFunc(groups, func(a, b cachedGroup) bool { return a.id == b.id })
}

// groupGap returns the Prior Group ID Gap of an object.
func groupGap(group uint64, props wire.Properties) uint64 {
	if len(props) == 0 {
		return 0
	}
	o, err := props.Object(wire.Location{Group: group, Object: lastObject}, logVersion)
	if err != nil {
		return 0
	}
	return o.PriorGroupIDGap.Or(0)
}

// objectsFrom returns the objects with status Normal of a group from some id on that may still be served from the cache, by
// rising id and without repeats, fetchBatch at most; more says that there are others. If end is set, no object has that id or
// a larger one.
func (t *track) objectsFrom(id, from uint64, now time.Time) (objects []cached, more bool, end wire.Opt[uint64]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ends := func(at uint64) {
		if e, ok := end.Get(); !ok || at < e {
			end = wire.Some(at)
		}
	}
	i, found := slices.BinarySearchFunc(t.groups, id, func(g *group, id uint64) int { return cmp.Compare(g.id, id) })
	if found {
		for _, s := range t.groups[i].subgroups {
			objects = append(objects, s.normalFrom(from, fetchBatch+1)...)
			if at, ok := s.groupEnd(); ok {
				ends(at)
			}
		}
	}
	if !found {
		objects, end = t.keptFrom(id, from, fetchBatch+1)
	}
	for i := range t.datagrams {
		d := &t.datagrams[i]
		switch {
		case d.object.Group != id:
			continue
		case d.object.Status == wire.ObjectEndOfGroup:
			ends(d.object.Object)
		case d.object.EndOfGroup:
			ends(d.object.Object + 1)
		}
		if d.object.Status == wire.ObjectNormal && d.object.Object >= from {
			clone := d.object
			objects = append(objects, cached{
				at:    wire.Location{Group: id, Object: clone.Object},
				dgram: &clone, object: objectRef{props: clone.Properties, arrived: d.arrived},
			})
		}
	}
	if age, ok := t.maxCache.Get(); ok {
		// "... the relay MUST NOT start forwarding any individual Object ... after the specified number of milliseconds has
		// elapsed since the beginning of the Object was received. ... Once Objects have expired from cache, their state
		// becomes unknown" [MOQT-18] Section 12.3, MAX CACHE DURATION
		objects = slices.DeleteFunc(objects, func(o cached) bool { return now.Sub(o.object.arrived) > age })
	}
	slices.SortStableFunc(objects, func(a, b cached) int { return a.at.Compare(b.at) })
	objects = slices.CompactFunc(objects, func(a, b cached) bool { return a.at == b.at })
	if len(objects) > fetchBatch {
		objects, more = objects[:fetchBatch], true
	}
	for i := range objects {
		o := &objects[i]
		if len(o.object.props) == 0 {
			continue
		}
		if p, err := o.object.props.Object(o.at, logVersion); err == nil {
			o.gap = p.PriorObjectIDGap.Or(0)
		}
	}
	return objects, more, end
}

// normalFrom returns up to n objects with status Normal from some id on. What a reset has cut off is left out.
func (s *subgroup) normalFrom(from uint64, n int) (objects []cached) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, _ := slices.BinarySearchFunc(s.objects, from, func(o objectRef, id uint64) int { return cmp.Compare(o.id, id) })
	for _, o := range s.objects[i:] {
		if o.status != wire.ObjectNormal || s.end != endOpen && o.end() > s.size {
			continue
		}
		if objects = append(objects, cached{
			at:     wire.Location{Group: s.header.Group, Object: o.id},
			object: o, header: s.header, log: s,
		}); len(objects) == n {
			break
		}
	}
	return objects
}

// groupEnd returns the smallest id of the group that is known to stand for no object, if the subgroup tells.
func (s *subgroup) groupEnd() (id uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.objects) == 0 {
		return 0, false
	}
	last := s.objects[len(s.objects)-1]
	switch {
	case last.status == wire.ObjectEndOfGroup, last.status == wire.ObjectEndOfTrack:
		return last.id, true
	case s.header.EndOfGroup && s.end == endFinished && last.id != lastObject:
		return last.id + 1, true
	}
	return 0, false
}

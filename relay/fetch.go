package relay

import (
	"math"
	"slices"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// fetch answers a FETCH from the cache. What the cache does not hold is reported as unknown.
func (s *session) fetch(req *moqt.IncomingFetch) *moqt.RequestError {
	if refused := checkName(req.Track.Namespace); refused != nil {
		return refused
	}
	var t *track
	name := req.Track
	if req.Joining != nil {
		s.mu.Lock()
		t = s.tracks[req.Joining]
		s.mu.Unlock()
		name = req.Joining.Track()
	}
	if t == nil { // or the subscription to join was answered this very moment
		s.relay.mu.Lock()
		if rt := s.relay.routes[name]; rt != nil && rt.state == routeEstablished {
			t = rt.track
		}
		s.relay.mu.Unlock()
	}
	if t == nil {
		return refuse(wire.RequestDoesNotExist, "the relay does not carry this track now")
	}
	largest, ok := t.largestObject()
	if !ok || largest.Less(req.Start) {
		return refuse(wire.RequestInvalidRange, "nothing of the range was published yet")
	}
	last := wire.FetchLast(req.End)
	if largest.Less(last) {
		last = largest
	}
	w, err := req.Accept(moqt.FetchOK{End: wire.FetchEnd(last), Properties: t.properties()})
	if err != nil {
		return nil
	}
	s.accepted(RequestFetch)
	descending := req.Params.GroupOrder.Or(wire.GroupOrderAscending) == wire.GroupOrderDescending
	if err := writeRange(w, t, req.Start, last, descending); err != nil {
		w.Reset(wire.StreamInternalError)
		return nil
	}
	w.Close()
	return nil
}

// cached is one object that the cache holds whole.
type cached struct {
	at     wire.Location
	object objectRef
	header moqt.SubgroupHeader
	log    *subgroup      // holds the payload, or
	dgram  *moqt.Datagram // has it
}

// writeRange writes the cached objects from start to last, both included, and marks the ranges of which nothing is known.
//
// "Any gaps in the Group and Object IDs in the response stream indicate objects that do not exist."
// [MOQT-18] Section 10.12.3, Fetch Handling
func writeRange(w *moqt.FetchWriter, t *track, start, last wire.Location, descending bool) error {
	groups := t.between(start, last)
	t.stats.CacheFetches.count(len(groups) > 0)
	if descending {
		return writeDescending(w, groups, start, last)
	}
	next := start // what is before is accounted for
	for _, g := range groups {
		for _, o := range g.objects {
			if next.Less(o.at) {
				if err := w.WriteObject(unknownUpTo(before(o.at)), nil); err != nil {
					return err
				}
			}
			if err := o.write(w); err != nil {
				return err
			}
			next = after(o.at)
		}
		if g.whole {
			next = wire.Location{Group: g.id + 1}
		}
	}
	if next.Less(last) || next == last {
		return w.WriteObject(unknownUpTo(last), nil)
	}
	return nil
}

// writeDescending is writeRange with the newest group first. Within a group the order is the same.
func writeDescending(w *moqt.FetchWriter, groups []fetchGroup, start, last wire.Location) error {
	slices.Reverse(groups)
	group := last.Group // the next in order
	for _, g := range groups {
		if g.id < group { // nothing of the groups in between
			if err := w.WriteObject(unknownUpTo(wire.Location{Group: g.id + 1, Object: math.MaxUint64}), nil); err != nil {
				return err
			}
		}
		next := wire.Location{Group: g.id}
		if g.id == start.Group {
			next.Object = start.Object
		}
		for _, o := range g.objects {
			if next.Less(o.at) {
				if err := w.WriteObject(unknownUpTo(before(o.at)), nil); err != nil {
					return err
				}
			}
			if err := o.write(w); err != nil {
				return err
			}
			next = after(o.at)
		}
		end := wire.Location{Group: g.id, Object: math.MaxUint64}
		if g.id == last.Group {
			end = last
		}
		if !g.whole && !end.Less(next) {
			if err := w.WriteObject(unknownUpTo(end), nil); err != nil {
				return err
			}
		}
		if g.id == start.Group {
			return nil
		}
		group = g.id - 1
	}
	return w.WriteObject(unknownUpTo(wire.Location{Group: start.Group, Object: math.MaxUint64}), nil)
}

// unknownUpTo marks everything up to a location as unknown.
func unknownUpTo(at wire.Location) moqt.FetchObject {
	return moqt.FetchObject{Group: at.Group, Object: at.Object, Gap: moqt.GapUnknown}
}

// before returns the location before at, which is not the first of all.
func before(at wire.Location) wire.Location {
	if at.Object > 0 {
		return wire.Location{Group: at.Group, Object: at.Object - 1}
	}
	return wire.Location{Group: at.Group - 1, Object: math.MaxUint64}
}

// after returns the location after at.
func after(at wire.Location) wire.Location {
	if at.Object == math.MaxUint64 {
		return wire.Location{Group: at.Group + 1}
	}
	return wire.Location{Group: at.Group, Object: at.Object + 1}
}

// write sends the object with its payload from the log.
func (o cached) write(w *moqt.FetchWriter) error {
	if d := o.dgram; d != nil {
		return w.WriteObject(moqt.FetchObject{
			Group: d.Group, Object: d.Object, Datagram: true, Priority: d.Priority,
			Properties: d.Properties, PayloadLen: uint64(len(d.Payload)),
		}, d.Payload)
	}
	err := w.WriteHeader(moqt.FetchObject{
		Group: o.at.Group, Object: o.at.Object, Subgroup: o.header.Subgroup, Priority: o.header.Priority,
		Properties: o.object.props, PayloadLen: uint64(o.object.length),
	})
	for at := o.object.payload; err == nil && at < o.object.end(); {
		b, _, _, _ := o.log.read(at)
		if len(b) == 0 {
			return errEvicted
		}
		b = b[:min(len(b), o.object.end()-at)]
		_, err = w.Write(b)
		at += len(b)
	}
	return err
}

// fetchGroup is what the cache holds of one group.
type fetchGroup struct {
	id      uint64
	objects []cached // by rising id
	whole   bool     // as far as can be known, nothing of it is missing at its end
}

// between returns the objects from start to last that are whole and have status Normal, by rising group.
func (t *track) between(start, last wire.Location) []fetchGroup {
	t.mu.Lock()
	defer t.mu.Unlock()
	byGroup := make(map[uint64][]cached)
	whole := make(map[uint64]bool)
	add := func(o cached) {
		if !o.at.Less(start) && !last.Less(o.at) {
			byGroup[o.at.Group] = append(byGroup[o.at.Group], o)
		}
	}
	for _, g := range t.groups {
		if g.id < start.Group || g.id > last.Group {
			continue
		}
		whole[g.id] = len(g.subgroups) > 0
		for _, s := range g.subgroups {
			whole[g.id] = whole[g.id] && s.complete()
			for i := 0; ; i++ {
				ref, complete, ok := s.object(i)
				if !ok {
					break
				}
				if complete && ref.status == wire.ObjectNormal {
					add(cached{at: wire.Location{Group: g.id, Object: ref.id}, object: ref, header: s.header, log: s})
				}
			}
		}
	}
	for i := range t.datagrams {
		d := &t.datagrams[i].object
		if d.Status == wire.ObjectNormal {
			whole[d.Group] = whole[d.Group] || d.EndOfGroup
			clone := *d
			add(cached{at: wire.Location{Group: d.Group, Object: d.Object}, dgram: &clone})
		}
	}
	groups := make([]fetchGroup, 0, len(byGroup))
	for id, objects := range byGroup {
		slices.SortFunc(objects, func(a, b cached) int { return a.at.Compare(b.at) })
		objects = slices.CompactFunc(objects, func(a, b cached) bool { return a.at == b.at })
		groups = append(groups, fetchGroup{id: id, objects: objects, whole: whole[id]})
	}
	slices.SortFunc(groups, func(a, b fetchGroup) int {
		if a.id < b.id {
			return -1
		}
		return 1
	})
	return groups
}

package relay

import (
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
	if req.Joining != nil {
		s.mu.Lock()
		t = s.tracks[req.Joining]
		s.mu.Unlock()
	} else {
		s.relay.mu.Lock()
		if rt := s.relay.routes[req.Track]; rt != nil && rt.state == routeEstablished {
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

// writeRange writes the cached objects from start to last, both included, and marks the ranges between.
func writeRange(w *moqt.FetchWriter, t *track, start, last wire.Location, descending bool) error {
	groups := t.between(start, last)
	if descending {
		slices.Reverse(groups)
	}
	for _, g := range groups {
		next := uint64(0) // object id that would follow without a gap
		if g.id == start.Group {
			next = start.Object
		}
		for _, o := range g.objects {
			if o.at.Object > next {
				gap := moqt.FetchObject{Group: g.id, Object: o.at.Object - 1, Gap: moqt.GapUnknown}
				if err := w.WriteObject(gap, nil); err != nil {
					return err
				}
			}
			if err := o.write(w); err != nil {
				return err
			}
			next = o.at.Object + 1
		}
	}
	return nil
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
}

// between returns the objects from start to last that are whole and have status Normal, by rising group.
func (t *track) between(start, last wire.Location) []fetchGroup {
	t.mu.Lock()
	defer t.mu.Unlock()
	byGroup := make(map[uint64][]cached)
	add := func(o cached) {
		if !o.at.Less(start) && !last.Less(o.at) {
			byGroup[o.at.Group] = append(byGroup[o.at.Group], o)
		}
	}
	for _, g := range t.groups {
		if g.id < start.Group || g.id > last.Group {
			continue
		}
		for _, s := range g.subgroups {
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
			clone := *d
			add(cached{at: wire.Location{Group: d.Group, Object: d.Object}, dgram: &clone})
		}
	}
	groups := make([]fetchGroup, 0, len(byGroup))
	for id, objects := range byGroup {
		slices.SortFunc(objects, func(a, b cached) int { return a.at.Compare(b.at) })
		objects = slices.CompactFunc(objects, func(a, b cached) bool { return a.at == b.at })
		groups = append(groups, fetchGroup{id: id, objects: objects})
	}
	slices.SortFunc(groups, func(a, b fetchGroup) int {
		if a.id < b.id {
			return -1
		}
		return 1
	})
	return groups
}

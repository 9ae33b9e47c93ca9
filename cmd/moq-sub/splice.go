package main

import (
	"slices"
	"time"

	"github.com/moq-c4/moq-c4/media"
)

// Bounds of what a splicer holds back.
const (
	maxSpliceGroups = 64
	maxSpliceBytes  = 64 << 20
	packetOverhead  = 256 // bytes that a packet costs beside its payload
)

// splicer makes one video of several renditions of it whose group ids mean the same times: of each group, it takes the best
// rendition that came whole. It switches at the start of a group only, where every rendition has a key frame.
//
// A group is decided when the best rendition of it is whole; or a lesser one is, and no better one can
// still become it or that was waited for long enough; or a later group has shown that no more comes of it. If
// none is whole, what came of the longest is taken.
//
// It is pure: inputs are On..., and Poll is called after each of them and at Deadline.
type splicer struct {
	// Fixed.
	ranks    int           // renditions; rank 0 is the best
	patience time.Duration // how long a better rendition is waited for when a lesser one is whole

	groups  map[uint64][]*splicePart // by group, and by rank; nil where nothing came
	bytes   int
	started bool
	next    uint64 // groups before have been decided
	fresh   []bool // by rank: a subscription has begun and brought nothing yet

	late uint64 // objects that came after their group was decided
}

// splicePart is what came of a group in one rendition.
type splicePart struct {
	packets  []media.Packet // from object 0 on, without gaps
	broken   bool           // an object is missing
	ended    bool
	complete bool
	at       time.Time // when it ended
}

// splice is a decided group.
type splice struct {
	rank     int
	group    uint64
	packets  []media.Packet
	complete bool
}

func newSplicer(ranks int, patience time.Duration) *splicer {
	return &splicer{ranks: ranks, patience: patience, groups: make(map[uint64][]*splicePart), fresh: make([]bool, ranks)}
}

// OnSubscription says that a subscription of a rendition has begun, maybe not the first. If it brings an older group than there
// was, the publisher counts anew.
func (s *splicer) OnSubscription(rank int) { s.fresh[rank] = true }

// OnObject takes an object. Those of a group come in order.
func (s *splicer) OnObject(rank int, p media.Packet) {
	if s.fresh[rank] && s.started && p.Group < s.next {
		s.started = false
		clear(s.groups)
		s.bytes = 0
	}
	s.fresh[rank] = false
	part := s.part(rank, p.Group)
	switch {
	case part == nil:
		s.late++
	case part.ended:
	case p.Object != uint64(len(part.packets)):
		part.broken = true
	case !part.broken:
		part.packets = append(part.packets, p)
		s.bytes += len(p.Payload) + packetOverhead
	}
}

// OnEnd says that no more comes of a group in a rendition, and whether all of it came.
func (s *splicer) OnEnd(now time.Time, rank int, group uint64, complete bool) {
	part := s.part(rank, group)
	if part == nil || part.ended {
		return
	}
	part.ended, part.at = true, now
	part.complete = complete && !part.broken && len(part.packets) > 0
}

// part returns a part of a group, new if need be, or nil if the group has been decided.
func (s *splicer) part(rank int, group uint64) *splicePart {
	if s.started && group < s.next {
		return nil
	}
	parts := s.groups[group]
	if parts == nil {
		parts = make([]*splicePart, s.ranks)
		s.groups[group] = parts
	}
	if parts[rank] == nil {
		parts[rank] = &splicePart{}
	}
	return parts[rank]
}

// Poll returns the next group in order, if it can be decided.
func (s *splicer) Poll(now time.Time) (splice, bool) {
	for len(s.groups) > 0 {
		group := s.first()
		rank, ok := s.decide(group, now)
		if !ok {
			return splice{}, false
		}
		parts := s.groups[group]
		for _, p := range parts {
			if p != nil {
				for i := range p.packets {
					s.bytes -= len(p.packets[i].Payload) + packetOverhead
				}
			}
		}
		delete(s.groups, group)
		s.started, s.next = true, group+1
		if rank >= 0 {
			return splice{rank, group, parts[rank].packets, parts[rank].complete}, true
		} // else nothing of it can be decoded
	}
	return splice{}, false
}

// Deadline returns when Poll has to be called again even if nothing comes.
func (s *splicer) Deadline() (time.Time, bool) {
	if len(s.groups) == 0 {
		return time.Time{}, false
	}
	at, ok := s.waitedSince(s.first())
	return at.Add(s.patience), ok
}

func (s *splicer) first() uint64 {
	first, any := uint64(0), false
	for g := range s.groups {
		if !any || g < first {
			first, any = g, true
		}
	}
	return first
}

// decide returns the rendition to take of the first group, or -1 for none, if it is time to decide.
func (s *splicer) decide(group uint64, now time.Time) (rank int, ok bool) {
	open := false // something may still come of a better rendition
	for r, p := range s.groups[group] {
		switch {
		case p != nil && p.complete:
			return r, !open || s.expired(group, now)
		case p == nil || !p.ended:
			open = true
		}
	}
	if open && !s.expired(group, now) {
		return 0, false
	}
	rank, most := -1, 0
	for r, p := range s.groups[group] {
		if p != nil && len(p.packets) > most {
			rank, most = r, len(p.packets)
		}
	}
	return rank, true
}

// expired reports whether the first group was waited for long enough, or too much is held back.
func (s *splicer) expired(group uint64, now time.Time) bool {
	at, ok := s.waitedSince(group)
	return ok && now.Sub(at) >= s.patience || len(s.groups) > maxSpliceGroups || s.bytes > maxSpliceBytes
}

// waitedSince returns since when the first group is waited for: since a rendition of it, or of a later group, has ended.
func (s *splicer) waitedSince(group uint64) (at time.Time, ok bool) {
	for _, parts := range s.groups {
		for _, p := range parts {
			if p != nil && p.ended && (!ok || p.at.Before(at)) {
				at, ok = p.at, true
			}
		}
	}
	return at, ok
}

// byQuality sorts renditions from the best to the least.
func byQuality(rs []media.Rendition) {
	slices.SortStableFunc(rs, func(a, b media.Rendition) int {
		if d := b.Track.Width*b.Track.Height - a.Track.Width*a.Track.Height; d != 0 {
			return d
		}
		return b.Track.Bitrate - a.Track.Bitrate
	})
}

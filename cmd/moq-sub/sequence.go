package main

import (
	"slices"
	"time"

	"github.com/moq-c4/moq-c4/media"
)

// Bounds of what a sequencer holds back.
const (
	maxHeldItems = 4096
	maxHeldBytes = 64 << 20
	maxEnded     = 4096 // groups of which it is known that they have ended; for others it waits
)

// sequencer brings the objects of one track into the order of their locations. Groups come on streams
// of their own and datagrams come as they like, so an object may overtake another; it is held
// back until the ones before it are there, or have been waited for long enough.
//
// It is pure: inputs are On..., and Poll is called after each of them and at Deadline.
type sequencer struct {
	// Fixed.
	patience time.Duration // how long a missing object is waited for
	streams  bool          // objects of a group come in order, on one stream that has an end

	started bool
	fresh   bool            // a subscription has begun and brought nothing yet
	next    media.Position  // expected
	newest  uint64          // group of what Poll returned last
	before  []heldItem      // what was held back when the groups began anew: goes first
	ended   map[uint64]bool // groups at or after next.Group whose stream has ended
	held    []heldItem      // sorted by location
	bytes   int

	// Counters.
	late uint64 // came after their turn
	lost uint64 // given up: objects of datagram tracks, groups of stream tracks
}

// heldItem is an object that waits for its turn.
type heldItem struct {
	at      media.Position
	packet  media.Packet
	arrived time.Time // when the object was complete
}

func newSequencer(streams bool, patience time.Duration) *sequencer {
	return &sequencer{streams: streams, patience: patience, ended: make(map[uint64]bool)}
}

// OnSubscription says that a subscription has begun, maybe not the first. It brings the publisher's current group
// first; if that is an older one than there was, the publisher counts anew, and so does the sequencer.
func (s *sequencer) OnSubscription() { s.fresh = true }

// OnObject takes an object. The first one of all sets the start.
func (s *sequencer) OnObject(now time.Time, p media.Packet) {
	at := media.Position{Group: p.Group, Object: p.Object}
	if s.fresh && s.started && at.Group < s.newest {
		s.before = append(s.before, s.held...)
		s.held, s.bytes, s.started = nil, 0, false
		clear(s.ended)
	}
	s.fresh = false
	if !s.started {
		s.started, s.next = true, at
	}
	if less(at, s.next) {
		s.late++
		return
	}
	i, found := slices.BinarySearchFunc(s.held, at, func(h heldItem, at media.Position) int { return compare(h.at, at) })
	if found {
		return // a second copy
	}
	s.held = slices.Insert(s.held, i, heldItem{at, p, now})
	s.bytes += len(p.Payload)
	if p.EndOfGroup {
		s.noteEnd(p.Group)
	}
}

// OnEnd says that no more objects of a group will come.
func (s *sequencer) OnEnd(group uint64) {
	if !s.started || group >= s.next.Group {
		s.noteEnd(group)
	}
}

func (s *sequencer) noteEnd(group uint64) {
	if len(s.ended) < maxEnded {
		s.ended[group] = true
	}
}

// Poll returns the next object in order, if it is there or nothing before it is worth waiting for.
func (s *sequencer) Poll(now time.Time) (heldItem, bool) {
	if len(s.before) > 0 {
		first := s.before[0]
		s.before = s.before[1:]
		return first, true
	}
	s.skipEnded()
	if len(s.held) == 0 {
		return heldItem{}, false
	}
	first := s.held[0]
	if !s.inOrder(first.at) {
		if now.Before(s.deadline()) && len(s.held) <= maxHeldItems && s.bytes <= maxHeldBytes {
			return heldItem{}, false
		}
		s.giveUp(first.at)
	}
	s.held = slices.Delete(s.held, 0, 1)
	s.bytes -= len(first.packet.Payload)
	s.next = media.Position{Group: first.at.Group, Object: first.at.Object + 1}
	s.newest = first.at.Group
	s.skipEnded()
	return first, true
}

// Deadline returns when Poll has to be called again even if nothing comes.
func (s *sequencer) Deadline() (time.Time, bool) {
	if len(s.held) == 0 {
		return time.Time{}, false
	}
	return s.deadline(), true
}

// deadline is when the oldest of what is held back has waited long enough.
func (s *sequencer) deadline() time.Time {
	oldest := s.held[0].arrived
	for _, h := range s.held[1:] {
		if h.arrived.Before(oldest) {
			oldest = h.arrived
		}
	}
	return oldest.Add(s.patience)
}

// inOrder reports whether nothing can come between what was returned last and at. On a stream the
// next object is the next one there is, whatever its id.
func (s *sequencer) inOrder(at media.Position) bool {
	return at == s.next || (s.streams && at.Group == s.next.Group)
}

// skipEnded moves on from groups that have ended and of which nothing is held back.
func (s *sequencer) skipEnded() {
	for s.started && s.ended[s.next.Group] && (len(s.held) == 0 || s.held[0].at.Group != s.next.Group) {
		delete(s.ended, s.next.Group)
		s.next = media.Position{Group: s.next.Group + 1}
	}
}

// giveUp stops waiting for what comes before at.
func (s *sequencer) giveUp(at media.Position) {
	switch {
	case at.Group == s.next.Group:
		s.lost += at.Object - s.next.Object
	case s.streams:
		s.lost += at.Group - s.next.Group
	default:
		s.lost += 1 + at.Object // of the group before at least one
	}
	for g := range s.ended {
		if g < at.Group {
			delete(s.ended, g)
		}
	}
	s.next = at
}

func compare(a, b media.Position) int {
	switch {
	case less(a, b):
		return -1
	case less(b, a):
		return 1
	}
	return 0
}

func less(a, b media.Position) bool {
	return a.Group < b.Group || (a.Group == b.Group && a.Object < b.Object)
}

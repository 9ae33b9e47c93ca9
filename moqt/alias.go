package moqt

import (
	"slices"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// aliasTable knows which subscription a data stream or datagram belongs to, and
// holds those that belong to none yet. It is guarded by Session.mu.
//
// "If an endpoint receives a subgroup with an unknown Track Alias, it MAY abandon
// the stream, or choose to buffer it for a brief period to handle reordering with
// the control message that establishes the Track Alias."
// [MOQT-18] Section 11.4.2, Subgroup Header
type aliasTable struct {
	live map[uint64]*Subscription

	// retired are aliases whose subscription has ended, the oldest first.
	//
	// "Subscribers SHOULD retain sufficient state to quickly discard these unwanted Objects, rather than treating them as
	// belonging to an unknown Track Alias."
	// [MOQT-18] Section 11.1, Track Alias
	retired []uint64

	streams   []pendingStream
	datagrams []pendingDatagram
	timer     *time.Timer // for the oldest of both; nil if there is none
	stopped   bool
}

// maxRetired is how many ended aliases are remembered.
const maxRetired = 64

type pendingStream struct {
	r        *SubgroupReader
	deadline time.Time // zero: SETUP is not there yet
}

type pendingDatagram struct {
	d        wire.Datagram
	deadline time.Time
}

func (t *aliasTable) init() { t.live = make(map[uint64]*Subscription) }

func (t *aliasTable) isRetired(alias uint64) bool { return slices.Contains(t.retired, alias) }

func (t *aliasTable) retire(alias uint64) {
	t.revive(alias)
	if len(t.retired) == maxRetired {
		t.retired = slices.Delete(t.retired, 0, 1)
	}
	t.retired = append(t.retired, alias)
}

func (t *aliasTable) revive(alias uint64) {
	if i := slices.Index(t.retired, alias); i >= 0 {
		t.retired = slices.Delete(t.retired, i, i+1)
	}
}

// bindAlias makes alias stand for sub and hands over what has come before.
//
// "If a subscriber receives a PUBLISH or SUBSCRIBE_OK that uses the same Track Alias as a different Track with an
// Established subscription, it MUST close the session with error DUPLICATE_TRACK_ALIAS."
// [MOQT-18] Section 11.1, Track Alias
func (s *Session) bindAlias(alias uint64, sub *Subscription) error {
	s.mu.Lock()
	t := &s.aliases
	if old := t.live[alias]; old != nil && old.track != sub.track {
		s.mu.Unlock()
		return &wire.Error{Code: wire.SessionDuplicateTrackAlias, Reason: "track alias is in use"}
	}
	t.live[alias] = sub
	t.revive(alias)
	var streams []*SubgroupReader
	var datagrams []wire.Datagram
	t.streams = slices.DeleteFunc(t.streams, func(p pendingStream) bool {
		if p.r.wire.TrackAlias != alias {
			return false
		}
		streams = append(streams, p.r)
		return true
	})
	t.datagrams = slices.DeleteFunc(t.datagrams, func(p pendingDatagram) bool {
		if p.d.TrackAlias != alias {
			return false
		}
		datagrams = append(datagrams, p.d)
		return true
	})
	s.mu.Unlock()
	for _, r := range streams {
		s.deliverSubgroup(sub, r)
	}
	for i := range datagrams {
		s.deliverDatagram(sub, &datagrams[i])
	}
	return nil
}

// unbindAlias ends what bindAlias began.
func (s *Session) unbindAlias(alias uint64, sub *Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.aliases.live[alias] == sub {
		delete(s.aliases.live, alias)
		s.aliases.retire(alias)
	}
}

// retireAlias makes objects of a track that was refused go away at once.
func (s *Session) retireAlias(alias uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.aliases.live[alias] == nil {
		s.aliases.retire(alias)
	}
}

// deliverSubgroup hands a stream to its subscription.
func (s *Session) deliverSubgroup(sub *Subscription, r *SubgroupReader) {
	if sub.addSubgroup(r) {
		s.stats.subgroupsReceived.Add(1)
		return
	}
	s.stats.streamsLate.Add(1)
	r.Stop(wire.StreamCancelled)
}

func (s *Session) deliverDatagram(sub *Subscription, d *wire.Datagram) {
	if !sub.addDatagram(d) {
		s.stats.datagramsLate.Add(1)
	}
}

// placeSubgroup hands a stream to its subscription, or makes it wait for that.
func (s *Session) placeSubgroup(r *SubgroupReader) {
	alias := r.wire.TrackAlias
	s.mu.Lock()
	t := &s.aliases
	if sub := t.live[alias]; sub != nil {
		s.mu.Unlock()
		s.deliverSubgroup(sub, r)
		return
	}
	if t.isRetired(alias) {
		s.mu.Unlock()
		s.stats.streamsLate.Add(1)
		r.Stop(wire.StreamCancelled)
		return
	}
	t.streams = append(t.streams, pendingStream{r, s.pendingDeadline()})
	var out *SubgroupReader
	if len(t.streams) > s.cfg.PendingStreams {
		out = t.streams[0].r
		t.streams = slices.Delete(t.streams, 0, 1)
	}
	s.armPending()
	s.mu.Unlock()
	if out != nil {
		s.stats.streamsPendingFull.Add(1)
		out.Stop(wire.StreamCancelled)
	}
}

// placeDatagram hands a datagram to its subscription, or makes it wait for that.
//
// "If an endpoint receives a datagram with an unknown Track Alias, it MAY drop the datagram or choose to buffer it for a
// brief period to handle reordering with the control message that establishes the Track Alias."
// [MOQT-18] Section 11.3, Datagrams
func (s *Session) placeDatagram(d *wire.Datagram) {
	s.mu.Lock()
	t := &s.aliases
	if sub := t.live[d.TrackAlias]; sub != nil {
		s.mu.Unlock()
		s.deliverDatagram(sub, d)
		return
	}
	if t.isRetired(d.TrackAlias) {
		s.mu.Unlock()
		s.stats.datagramsLate.Add(1)
		return
	}
	t.datagrams = append(t.datagrams, pendingDatagram{*d, s.pendingDeadline()})
	if len(t.datagrams) > s.cfg.PendingStreams {
		t.datagrams = slices.Delete(t.datagrams, 0, 1)
		s.stats.datagramsUnknownAlias.Add(1)
	}
	s.armPending()
	s.mu.Unlock()
}

// pendingDeadline returns until when something may wait that has come now. s.mu is held.
func (s *Session) pendingDeadline() time.Time {
	if !s.isReady() {
		return time.Time{} // SETUP has a time of its own
	}
	return time.Now().Add(s.cfg.PendingTimeout)
}

// setupDone gives what came before SETUP its time from now on.
func (s *Session) setupDone() {
	s.mu.Lock()
	defer s.mu.Unlock()
	deadline := time.Now().Add(s.cfg.PendingTimeout)
	t := &s.aliases
	for i := range t.streams {
		t.streams[i].deadline = deadline
	}
	for i := range t.datagrams {
		t.datagrams[i].deadline = deadline
	}
	s.armPending()
}

// armPending makes the timer run for the oldest that waits. s.mu is held.
func (s *Session) armPending() {
	t := &s.aliases
	if t.timer != nil || t.stopped {
		return
	}
	var first time.Time
	if len(t.streams) > 0 {
		first = t.streams[0].deadline
	}
	if len(t.datagrams) > 0 && (first.IsZero() || t.datagrams[0].deadline.Before(first)) {
		first = t.datagrams[0].deadline
	}
	if !first.IsZero() {
		t.timer = time.AfterFunc(time.Until(first), s.expirePending)
	}
}

// expirePending drops what has waited too long.
func (s *Session) expirePending() {
	now := time.Now()
	var out []*SubgroupReader
	s.mu.Lock()
	t := &s.aliases
	t.timer = nil
	if t.stopped {
		s.mu.Unlock()
		return
	}
	for len(t.streams) > 0 && !t.streams[0].deadline.IsZero() && !now.Before(t.streams[0].deadline) {
		out = append(out, t.streams[0].r)
		t.streams = slices.Delete(t.streams, 0, 1)
	}
	for len(t.datagrams) > 0 && !t.datagrams[0].deadline.IsZero() && !now.Before(t.datagrams[0].deadline) {
		t.datagrams = slices.Delete(t.datagrams, 0, 1)
		s.stats.datagramsUnknownAlias.Add(1)
	}
	s.armPending()
	s.mu.Unlock()
	for _, r := range out {
		s.stats.streamsUnknownAlias.Add(1)
		r.Stop(wire.StreamCancelled)
	}
}

// stopPending ends the waiting when the session has ended.
func (s *Session) stopPending() {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &s.aliases
	t.stopped = true
	if t.timer != nil {
		t.timer.Stop()
	}
	t.streams, t.datagrams = nil, nil
}

package relay

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// subscriber serves one downstream subscription from a track's log. It is a position in the order of
// arrivals plus one cursor for each subgroup stream that is open; it holds no object.
//
// run is its only goroutine beside those of the cursors, and owns everything here.
type subscriber struct {
	track *track
	pub   *moqt.Publication
	cfg   *Config
	stats *Stats
	hold  *hold // keeps the track going; nil in tests of the log alone

	begins    *standing // where the track stood when the subscription began; set by run if nil
	tellsAcks bool      // the connection can tell what was acknowledged; set by run
	joined    time.Time // when it began, or resumed
	cursors   sync.WaitGroup
	expiring  expiring
	open      []*cursor     // those that may still run, oldest first
	sweepAt   int           // length of open at which those that are over are taken out
	opened    chan struct{} // closed when the newest cursor has its stream; nil before the first
}

// maxCursors bounds the streams of a subscription that are open or wait for the peer to allow one more. Beyond it the
// oldest is given up.
const maxCursors = 512

// run forwards the track until the subscriber leaves, its range has passed or the track ends.
func (s *subscriber) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		if ctx.Err() != nil { // nobody is there who could be told
			s.expiring.stop()
		}
		cancel()
		s.cursors.Wait()
	}()
	defer context.AfterFunc(s.pub.Context(), cancel)()

	s.stats.Subscribers.Add(1)
	defer s.stats.Subscribers.Add(-1)

	s.joined = s.cfg.Now()
	s.tellsAcks = s.pub.TellsAcks()
	state := s.pub.State()
	s.wantGroup(moqt.PublicationState{}, state)
	if s.hold != nil {
		s.hold.setForward(state.Forward)
	}
	if s.begins == nil {
		now := s.track.stand()
		s.begins = &now
	}
	from := s.joinAt(state, *s.begins)
	pos := s.track.start(from.Group)
	pos.datagram = s.begins.datagram // what came since then is part of the subscription
	s.track.joined(pos)
	var seen uint64 // arrivals before this one were forwarded, or passed over while forwarding

	sending := begin(ctx) // ends when the subscriber pauses
	defer func() { sending.end() }()

	var subs []*subgroup
	var dgs []datagram
	for {
		changed := s.pub.Changed()
		was := state
		state = s.pub.State()
		s.wantGroup(was, state)
		if was.Forward != state.Forward && s.hold != nil {
			s.hold.setForward(state.Forward)
		}
		if was.Forward && !state.Forward {
			sending.end()
			sending = begin(ctx)
		}
		if state.Forward && (!was.Forward || state.Start != was.Start) {
			// Resumed or moved: at the start of the current group again, but nothing twice.
			s.joined = s.cfg.Now()
			from = s.joinAt(state, s.track.stand())
			pos.subgroup = max(s.track.start(from.Group).subgroup, seen)
		}

		var missed uint64
		var ended *ending
		var more <-chan struct{}
		subs, dgs, missed, ended, more = s.track.after(&pos, subs[:0], dgs[:0])
		if state.Forward {
			seen = pos.subgroup
			s.stats.DatagramsLost.Add(missed)
			now := s.cfg.Now()
			for _, g := range subs {
				s.forward(sending.ctx, g, from, state)
			}
			for i := range dgs {
				s.forwardDatagram(&dgs[i], from, state, now)
			}
		}
		clear(subs)
		clear(dgs)

		if ended != nil {
			s.finish(ctx, ended.code, ended.reason)
			return
		}
		if group, ok := s.track.reached(); ok && group > state.EndGroup {
			s.finish(ctx, wire.DoneSubscriptionEnded, "the range that was asked for has passed")
			return
		}

		select {
		case <-more:
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// wantGroup passes on a NEW_GROUP_REQUEST that has come with the new state.
func (s *subscriber) wantGroup(was, state moqt.PublicationState) {
	if n, ok := state.NewGroup.Get(); ok && state.NewGroups != was.NewGroups {
		s.track.wantGroup(n)
	}
}

// period is a stretch of time with a context of its own.
type period struct {
	ctx context.Context
	end context.CancelFunc
}

func begin(ctx context.Context) period {
	ctx, end := context.WithCancel(ctx)
	return period{ctx, end}
}

// joinAt returns the first location that the subscriber gets. Nothing before the current group is
// replayed, whatever the filter says.
//
// A filter that begins with the next object begins with the first one of its group instead, so that a player has
// a picture at once; see docs/protocol/deviations.md.
func (s *subscriber) joinAt(state moqt.PublicationState, at standing) wire.Location {
	from := state.Start
	if f, ok := state.Filter.Get(); ok && f.Type == wire.FilterLargestObject && !s.cfg.JoinAtObject {
		from.Object = 0
	}
	if at.published && from.Group < at.largest.Group {
		return wire.Location{Group: at.largest.Group}
	}
	return from
}

// forward starts a cursor on a subgroup if the subscriber wants it.
func (s *subscriber) forward(ctx context.Context, g *subgroup, from wire.Location, state moqt.PublicationState) {
	if g.header.Group < from.Group || g.header.Group > state.EndGroup {
		return
	}
	c := &cursor{tellsAcks: s.tellsAcks, subgroup: g, of: s, cfg: s.cfg, stats: s.stats, timeout: state.ObjectTimeout, expiry: state.SubgroupTimeout, joined: s.joined, opened: make(chan struct{})}
	if g.header.Group == from.Group {
		c.from = from.Object
	}
	c.from = g.freshFrom(c.from, s.cfg.Now())
	ctx, c.cancel = context.WithCancel(ctx)
	if !g.join(c) {
		c.cancel()
		s.stats.Cuts[CutEvicted].Add(1)
		return
	}
	if c.from == 0 { // else it may have to wait for its first object
		c.after, s.opened = s.opened, c.opened
	}
	s.limit()
	s.open = append(s.open, c)
	s.cursors.Go(func() {
		defer c.over.Store(true)
		defer s.expiring.keep(c)
		defer g.leave(c)
		defer c.cancel()
		s.stats.Cursors.Add(1)
		defer s.stats.Cursors.Add(-1)
		c.run(ctx, s.pub)
	})
}

// limit makes room for one more cursor, and forgets those that are over each time their number may have doubled.
func (s *subscriber) limit() {
	if len(s.open) < s.sweepAt {
		return
	}
	s.open = slices.DeleteFunc(s.open, func(c *cursor) bool { return c.over.Load() })
	if len(s.open) >= maxCursors {
		s.open[0].cut(CutLag)
		s.open = slices.Delete(s.open, 0, 1)
	}
	s.sweepAt = min(max(2*len(s.open), 8), maxCursors)
}

// forwardDatagram sends a datagram if the subscriber wants it and it is not too old.
//
// "For datagrams, the implementation MUST drop the datagrams if the time elapsed since the first byte exceeds
// OBJECT_DELIVERY_TIMEOUT. ... For objects with Object Forwarding Preference set to Datagram, the SUBGROUP_DELIVERY_TIMEOUT
// acts the same way as OBJECT_DELIVERY_TIMEOUT"
// [MOQT-18] Section 8, Delivery Timeouts and Data Reliability
func (s *subscriber) forwardDatagram(d *datagram, from wire.Location, state moqt.PublicationState, now time.Time) {
	at := wire.Location{Group: d.object.Group, Object: d.object.Object}
	if at.Less(from) || at.Group > state.EndGroup {
		return
	}
	if age := now.Sub(d.arrived); over(age, state.ObjectTimeout) || over(age, state.SubgroupTimeout) {
		s.stats.DatagramsLost.Add(1)
		return
	}
	if o := s.track.observer; o != nil && s.tellsAcks {
		priority := d.object.Priority
		d.object.OnAcked = func(at time.Time) { o.Delivered(priority, max(0, at.Sub(now))) }
	}
	if err := s.pub.SendDatagram(d.object); err != nil {
		s.stats.DatagramsLost.Add(1)
		s.track.tooLarge(err, d, s.cfg.Logger)
		return
	}
	s.stats.DatagramsOut.Add(1)
	if o := s.track.observer; o != nil {
		o.Handed(d.object.Priority, max(0, now.Sub(d.arrived)))
	}
}

// over reports whether an age is above a limit, 0 being none.
func over(age, limit time.Duration) bool { return limit > 0 && age > limit }

// finish lets the open streams end, for as long as a stream may lag, resets the rest and sends PUBLISH_DONE.
//
// "A sender MUST NOT send PUBLISH_DONE until it has closed all streams it will ever open, and has no further
// datagrams to send, for a subscription." [MOQT-18] Section 10.11, PUBLISH_DONE
func (s *subscriber) finish(ctx context.Context, code wire.DoneCode, reason string) {
	drained := make(chan struct{})
	go func() {
		s.cursors.Wait()
		close(drained)
	}()
	late := time.NewTimer(s.cfg.MaxLag)
	defer late.Stop()
	select {
	case <-drained:
	case <-ctx.Done():
		<-drained
		return
	case <-late.C:
		cut(s.open, CutEnded)
		<-drained
	}
	s.pub.Done(code, reason)
}

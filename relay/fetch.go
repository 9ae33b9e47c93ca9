package relay

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// fetchTask answers one FETCH. Its methods are called by one goroutine.
type fetchTask struct {
	session    *session
	stats      *Stats
	req        *moqt.IncomingFetch
	ctx        context.Context // ends with the request
	name       wire.FullTrackName
	descending bool
	track      *track // nil if the relay does not carry it
	publishers []*session
	budget     fillBudget
	places     [2]chan struct{} // among the FETCHes of the publisher that answers; nil if none does
	keep       keeper           // of what it answers
	out        fetchAnswer

	// A range of which nothing is cached, that is not filled yet.
	hole      bool
	low, high wire.Location
}

// fetch answers a FETCH from the cache, and asks the track's publishers for the rest.
func (s *session) fetch(req *moqt.IncomingFetch) *moqt.RequestError {
	if refused := checkName(req.Track.Namespace); refused != nil {
		return refused
	}
	r := s.relay
	f := &fetchTask{
		session: s, stats: &r.stats, req: req, ctx: req.Context(), name: req.Track,
		descending: req.Params.GroupOrder.Or(wire.GroupOrderAscending) == wire.GroupOrderDescending,
		budget:     fillBudget{left: r.cfg.FillTimeout, now: r.cfg.Now},
	}
	if want, ok := req.Params.FillTimeout.Get(); ok {
		f.budget.left = min(want.Duration(), r.cfg.FillTimeout)
	}
	defer f.freePlace()
	current := f.find()
	ok, opened, refused := f.decide(current)
	if refused != nil {
		return refused
	}
	last := wire.FetchLast(ok.End)
	w, err := req.Accept(ok)
	if err != nil {
		if opened != nil {
			opened.Stop(wire.StreamCancelled)
		}
		return nil
	}
	s.accepted(RequestFetch)
	f.out.w = w
	if f.track != nil {
		// "If a relay detects a Malformed Track, it MUST immediately ... reset any fetch streams with Status Code
		// MALFORMED_TRACK." [MOQT-18] Section 2.4.2, Malformed Tracks
		defer context.AfterFunc(f.track.spoiled(), func() { w.Reset(wire.StreamMalformedTrack) })()
	}
	if opened != nil {
		err = f.fillFrom(opened, req.Start, last)
	} else {
		err = f.run(req.Start, last)
	}
	if f.track != nil && f.track.spoiled().Err() != nil { // what was cached may have gone meanwhile
		w.Reset(wire.StreamMalformedTrack)
		return nil
	}
	if err == nil {
		err = f.out.close()
	}
	switch {
	case err == nil:
	case errors.Is(err, errTorn), errors.Is(err, errEvicted):
		w.Reset(wire.StreamUnknownObjectStatus)
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Reset(wire.StreamTooFarBehind)
	default:
		w.Reset(wire.StreamInternalError)
	}
	return nil
}

// find looks for the track and for those who can be asked for what is not cached. It reports whether what the relay knows of
// the track is of now: a track that nobody sends it may have gone on.
func (f *fetchTask) find() (current bool) {
	s, r := f.session, f.session.relay
	if f.req.Joining != nil {
		s.mu.Lock()
		f.track = s.tracks[f.req.Joining]
		s.mu.Unlock()
		f.name = f.req.Joining.Track()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	rt, current, publishers := r.sources(f.name)
	f.publishers = publishers
	if f.track == nil && rt != nil { // or the subscription to join was answered this very moment
		f.track = rt.track
	}
	return current || f.req.Joining != nil && f.track != nil
}

// decide returns what FETCH_OK says. If a publisher had to be asked for that, it returns its answer too.
//
// "If a relay does not have sufficient information to send a FETCH_OK immediately in response to a FETCH, it MUST withhold
// sending FETCH_OK until it does." [MOQT-18] Section 9.4, Subscriber Interactions
func (f *fetchTask) decide(current bool) (ok moqt.FetchOK, opened *moqt.FetchReader, refused *moqt.RequestError) {
	start, last := f.req.Start, wire.FetchLast(f.req.End)
	var largest wire.Opt[wire.Location]
	switch {
	case f.track != nil && (current || len(f.publishers) == 0):
		if at, published := f.track.largestObject(); published {
			largest = wire.Some(at)
		}
		ok.Properties = f.track.properties()
		ok.EndOfTrack = f.track.endsWith(last)
	case len(f.publishers) == 0:
		return ok, nil, refuse(wire.RequestDoesNotExist, "no publisher has announced this track")
	case f.budget.left == 0:
		// "A value of 0 indicates the subscriber only wants Objects that are immediately available; the relay MUST NOT wait
		// for upstream delivery" [MOQT-18] Section 10.2.5, FILL TIMEOUT Parameter
		//
		// That is said of objects. How far the track is has to be known all the same.
		status, refused := f.session.askStatus(f.ctx, f.publishers[0], f.name)
		if refused != nil {
			return ok, nil, refused
		}
		largest, ok.Properties = status.Largest, status.Properties
	default:
		opened, refused = f.open(start, last)
		if opened == nil {
			if refused == nil {
				refused = refuse(wire.RequestTimeout, "no publisher has answered in time")
			}
			return ok, nil, refused
		}
		ok = opened.OK()
		largest = wire.Some(wire.FetchLast(ok.End))
	}
	at, published := largest.Get()
	if !published || at.Less(start) {
		return ok, nil, refuse(wire.RequestInvalidRange, "nothing of the range was published yet")
	}
	if at.Less(last) {
		last = at
	}
	ok.End = wire.FetchEnd(last)
	return ok, opened, nil
}

// run sends everything from start to last, from the cache and from elsewhere.
func (f *fetchTask) run(start, last wire.Location) error {
	var groups []cachedGroup
	if f.track != nil {
		groups = f.track.between(start.Group, last.Group)
		f.stats.CacheFetches.count(len(groups) > 0)
	}
	var err error
	if f.descending {
		err = f.runDescending(groups, start, last)
	} else {
		err = f.runAscending(groups, start, last)
	}
	return errors.Join(err, f.fillHole(err))
}

func (f *fetchTask) runAscending(groups []cachedGroup, start, last wire.Location) error {
	next := start
	for _, g := range groups {
		if next.Group < g.id {
			// Of the groups between, those right before this one may be known not to exist.
			gap := min(g.gap, g.id-next.Group)
			if gap < g.id-next.Group {
				if err := f.missing(next, groupEnd(g.id-gap-1)); err != nil {
					return err
				}
			}
			if gap > 0 {
				if err := f.absent(groupEnd(g.id - 1)); err != nil {
					return err
				}
			}
			next = wire.Location{Group: g.id}
		}
		if err := f.group(g.id, next.Object, within(g.id, last)); err != nil {
			return err
		}
		if g.id == last.Group {
			return nil
		}
		next = wire.Location{Group: g.id + 1}
	}
	return f.missing(next, last)
}

// runDescending sends the newest group first. Within a group the order is the same.
func (f *fetchTask) runDescending(groups []cachedGroup, start, last wire.Location) error {
	slices.Reverse(groups)
	next, gap := last.Group, uint64(0) // the next group, and how many from there on do not exist
	for _, g := range groups {
		if gap = min(gap, next-g.id); gap > 0 {
			if err := f.absent(groupEnd(next - gap + 1)); err != nil {
				return err
			}
			next -= gap
		}
		if g.id < next {
			if err := f.missing(wire.Location{Group: g.id + 1}, f.upTo(next, last)); err != nil {
				return err
			}
		}
		from := uint64(0)
		if g.id == start.Group {
			from = start.Object
		}
		if err := f.group(g.id, from, within(g.id, last)); err != nil {
			return err
		}
		if g.id == start.Group {
			return nil
		}
		next, gap = g.id-1, g.gap
	}
	if gap = min(gap, next-start.Group+1); gap > 0 {
		if err := f.absent(groupEnd(next - gap + 1)); err != nil {
			return err
		}
		if gap == next-start.Group+1 {
			return nil
		}
		next -= gap
	}
	return f.missing(start, f.upTo(next, last))
}

// upTo returns the last location of a group that was asked for.
func (f *fetchTask) upTo(group uint64, last wire.Location) wire.Location {
	return wire.Location{Group: group, Object: within(group, last)}
}

// groupEnd stands for the end of a group.
func groupEnd(group uint64) wire.Location { return wire.Location{Group: group, Object: lastObject} }

// within returns the largest object id of a group that is not after last.
func within(group uint64, last wire.Location) uint64 {
	if group == last.Group {
		return last.Object
	}
	return lastObject
}

// group sends the objects of one group from one id to another.
func (f *fetchTask) group(id, from, to uint64) error {
	next := from
	for {
		objects, more, end := f.track.objectsFrom(id, next, f.budget.now())
		for _, o := range objects {
			if o.at.Object > to {
				more, objects = false, nil
				break
			}
			if next < o.at.Object {
				if err := f.before(id, next, o); err != nil {
					return err
				}
			}
			if err := f.object(o); err != nil {
				return err
			}
			if o.at.Object == to {
				return nil
			}
			next = o.at.Object + 1
		}
		if more {
			continue
		}
		if at, ok := end.Get(); ok && at <= to {
			if next < at {
				if err := f.missing(wire.Location{Group: id, Object: next}, wire.Location{Group: id, Object: at - 1}); err != nil {
					return err
				}
			}
			return f.absent(wire.Location{Group: id, Object: to})
		}
		return f.missing(wire.Location{Group: id, Object: next}, wire.Location{Group: id, Object: to})
	}
}

// before accounts for the objects of a group from one id up to a cached object.
func (f *fetchTask) before(group, from uint64, o cached) error {
	gap := min(o.gap, o.at.Object-from)
	if from < o.at.Object-gap {
		if err := f.missing(wire.Location{Group: group, Object: from}, wire.Location{Group: group, Object: o.at.Object - gap - 1}); err != nil {
			return err
		}
	}
	if gap > 0 {
		return f.absent(wire.Location{Group: group, Object: o.at.Object - 1})
	}
	return nil
}

// object sends a cached object, or makes it a hole if the rest of it does not come.
func (f *fetchTask) object(o cached) error {
	if !f.complete(o) {
		return f.missing(o.at, o.at)
	}
	if err := f.fillHole(nil); err != nil {
		return err
	}
	if err := f.out.next(); err != nil {
		return err
	}
	return o.write(f.out.w)
}

// complete waits for the rest of an object that is coming in.
func (f *fetchTask) complete(o cached) bool {
	if o.dgram != nil || o.kept != nil || o.object.length == 0 {
		return true
	}
	var timer *time.Timer
	for {
		b, end, _, changed := o.log.read(o.object.end() - 1)
		switch {
		case len(b) > 0:
			return true
		case end != endOpen || f.budget.left == 0:
			return false
		}
		if timer == nil {
			timer = time.NewTimer(f.budget.left)
			defer timer.Stop()
			began := f.budget.now()
			defer func() { f.budget.left = max(0, f.budget.left-f.budget.now().Sub(began)) }()
		}
		select {
		case <-changed:
		case <-timer.C:
			return false
		case <-f.ctx.Done():
			return false
		}
	}
}

// missing notes that nothing is cached from low to high. Ranges that follow each other are asked for together.
func (f *fetchTask) missing(low, high wire.Location) error {
	if f.hole && !f.descending && low == f.after(f.high) {
		f.high = high
		return nil
	}
	if err := f.fillHole(nil); err != nil {
		return err
	}
	f.hole, f.low, f.high = true, low, high
	return nil
}

// absent says that there are no objects from where the answer is now through a location.
func (f *fetchTask) absent(through wire.Location) error {
	if err := f.fillHole(nil); err != nil {
		return err
	}
	return f.out.absent(through)
}

// fillHole fills the range that was noted last, unless the answer has failed.
func (f *fetchTask) fillHole(failed error) error {
	if !f.hole || failed != nil {
		return nil
	}
	f.hole = false
	return f.fill(f.low, f.high)
}

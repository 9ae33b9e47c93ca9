package relay

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// upstream feeds a track from one publisher's subscription.
type upstream struct {
	link  *link
	sub   *moqt.Subscription
	stats *Stats
	now   func() time.Time
	rules moqt.TrackRules // of what this publisher sends
}

// run copies what the publisher sends into the track's log, until the subscription ends. It returns
// why, as Subscription.Next does, after every subgroup is dealt with.
func (u *upstream) run(ctx context.Context) error {
	u.stats.Upstreams.Add(1)
	defer u.stats.Upstreams.Add(-1)
	var subgroups sync.WaitGroup // at most as many as the peer may open streams
	defer subgroups.Wait()
	for {
		in, err := u.sub.Next(ctx)
		if err != nil {
			// Streams that are still open may end, but not keep everybody waiting.
			late := time.AfterFunc(doneTimeout, u.sub.Close)
			subgroups.Wait()
			late.Stop()
			return err
		}
		if in.Datagram != nil {
			u.takeDatagram(in.Datagram)
			continue
		}
		subgroups.Go(func() { u.ingest(in.Subgroup) })
	}
}

// deliver calls take with the track that the publisher feeds. If that says that the publisher has begun anew, or the track
// was replaced meanwhile, it does so again with the track that takes its place.
func (u *upstream) deliver(take func(*track) refusal) {
	for {
		rt := u.link.route.Load()
		why := take(rt.track)
		if why == taken {
			u.link.brought.Store(true)
			return
		}
		next := u.link.route.Load()
		if why != notTaken {
			next = rt.restart(u.link, why == newForSure)
		}
		if next == rt {
			u.stats.Refusals[RefusedDuplicate].Add(1)
			return
		}
	}
}

// open begins the log of a subgroup; nil if it is not taken.
func (u *upstream) open(h moqt.SubgroupHeader) (in *track, s *subgroup) {
	u.deliver(func(t *track) (why refusal) {
		in = t
		s, why = t.openSubgroup(h, u.link, u.now())
		return why
	})
	return in, s
}

func (u *upstream) takeDatagram(d *moqt.Datagram) {
	u.stats.DatagramsIn.Add(1)
	at := wire.Location{Group: d.Group, Object: d.Object}
	if err := u.rules.Object(at, wire.Opt[uint64]{}, d.Priority, d.Status, d.Properties, logVersion); err != nil {
		u.link.spoil(err)
		return
	}
	u.deliver(func(t *track) refusal { return t.addDatagram(*d, u.link, u.now()) })
}

// ingest copies one subgroup stream into the log as it arrives: what has come in of an object
// goes out while the rest is still on its way.
func (u *upstream) ingest(r *moqt.SubgroupReader) {
	u.stats.SubgroupsIn.Add(1)
	// The subgroup's id may be that of its first object, so the log begins with one.
	obj, err := r.Next()
	if err != nil && !r.SubgroupKnown() {
		return
	}
	h := r.Header()
	t, s := u.open(h)
	if s == nil {
		r.Stop(wire.StreamCancelled)
		return
	}
	objects, last := 0, uint64(0)
	for err == nil {
		u.stats.ObjectsIn.Add(1)
		at := wire.Location{Group: h.Group, Object: obj.ID}
		if bad := u.rules.Object(at, wire.Some(h.Subgroup), h.Priority, obj.Status, obj.Properties, logVersion); bad != nil {
			u.malformed(r, s, bad)
			return
		}
		var grown int
		if grown, err = s.beginObject(obj, u.now()); err != nil {
			r.Stop(wire.StreamInternalError)
			break
		}
		t.objectBegan(at, grown)
		if obj.Status == wire.ObjectEndOfTrack {
			t.endsAt(at)
		}
		objects, last = objects+1, obj.ID
		if err = u.copyPayload(t, s, r); err != nil {
			break
		}
		if s.gone() {
			u.dropped(t, r)
			return
		}
		t.objectDone(s, u.now())
		obj, err = r.Next()
	}
	if err == io.EOF {
		if objects > 0 {
			if bad := u.rules.SubgroupEnded(h.Group, h.Subgroup, last, h.EndOfGroup); bad != nil {
				u.malformed(r, s, bad)
				return
			}
		}
		s.finish(endFinished, 0)
		return
	}
	// "A relay might immediately reset the corresponding downstream stream"
	// [MOQT-18] Section 11.4.3, Closing Subgroup Streams
	code := wire.StreamCancelled
	var reset *moqt.StreamError
	if errors.As(err, &reset) {
		code = wire.StreamCode(reset.Code)
	}
	s.finish(endReset, code)
}

// malformed ends everything that was made of the track. The object that shows it is not taken.
func (u *upstream) malformed(r *moqt.SubgroupReader, s *subgroup, why error) {
	r.Stop(wire.StreamMalformedTrack)
	s.finish(endReset, wire.StreamMalformedTrack)
	u.link.spoil(why)
}

// dropped stops a stream whose log has left the cache while it came in.
func (u *upstream) dropped(t *track, r *moqt.SubgroupReader) {
	code := wire.StreamCancelled
	if !t.over() {
		u.stats.Refusals[RefusedTooLarge].Add(1)
		code = wire.StreamExcessiveLoad
	}
	r.Stop(code)
}

// copyPayload appends the payload of the current object, piece by piece.
func (u *upstream) copyPayload(t *track, s *subgroup, r *moqt.SubgroupReader) error {
	for {
		b, err := r.ReadChunk()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		u.stats.BytesIn.Add(uint64(len(b)))
		t.grew(s.append(b))
		if s.gone() { // the rest of a large object need not come any more
			return nil
		}
	}
}

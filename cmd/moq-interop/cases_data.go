package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// stage is a publisher and a subscriber of one track.
type stage struct {
	t      *tester
	origin *origin
	pub    *moqt.Publication
	viewer *moqt.Session
	sub    *moqt.Subscription
}

// stage connects both and subscribes.
func (t *tester) stage(ctx context.Context) (*stage, error) {
	st := &stage{t: t, origin: newOrigin(wire.FullTrackName{Namespace: t.namespace(), Name: "test-track"})}
	if _, err := t.publish(ctx, st.origin); err != nil {
		return nil, err
	}
	var err error
	if st.viewer, err = t.connect(ctx, "subscriber", nil); err != nil {
		return nil, err
	}
	if st.sub, err = st.viewer.Subscribe(ctx, moqt.SubscribeRequest{Track: st.origin.track}); err != nil {
		return nil, wrap("SUBSCRIBE", err)
	}
	st.pub, err = st.origin.subscribed(ctx)
	return st, err
}

// send publishes groups of n objects each.
func (st *stage) send(ctx context.Context, n int, groups ...uint64) error {
	for _, g := range groups {
		if err := st.origin.group(ctx, st.pub, g, n); err != nil {
			return err
		}
	}
	return nil
}

// pass publishes groups of n objects each, and waits until the subscriber has them.
func (st *stage) pass(ctx context.Context, n int, groups ...uint64) error {
	if err := st.send(ctx, n, groups...); err != nil {
		return err
	}
	return st.t.wantGroups(ctx, st.sub, n, groups...)
}

// late connects another subscriber of the track.
func (st *stage) late(ctx context.Context, filter wire.FilterType) (*moqt.Session, *moqt.Subscription, error) {
	s, err := st.t.connect(ctx, "late subscriber", nil)
	if err != nil {
		return nil, nil, err
	}
	sub, err := s.Subscribe(ctx, moqt.SubscribeRequest{
		Track: st.origin.track, Params: wire.Params{Filter: wire.Some(wire.Filter{Type: filter})},
	})
	if err != nil {
		return nil, nil, wrap("SUBSCRIBE", err)
	}
	return s, sub, nil
}

// received is what came of one subgroup, on however many streams.
type received struct {
	objects  []uint64 // in the order they came
	priority uint8
}

// receive reads streams until n objects have come.
func (t *tester) receive(ctx context.Context, sub *moqt.Subscription, n int) (map[[2]uint64]received, error) {
	all := make(map[[2]uint64]received)
	streams := 0
	for n > 0 {
		in, err := sub.Next(ctx)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%d objects have not come: %w", n, err)
		case in.Subgroup == nil:
			return nil, errors.New("a datagram came, want a stream")
		}
		streams++
		for {
			o, err := in.Subgroup.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				return nil, wrap("read a stream", err)
			}
			if o.Status != wire.ObjectNormal {
				continue
			}
			h := in.Subgroup.Header()
			b, err := io.ReadAll(in.Subgroup)
			if err != nil {
				return nil, wrap("read an object", err)
			}
			if want := payload(wire.Location{Group: h.Group, Object: o.ID}); string(b) != string(want) {
				return nil, fmt.Errorf("object %d of group %d has the payload %q, want %q", o.ID, h.Group, b, want)
			}
			key := [2]uint64{h.Group, h.Subgroup}
			r := all[key]
			r.objects, r.priority = append(r.objects, o.ID), h.Priority
			all[key] = r
			n--
		}
	}
	t.report.add("streams", streams)
	return all, nil
}

// wantGroups reads groups with the objects 0 to n-1 each in subgroup 0. A relay need not keep them on one stream each.
func (t *tester) wantGroups(ctx context.Context, sub *moqt.Subscription, n int, groups ...uint64) error {
	all, err := t.receive(ctx, sub, n*len(groups))
	if err != nil {
		return err
	}
	for _, id := range groups {
		objects := slices.Sorted(slices.Values(all[[2]uint64{id, 0}].objects))
		for i := range uint64(n) {
			if len(objects) != n || objects[i] != i {
				return fmt.Errorf("of group %d came the objects %v, want 0 to %d", id, objects, n-1)
			}
		}
	}
	return nil
}

func singleObject(ctx context.Context, t *tester) error {
	st, err := t.stage(ctx)
	if err != nil {
		return err
	}
	return st.pass(ctx, 1, 0)
}

func multipleGroups(ctx context.Context, t *tester) error {
	st, err := t.stage(ctx)
	if err != nil {
		return err
	}
	return st.pass(ctx, 5, 0, 1, 2)
}

// subgroups sends the even objects of a group in one subgroup and the odd ones in another.
func subgroups(ctx context.Context, t *tester) error {
	st, err := t.stage(ctx)
	if err != nil {
		return err
	}
	for id, priority := range []uint8{10, 200} {
		w, err := st.pub.OpenSubgroup(ctx, moqt.SubgroupHeader{
			Group: 7, Subgroup: uint64(id), Priority: priority, HasPriority: true, FirstObject: true,
		})
		if err != nil {
			return err
		}
		for i := range uint64(3) {
			if err := st.origin.write(w, wire.Location{Group: 7, Object: 2*i + uint64(id)}); err != nil {
				return err
			}
		}
		w.Close()
	}
	all, err := t.receive(ctx, st.sub, 6)
	if err != nil {
		return err
	}
	for id, priority := range []uint8{10, 200} {
		r, first := all[[2]uint64{7, uint64(id)}], uint64(id)
		if want := []uint64{first, first + 2, first + 4}; !slices.Equal(slices.Sorted(slices.Values(r.objects)), want) || r.priority != priority {
			return fmt.Errorf("of subgroup %d came the objects %v with priority %d; want %v with %d", id, r.objects, r.priority, want, priority)
		}
	}
	return nil
}

// datagrams may be lost, so one that comes is enough.
func datagrams(ctx context.Context, t *tester) error {
	st, err := t.stage(ctx)
	if err != nil {
		return err
	}
	for i := range uint64(20) {
		at := wire.Location{Group: 3, Object: i}
		st.origin.note(at)
		if err := st.pub.SendDatagram(moqt.Datagram{Group: 3, Object: i, Priority: 2, HasPriority: true, Payload: payload(at)}); err != nil {
			return wrap("send a datagram", err)
		}
	}
	in, err := st.sub.Next(ctx)
	switch {
	case err != nil:
		return wrap("wait for a datagram", err)
	case in.Datagram == nil:
		return errors.New("a stream came, want a datagram")
	}
	d := in.Datagram
	if want := payload(wire.Location{Group: d.Group, Object: d.Object}); string(d.Payload) != string(want) || d.Priority != 2 {
		return fmt.Errorf("datagram %d.%d has priority %d and the payload %q", d.Group, d.Object, d.Priority, d.Payload)
	}
	return nil
}

// lateSubscriber comes when two groups have gone by, and gets all that follow.
func lateSubscriber(ctx context.Context, t *tester) error {
	st, err := t.stage(ctx)
	if err != nil {
		return err
	}
	if err := st.pass(ctx, 2, 0, 1); err != nil {
		return err
	}
	_, sub, err := st.late(ctx, wire.FilterNextGroupStart)
	if err != nil {
		return err
	}
	if at, ok := sub.Info().Largest.Get(); !ok || at != (wire.Location{Group: 1, Object: 1}) {
		return fmt.Errorf("SUBSCRIBE_OK says that the largest object is %v (%v), want {1 1}", at, ok)
	}
	if err := st.send(ctx, 2, 2, 3); err != nil {
		return err
	}
	return t.wantGroups(ctx, sub, 2, 2, 3)
}

// fetched reads the answer to a FETCH.
func fetched(r *moqt.FetchReader) (objects []wire.Location, err error) {
	for {
		o, err := r.Next()
		if err == io.EOF {
			return objects, nil
		}
		if err != nil {
			return objects, wrap("read the FETCH stream", err)
		}
		at := wire.Location{Group: o.Group, Object: o.Object}
		if o.Gap != 0 {
			continue
		}
		b, err := io.ReadAll(r)
		if err != nil || string(b) != string(payload(at)) {
			return objects, fmt.Errorf("object %v has the payload %q, %v", at, b, err)
		}
		objects = append(objects, at)
	}
}

func wantObjects(got []wire.Location, want ...wire.Location) error {
	if !slices.Equal(got, want) {
		return fmt.Errorf("fetched %v, want %v", got, want)
	}
	return nil
}

func fetch(ctx context.Context, t *tester) error {
	st, err := t.stage(ctx)
	if err != nil {
		return err
	}
	if err := st.pass(ctx, 3, 0, 1, 2, 3); err != nil {
		return err
	}
	r, err := st.viewer.Fetch(ctx, moqt.FetchRequest{Track: st.origin.track, Start: wire.Location{Group: 1, Object: 1}, End: wire.Location{Group: 2, Object: 2}})
	if err != nil {
		return wrap("FETCH", err)
	}
	objects, err := fetched(r)
	if err != nil {
		return err
	}
	return wantObjects(objects, wire.Location{Group: 1, Object: 1}, wire.Location{Group: 1, Object: 2}, wire.Location{Group: 2}, wire.Location{Group: 2, Object: 1})
}

// joiningFetch has the past from a FETCH and what follows from the subscription, without a gap.
func joiningFetch(ctx context.Context, t *tester) error {
	st, err := t.stage(ctx)
	if err != nil {
		return err
	}
	if err := st.pass(ctx, 2, 0, 1); err != nil {
		return err
	}
	late, sub, err := st.late(ctx, wire.FilterLargestObject)
	if err != nil {
		return err
	}
	r, err := late.Fetch(ctx, moqt.FetchRequest{Joining: sub, JoiningStart: 1})
	if err != nil {
		return wrap("joining FETCH", err)
	}
	objects, err := fetched(r)
	if err != nil {
		return err
	}
	if err := wantObjects(objects, wire.Location{}, wire.Location{Object: 1}, wire.Location{Group: 1}, wire.Location{Group: 1, Object: 1}); err != nil {
		return err
	}
	if err := st.send(ctx, 2, 2); err != nil {
		return err
	}
	for { // a relay may begin with the current group
		all, err := t.receive(ctx, sub, 1)
		if err != nil {
			return err
		}
		for key := range all {
			if key[0] > 2 || key[0] == 0 {
				return fmt.Errorf("group %d came, want 2", key[0])
			}
		}
		if got := all[[2]uint64{2, 0}]; len(got.objects) > 0 {
			return nil
		}
	}
}

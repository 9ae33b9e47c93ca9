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

// got is one stream as it was received.
type got struct {
	header  moqt.SubgroupHeader
	objects []uint64
}

// stream reads the next stream of a subscription to its end.
func stream(ctx context.Context, sub *moqt.Subscription) (got, error) {
	in, err := sub.Next(ctx)
	if err != nil {
		return got{}, wrap("wait for a stream", err)
	}
	if in.Subgroup == nil {
		return got{}, errors.New("a datagram came, want a stream")
	}
	var g got
	for {
		o, err := in.Subgroup.Next()
		g.header = in.Subgroup.Header()
		if err == io.EOF {
			return g, nil
		}
		if err != nil {
			return g, wrap("read a stream", err)
		}
		b, err := io.ReadAll(in.Subgroup)
		if err != nil {
			return g, wrap("read an object", err)
		}
		if want := payload(wire.Location{Group: g.header.Group, Object: o.ID}); string(b) != string(want) {
			return g, fmt.Errorf("object %d of group %d has the payload %q, want %q", o.ID, g.header.Group, b, want)
		}
		g.objects = append(g.objects, o.ID)
	}
}

// wantGroups reads one stream for each group, in any order, with the objects 0 to n-1 each.
func wantGroups(ctx context.Context, sub *moqt.Subscription, n int, groups ...uint64) error {
	var want []uint64
	for i := range uint64(n) {
		want = append(want, i)
	}
	left := slices.Clone(groups)
	for len(left) > 0 {
		g, err := stream(ctx, sub)
		if err != nil {
			return err
		}
		i := slices.Index(left, g.header.Group)
		if i < 0 || !slices.Equal(g.objects, want) {
			return fmt.Errorf("group %d came with the objects %v; want the groups %v with %v", g.header.Group, g.objects, left, want)
		}
		left = slices.Delete(left, i, i+1)
	}
	return nil
}

func singleObject(ctx context.Context, t *tester) error {
	st, err := t.stage(ctx)
	if err != nil {
		return err
	}
	if err := st.origin.group(ctx, st.pub, 0, 1); err != nil {
		return err
	}
	return wantGroups(ctx, st.sub, 1, 0)
}

func multipleGroups(ctx context.Context, t *tester) error {
	st, err := t.stage(ctx)
	if err != nil {
		return err
	}
	for g := range uint64(3) {
		if err := st.origin.group(ctx, st.pub, g, 5); err != nil {
			return err
		}
	}
	return wantGroups(ctx, st.sub, 5, 0, 1, 2)
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
	for range 2 {
		g, err := stream(ctx, st.sub)
		if err != nil {
			return err
		}
		id := g.header.Subgroup
		if want := []uint64{id, id + 2, id + 4}; id > 1 || g.header.Group != 7 || !slices.Equal(g.objects, want) {
			return fmt.Errorf("subgroup %d of group %d came with the objects %v", id, g.header.Group, g.objects)
		}
		if want := []uint8{10, 200}[id]; g.header.Priority != want {
			return fmt.Errorf("subgroup %d came with the priority %d, want %d", id, g.header.Priority, want)
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
	for g := range uint64(2) {
		if err := st.origin.group(ctx, st.pub, g, 2); err != nil {
			return err
		}
	}
	if err := wantGroups(ctx, st.sub, 2, 0, 1); err != nil {
		return err
	}
	late, err := t.connect(ctx, "late subscriber", nil)
	if err != nil {
		return err
	}
	sub, err := late.Subscribe(ctx, moqt.SubscribeRequest{
		Track: st.origin.track, Params: wire.Params{Filter: wire.Some(wire.Filter{Type: wire.FilterNextGroupStart})},
	})
	if err != nil {
		return wrap("SUBSCRIBE", err)
	}
	if at, ok := sub.Info().Largest.Get(); !ok || at != (wire.Location{Group: 1, Object: 1}) {
		return fmt.Errorf("SUBSCRIBE_OK says that the largest object is %v (%v), want {1 1}", at, ok)
	}
	for g := uint64(2); g < 4; g++ {
		if err := st.origin.group(ctx, st.pub, g, 2); err != nil {
			return err
		}
	}
	return wantGroups(ctx, sub, 2, 2, 3)
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
	for g := range uint64(4) {
		if err := st.origin.group(ctx, st.pub, g, 3); err != nil {
			return err
		}
	}
	if err := wantGroups(ctx, st.sub, 3, 0, 1, 2, 3); err != nil {
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
	for g := range uint64(2) {
		if err := st.origin.group(ctx, st.pub, g, 2); err != nil {
			return err
		}
	}
	if err := wantGroups(ctx, st.sub, 2, 0, 1); err != nil {
		return err
	}
	late, err := t.connect(ctx, "late subscriber", nil)
	if err != nil {
		return err
	}
	sub, err := late.Subscribe(ctx, moqt.SubscribeRequest{
		Track: st.origin.track, Params: wire.Params{Filter: wire.Some(wire.Filter{Type: wire.FilterLargestObject})},
	})
	if err != nil {
		return wrap("SUBSCRIBE", err)
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
	if err := st.origin.group(ctx, st.pub, 2, 2); err != nil {
		return err
	}
	for {
		g, err := stream(ctx, sub)
		if err != nil {
			return err
		}
		if g.header.Group == 2 {
			return nil
		}
		if g.header.Group != 1 { // a relay may begin with the current group
			return fmt.Errorf("group %d came, want 2", g.header.Group)
		}
	}
}

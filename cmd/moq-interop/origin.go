package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// origin publishes one track from memory. Every object has its location as payload.
type origin struct {
	track wire.FullTrackName
	asked chan *moqt.Publication // of each SUBSCRIBE

	mu   sync.Mutex
	sent []wire.Location // in order
}

func newOrigin(track wire.FullTrackName) *origin {
	return &origin{track: track, asked: make(chan *moqt.Publication, 16)}
}

// publish announces the namespace of the origin's track.
func (t *tester) publish(ctx context.Context, o *origin) (*moqt.Session, error) {
	s, err := t.connect(ctx, "publisher", o.answer)
	if err != nil {
		return nil, err
	}
	_, err = t.announce(ctx, s, o.track.Namespace)
	return s, err
}

// answer serves the relay.
func (o *origin) answer(req moqt.Request) {
	switch req := req.(type) {
	case *moqt.IncomingSubscribe:
		if req.Track != o.track {
			req.Reject(&moqt.RequestError{Code: wire.RequestDoesNotExist, Reason: "no such track"})
			return
		}
		if pub, err := req.Accept(moqt.AcceptSubscribe{Largest: o.largest}); err == nil {
			o.asked <- pub
		}
	case *moqt.IncomingTrackStatus:
		status := moqt.TrackStatus{}
		if at, ok := o.largest(); ok {
			status.Largest = wire.Some(at)
		}
		req.Accept(status)
	case *moqt.IncomingFetch:
		o.fetch(req)
	default:
		req.Reject(nil)
	}
}

func (o *origin) largest() (wire.Location, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.sent) == 0 {
		return wire.Location{}, false
	}
	return slices.MaxFunc(o.sent, wire.Location.Compare), true
}

// fetch answers a FETCH, oldest group first.
func (o *origin) fetch(req *moqt.IncomingFetch) {
	largest, ok := o.largest()
	if !ok || largest.Less(req.Start) || req.Params.GroupOrder.Or(wire.GroupOrderAscending) != wire.GroupOrderAscending {
		req.Reject(&moqt.RequestError{Code: wire.RequestInvalidRange})
		return
	}
	last := wire.FetchLast(req.End)
	if largest.Less(last) {
		last = largest
	}
	w, err := req.Accept(moqt.FetchOK{End: wire.FetchEnd(last)})
	if err != nil {
		return
	}
	o.mu.Lock()
	sent := slices.Clone(o.sent)
	o.mu.Unlock()
	slices.SortFunc(sent, wire.Location.Compare)
	for _, at := range sent {
		if at.Less(req.Start) || last.Less(at) {
			continue
		}
		if w.WriteObject(moqt.FetchObject{Group: at.Group, Object: at.Object, Priority: 128}, payload(at)) != nil {
			return
		}
	}
	w.Close()
}

func payload(at wire.Location) []byte { return fmt.Appendf(nil, "%d.%d", at.Group, at.Object) }

func (o *origin) note(at wire.Location) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sent = append(o.sent, at)
}

// group sends a whole group of n objects in subgroup 0.
func (o *origin) group(ctx context.Context, pub *moqt.Publication, id uint64, n int) error {
	w, err := pub.OpenSubgroup(ctx, moqt.SubgroupHeader{Group: id, EndOfGroup: true, FirstObject: true})
	if err != nil {
		return wrap("open a stream", err)
	}
	for i := range uint64(n) {
		if err := o.write(w, wire.Location{Group: id, Object: i}); err != nil {
			return err
		}
	}
	return wrap("close a stream", w.Close())
}

func (o *origin) write(w *moqt.SubgroupWriter, at wire.Location) error {
	o.note(at)
	return wrap("send an object", w.WriteObject(moqt.ObjectHeader{ID: at.Object}, payload(at)))
}

// subscribed waits for the relay's SUBSCRIBE.
func (o *origin) subscribed(ctx context.Context) (*moqt.Publication, error) {
	select {
	case pub := <-o.asked:
		return pub, nil
	case <-ctx.Done():
		return nil, errors.New("the relay has not subscribed to the publisher")
	}
}

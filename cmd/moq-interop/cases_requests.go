package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

func trackStatus(ctx context.Context, t *tester) error {
	st, err := t.stage(ctx)
	if err != nil {
		return err
	}
	if err := st.pass(ctx, 2, 4); err != nil {
		return err
	}
	status, err := st.viewer.TrackStatus(ctx, st.origin.track)
	if err != nil {
		return wrap("TRACK_STATUS", err)
	}
	if at, ok := status.Largest.Get(); !ok || at != (wire.Location{Group: 4, Object: 1}) {
		return fmt.Errorf("the largest object is %v (%v), want {4 1}", at, ok)
	}
	return nil
}

// subscribeNamespace is told of a namespace when it comes and when it goes.
func subscribeNamespace(ctx context.Context, t *tester) error {
	viewer, err := t.connect(ctx, "subscriber", nil)
	if err != nil {
		return err
	}
	ns, err := viewer.SubscribeNamespace(ctx, t.namespace())
	if err != nil {
		return wrap("SUBSCRIBE_NAMESPACE", err)
	}
	pub, err := t.connect(ctx, "publisher", nil)
	if err != nil {
		return err
	}
	a, err := pub.PublishNamespace(ctx, t.namespace("a"))
	if err != nil {
		return wrap("PUBLISH_NAMESPACE", err)
	}
	for _, gone := range []bool{false, true} {
		if gone {
			a.Withdraw()
		}
		e, err := ns.Next(ctx)
		if err != nil {
			return wrap("wait for a namespace", err)
		}
		if e.Gone != gone || e.Namespace != t.namespace("a") {
			return fmt.Errorf("told of %v (gone: %v), want %v (gone: %v)", e.Namespace, e.Gone, t.namespace("a"), gone)
		}
	}
	return nil
}

// subscribeTracks is offered the tracks of others, and gets their objects.
func subscribeTracks(ctx context.Context, t *tester) error {
	offers := make(chan *moqt.Subscription, 4)
	viewer, err := t.connect(ctx, "subscriber", func(req moqt.Request) {
		offer, ok := req.(*moqt.IncomingPublish)
		if !ok {
			req.Reject(nil)
			return
		}
		if sub, err := offer.Accept(wire.Params{}); err == nil {
			offers <- sub
		}
	})
	if err != nil {
		return err
	}
	if _, err := viewer.SubscribeTracks(ctx, t.namespace(), true); err != nil {
		return wrap("SUBSCRIBE_TRACKS", err)
	}
	pub, err := t.connect(ctx, "publisher", nil)
	if err != nil {
		return err
	}
	o := newOrigin(wire.FullTrackName{Namespace: t.namespace("a"), Name: "test-track"})
	p, err := pub.Publish(ctx, moqt.PublishRequest{Track: o.track})
	if err != nil {
		return wrap("PUBLISH", err)
	}
	var sub *moqt.Subscription
	select {
	case sub = <-offers:
	case <-ctx.Done():
		return errors.New("the track was not offered with PUBLISH")
	}
	if sub.Track() != o.track {
		return fmt.Errorf("offered %v, want %v", sub.Track(), o.track)
	}
	if err := forwarding(ctx, p); err != nil {
		return err
	}
	if err := o.group(ctx, p, 1, 3); err != nil {
		return err
	}
	return t.wantGroups(ctx, sub, 3, 1)
}

// forwarding waits until the relay wants objects of a track that was published.
func forwarding(ctx context.Context, p *moqt.Publication) error {
	for {
		changed := p.Changed()
		if p.State().Forward {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return errors.New("the relay does not want objects, though there is a subscriber")
		}
	}
}

// raceDelay is how long after its namespace was accepted a track is subscribed to, at most.
const raceDelay = 5 * time.Millisecond

// announceSubscribeRace subscribes right after the publisher has been told that its namespace is accepted, again and again.
// No subscription may be refused.
func announceSubscribeRace(ctx context.Context, t *tester) error {
	var mu sync.Mutex
	left, done, refused := t.flags.rounds, 0, 0
	var first error
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		left--
		return left, left >= 0 && ctx.Err() == nil
	}
	var workers sync.WaitGroup
	for range t.flags.parallel {
		workers.Go(func() {
			pub, err := t.connect(ctx, "publisher", acceptAll)
			var sub *moqt.Session
			if err == nil {
				sub, err = t.connect(ctx, "subscriber", nil)
			}
			for err == nil {
				i, more := take()
				if !more {
					return
				}
				err = t.raceRound(ctx, pub, sub, i)
				mu.Lock()
				done++
				if err != nil {
					refused++
					first = errors.Join(first, err)
					err = nil
				}
				mu.Unlock()
			}
			mu.Lock()
			first = errors.Join(first, err)
			mu.Unlock()
		})
	}
	workers.Wait()
	t.report.add("rounds", done)
	t.report.add("refused", refused)
	if first == nil && done < t.flags.rounds {
		first = fmt.Errorf("only %d of %d rounds were done in time", done, t.flags.rounds)
	}
	return first
}

func (t *tester) raceRound(ctx context.Context, pub, sub *moqt.Session, i int) error {
	ns := t.namespace(strconv.Itoa(i))
	a, err := pub.PublishNamespace(ctx, ns)
	if err != nil {
		return wrap("PUBLISH_NAMESPACE", err)
	}
	defer a.Withdraw()
	if d := rand.N(raceDelay + 1); d > raceDelay/5 { // some without any delay
		time.Sleep(d)
	}
	s, err := sub.Subscribe(ctx, moqt.SubscribeRequest{Track: wire.FullTrackName{Namespace: ns, Name: "test-track"}})
	if err != nil {
		return wrap("SUBSCRIBE", err)
	}
	s.Close()
	return nil
}

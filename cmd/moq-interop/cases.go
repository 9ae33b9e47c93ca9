package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// cases are all there are: those of the runner first, by its names, with its times.
var cases = []testCase{
	{"setup-only", 2 * time.Second, setupOnly},
	{"announce-only", 2 * time.Second, announceOnly},
	{"publish-namespace-done", 2 * time.Second, publishNamespaceDone},
	{"subscribe-error", 2 * time.Second, subscribeError},
	{"announce-subscribe", 3 * time.Second, announceSubscribe},
	{"subscribe-before-announce", 3500 * time.Millisecond, subscribeBeforeAnnounce},

	{"single-object", dataTimeout, singleObject},
	{"multiple-groups", dataTimeout, multipleGroups},
	{"subgroups", dataTimeout, subgroups},
	{"datagrams", dataTimeout, datagrams},
	{"late-subscriber", dataTimeout, lateSubscriber},
	{"fetch", dataTimeout, fetch},
	{"joining-fetch", dataTimeout, joiningFetch},
	{"track-status", dataTimeout, trackStatus},
	{"subscribe-namespace", dataTimeout, subscribeNamespace},
	{"subscribe-tracks", dataTimeout, subscribeTracks},
	{"announce-subscribe-race", time.Minute, announceSubscribeRace},
}

const dataTimeout = 5 * time.Second

// What the runner's cases use.
var (
	testNamespace = wire.MustNamespace("moq-test", "interop")
	testTrack     = wire.FullTrackName{Namespace: testNamespace, Name: "test-track"}
	noTrack       = wire.FullTrackName{Namespace: wire.MustNamespace("nonexistent", "namespace"), Name: "test-track"}
)

// target returns authority and path of a URL, for SETUP.
func target(rawURL string) (authority, path string) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "", ""
	}
	return u.Host, u.RequestURI()
}

func setupOnly(ctx context.Context, t *tester) error {
	_, err := t.connect(ctx, "client", nil)
	return err
}

func announceOnly(ctx context.Context, t *tester) error {
	s, err := t.connect(ctx, "publisher", nil)
	if err != nil {
		return err
	}
	_, err = t.announce(ctx, s, testNamespace)
	return err
}

func publishNamespaceDone(ctx context.Context, t *tester) error {
	s, err := t.connect(ctx, "publisher", nil)
	if err != nil {
		return err
	}
	a, err := t.announce(ctx, s, testNamespace)
	if err != nil {
		return err
	}
	a.Withdraw()
	<-a.Context().Done()
	return quiet(ctx, s)
}

// quiet waits a moment in which a relay that does not like what it got would close the session.
func quiet(ctx context.Context, s *moqt.Session) error {
	select {
	case <-time.After(100 * time.Millisecond):
		return nil
	case <-s.Context().Done():
		return context.Cause(s.Context())
	case <-ctx.Done():
		return ctx.Err()
	}
}

func subscribeError(ctx context.Context, t *tester) error {
	s, err := t.connect(ctx, "subscriber", nil)
	if err != nil {
		return err
	}
	_, err = s.Subscribe(ctx, moqt.SubscribeRequest{Track: noTrack})
	if err == nil {
		return errors.New("a track that is not there was accepted with SUBSCRIBE_OK, want REQUEST_ERROR")
	}
	code, refused := refusedWith(err)
	if !refused {
		return fmt.Errorf("want REQUEST_ERROR: %w", err)
	}
	t.report.add("code", code)
	return nil
}

func announceSubscribe(ctx context.Context, t *tester) error {
	pub, err := t.connect(ctx, "publisher", acceptAll)
	if err != nil {
		return err
	}
	if _, err := t.announce(ctx, pub, testNamespace); err != nil {
		return err
	}
	sub, err := t.connect(ctx, "subscriber", nil)
	if err != nil {
		return err
	}
	_, err = sub.Subscribe(ctx, moqt.SubscribeRequest{Track: testTrack})
	return wrap("SUBSCRIBE", err)
}

// acceptAll accepts every SUBSCRIBE of a publisher without objects.
func acceptAll(req moqt.Request) {
	if s, ok := req.(*moqt.IncomingSubscribe); ok {
		s.Accept(moqt.AcceptSubscribe{})
		return
	}
	req.Reject(nil)
}

func subscribeBeforeAnnounce(ctx context.Context, t *tester) error {
	sub, err := t.connect(ctx, "subscriber", nil)
	if err != nil {
		return err
	}
	answer := make(chan error, 1)
	t.running.Go(func() {
		_, err := sub.Subscribe(ctx, moqt.SubscribeRequest{Track: testTrack})
		answer <- err
	})
	select {
	case <-time.After(500 * time.Millisecond):
	case <-ctx.Done():
		return ctx.Err()
	}
	pub, err := t.connect(ctx, "publisher", acceptAll)
	if err != nil {
		return err
	}
	if _, err := t.announce(ctx, pub, testNamespace); err != nil {
		return err
	}
	select {
	case err = <-answer:
	case <-ctx.Done():
		return errors.New("SUBSCRIBE has no answer")
	}
	code, refused := refusedWith(err)
	switch {
	case err == nil:
		t.report.add("answer", "SUBSCRIBE_OK")
	case refused:
		t.report.add("answer", code)
	default:
		return wrap("SUBSCRIBE", err)
	}
	return nil
}

// wrap says which request an error is about.
func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

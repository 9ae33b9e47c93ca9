package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// rendezvous is how long the relay is asked to hold a SUBSCRIBE for a publisher that is not there.
const rendezvous = 30 * time.Second

// subscribe asks for a track. While the publisher is not there it asks again, if wait is set.
func subscribe(ctx context.Context, s *moqt.Session, track wire.FullTrackName, wait bool) (*moqt.Subscription, error) {
	var backoff cli.Backoff
	params := wire.Params{Filter: wire.Some(wire.Filter{Type: wire.FilterLargestObject})}
	if wait {
		params.RendezvousTimeout = wire.Some(wire.MillisOf(rendezvous))
	}
	for {
		sub, err := s.Subscribe(ctx, moqt.SubscribeRequest{Track: track, Params: params})
		var refused *moqt.RequestError
		if err == nil || !wait || !errors.As(err, &refused) || !mayCome(refused.Code) {
			return sub, err
		}
		if err := cli.Sleep(ctx, backoff.Next()); err != nil {
			return nil, err
		}
	}
}

// mayCome reports whether a refused track may be there later.
func mayCome(code wire.RequestCode) bool {
	switch code {
	case wire.RequestDoesNotExist, wire.RequestTimeout, wire.RequestInternalError, wire.RequestExcessiveLoad:
		return true
	}
	return false
}

// notFound turns the refusal of a track that is not there into an error for people.
func notFound(err error, what string) error {
	var refused *moqt.RequestError
	if errors.As(err, &refused) {
		if refused.Code == wire.RequestDoesNotExist || refused.Code == wire.RequestTimeout {
			return cli.NotFound("%s is not there (%v); use --wait to wait for it", what, refused.Code)
		}
		return fmt.Errorf("%s: %w", what, err)
	}
	return err
}

package main

import (
	"context"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/relay"
)

// minGroup is the least time between new groups that subscribers ask for.
//
// "The Original Publisher MAY delay the NEW_GROUP_REQUEST subject to implementation specific concerns, for example, achieving a
// minimum duration for each Group."
// [MOQT-18] Section 10.2.13, NEW GROUP REQUEST Parameter
const minGroup = 500 * time.Millisecond

// properties are those of the track of a rendition. A source that can make a key frame when it is asked to says so.
//
// "When the value is 1, it indicates that the subscriber can request the Original Publisher to start a new Group by including
// the NEW_GROUP_REQUEST parameter in PUBLISH_OK or REQUEST_UPDATE for this Track."
// [MOQT-18] Section 12.6, DYNAMIC GROUPS
func (p *publisher) properties(r media.Rendition) (wire.Properties, error) {
	if !p.flags.synthetic || r.Track.Kind != media.Video {
		return nil, nil
	}
	return (&wire.TrackProperties{DynamicGroups: wire.Some(true)}).Properties(wire.Draft18)
}

// followGroupRequests passes requests for a new group on to the source, until ctx ends.
func (p *publisher) followGroupRequests(ctx context.Context, newGroup func()) {
	var running sync.WaitGroup
	defer running.Wait()
	asked := make(chan struct{}, 1)
	for _, r := range p.broadcast.Renditions() {
		if r.Track.Kind == media.Video {
			running.Go(func() { awaitRequests(ctx, p.tracks[r.Name], asked) })
		}
	}
	for {
		select {
		case <-asked:
			newGroup()
		case <-ctx.Done():
			return
		}
		if cli.Sleep(ctx, minGroup) != nil {
			return
		}
	}
}

// awaitRequests puts a token into asked for each request, if there is none in it.
func awaitRequests(ctx context.Context, t *relay.LocalTrack, asked chan<- struct{}) {
	for {
		wanted, more := t.WantsGroup()
		if wanted {
			select {
			case asked <- struct{}{}:
			default:
			}
		}
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
	}
}

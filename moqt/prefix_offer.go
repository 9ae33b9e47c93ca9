package moqt

import (
	"context"
	"errors"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// offerWait is how long [IncomingSubscribeTracks.Offer] waits for a stream. What others have ended frees streams a moment
// later, and PUBLISH_BLOCKED is for good.
const offerWait = time.Second

// ErrBlocked says that a track cannot be offered to the peer because PUBLISH_BLOCKED was sent for it.
var ErrBlocked = errors.New("moqt: the track was not offered for want of streams")

// current returns the prefix that holds now.
func (r *prefixRequest) current() wire.Namespace {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.prefix
}

// CurrentPrefix returns the prefix that holds now: Prefix, or that of the last [IncomingPrefixUpdate] that was accepted.
func (r *IncomingSubscribeNamespace) CurrentPrefix() wire.Namespace { return r.r.current() }

// CurrentPrefix returns the prefix that holds now: Prefix, or that of the last [IncomingPrefixUpdate] that was accepted.
func (r *IncomingSubscribeTracks) CurrentPrefix() wire.Namespace { return r.r.current() }

// Offer sends a PUBLISH of a track to who has asked for all tracks with a prefix, and waits for the answer as
// [Session.Publish] does. The Forward State is that of the request, whatever req.Paused says. If no stream is free for it, it sends
// PUBLISH_BLOCKED and returns [ErrBlocked]; the track is then never offered again on behalf of this request.
//
// "If the FORWARD parameter ... is present in this message and equal to 0, PUBLISH messages resulting from this
// SUBSCRIBE_TRACKS will set the FORWARD parameter to 0."
// [MOQT-18] Section 10.19, SUBSCRIBE_TRACKS
func (r *IncomingSubscribeTracks) Offer(ctx context.Context, req PublishRequest) (*Publication, error) {
	r.r.mu.Lock()
	_, err := r.r.suffix(req.Track.Namespace)
	_, blocked := r.r.blocked[req.Track]
	r.r.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case blocked:
		return nil, ErrBlocked
	}
	req.Paused = !r.Forward
	p, err := r.r.h.s.publish(ctx, req, offerWait, &r.Params)
	if errors.Is(err, errNoStream) {
		if err := r.r.block(req.Track); err != nil {
			return nil, err
		}
		return nil, ErrBlocked
	}
	return p, err
}

// block sends a PUBLISH_BLOCKED, once for each track. What was blocked is remembered, up to [Config].MaxNamespaces tracks;
// beyond that the request is cancelled.
func (r *prefixRequest) block(track wire.FullTrackName) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	suffix, err := r.suffix(track.Namespace)
	if err != nil {
		return err
	}
	if _, known := r.blocked[track]; known {
		return nil
	}
	if len(r.blocked) >= r.h.s.cfg.MaxNamespaces {
		r.h.abort(wire.StreamExcessiveLoad, errTooMany)
		return errTooMany
	}
	if r.blocked == nil {
		r.blocked = make(map[wire.FullTrackName]struct{})
	}
	r.blocked[track] = struct{}{}
	return r.h.send(&wire.PublishBlocked{Track: wire.FullTrackName{Namespace: suffix, Name: track.Name}})
}

package relay

import (
	"context"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// spoil ends a malformed track: what is being sent of it is reset at once, and nothing of it is kept.
//
// "If a relay detects a Malformed Track, it MUST immediately terminate downstream subscriptions with PUBLISH_DONE and reset
// any fetch streams with Status Code MALFORMED_TRACK. Object(s) triggering Malformed Track status MUST NOT be cached."
// [MOQT-18] Section 2.4.2, Malformed Tracks
func (t *track) spoil(reason string) {
	t.mu.Lock()
	if t.ended == nil {
		t.ended = &ending{code: wire.DoneMalformedTrack, reason: reason}
	}
	var reading []*cursor
	for _, g := range t.groups {
		reading = append(reading, g.stragglers(func(*cursor) bool { return true })...)
	}
	_, end := t.malformed()
	t.mu.Unlock()
	cut(reading, CutMalformed)
	end()
	t.clear()
}

// doom ends the context of spoiled, so that no FETCH finishes as if the track were sound.
func (t *track) doom() {
	t.mu.Lock()
	_, end := t.malformed()
	t.mu.Unlock()
	end()
}

// spoiled returns a context that ends if the track turns out to be malformed.
func (t *track) spoiled() context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	ctx, _ := t.malformed()
	return ctx
}

// malformed makes the context of spoiled when it is first asked for; t.mu is held.
func (t *track) malformed() (context.Context, context.CancelFunc) {
	if t.spoiling == nil {
		t.spoiling, t.spoilt = context.WithCancel(context.Background())
	}
	return t.spoiling, t.spoilt
}

// endsWith reports whether a location is that of the track's last object, or beyond it, as far as the publisher has said so.
func (t *track) endsWith(last wire.Location) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	end, ok := t.trackEnd.Get()
	return ok && !last.Less(end)
}

// endsAt notes that a location is that of the track's last object.
func (t *track) endsAt(last wire.Location) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trackEnd = wire.Some(last)
}

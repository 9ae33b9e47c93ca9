package moqt

import (
	"context"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// Announcement is a PUBLISH_NAMESPACE that the peer has accepted.
type Announcement struct{}

// Namespace returns the namespace.
func (a *Announcement) Namespace() wire.Namespace { panic("not written") }

// Context ends when the peer has revoked the announcement, after Withdraw, and with the session.
func (a *Announcement) Context() context.Context { panic("not written") }

// Withdraw ends the announcement.
func (a *Announcement) Withdraw() { panic("not written") }

// IncomingPublishNamespace is an announcement of the peer. Its Context ends when the peer has withdrawn it.
type IncomingPublishNamespace struct {
	Namespace wire.Namespace
	Tokens    []wire.Token
}

// Context implements [Request].
func (r *IncomingPublishNamespace) Context() context.Context { panic("not written") }

// Accept answers with REQUEST_OK.
func (r *IncomingPublishNamespace) Accept() error { panic("not written") }

// Reject implements [Request].
func (r *IncomingPublishNamespace) Reject(err *RequestError) error { panic("not written") }

// Revoke takes back an Accept.
func (r *IncomingPublishNamespace) Revoke(code wire.StreamCode) { panic("not written") }

func (r *IncomingPublishNamespace) isRequest() {}

// NamespaceSubscription is a SUBSCRIBE_NAMESPACE that the peer has accepted.
type NamespaceSubscription struct{}

// NamespaceEvent says that a namespace has appeared or gone.
type NamespaceEvent struct {
	Namespace wire.Namespace // whole: prefix and suffix
	Suffix    wire.Namespace
	Gone      bool
}

// Prefix returns the prefix asked for.
func (n *NamespaceSubscription) Prefix() wire.Namespace { panic("not written") }

// Next waits for the next change. When the peer ends the subscription, all namespaces go, and then it returns io.EOF after a FIN
// or a [*StreamError] after a reset.
func (n *NamespaceSubscription) Next(ctx context.Context) (NamespaceEvent, error) {
	panic("not written")
}

// Update changes the prefix. It waits for the answer.
func (n *NamespaceSubscription) Update(ctx context.Context, prefix wire.Namespace) error {
	panic("not written")
}

// Context ends with the subscription.
func (n *NamespaceSubscription) Context() context.Context { panic("not written") }

// Close ends the subscription.
func (n *NamespaceSubscription) Close() { panic("not written") }

// IncomingSubscribeNamespace is the peer's wish to know the namespaces with a prefix.
type IncomingSubscribeNamespace struct {
	Prefix wire.Namespace // as asked for first; see IncomingPrefixUpdate
	Tokens []wire.Token
}

// Context implements [Request].
func (r *IncomingSubscribeNamespace) Context() context.Context { panic("not written") }

// Accept answers with REQUEST_OK.
func (r *IncomingSubscribeNamespace) Accept() error { panic("not written") }

// Reject implements [Request].
func (r *IncomingSubscribeNamespace) Reject(err *RequestError) error { panic("not written") }

// Announce tells the peer of a namespace, which must begin with the prefix. One that it knows already is not told again.
func (r *IncomingSubscribeNamespace) Announce(ns wire.Namespace) error { panic("not written") }

// Withdraw tells the peer that a namespace has gone. One that it does not know is left out.
func (r *IncomingSubscribeNamespace) Withdraw(ns wire.Namespace) error { panic("not written") }

// Cancel ends the subscription from this side.
func (r *IncomingSubscribeNamespace) Cancel(code wire.StreamCode) { panic("not written") }

func (r *IncomingSubscribeNamespace) isRequest() {}

// TracksSubscription is a SUBSCRIBE_TRACKS that the peer has accepted.
type TracksSubscription struct{}

// Blocked waits for the next track that the peer could not offer for want of streams (PUBLISH_BLOCKED). A SUBSCRIBE can get it.
func (t *TracksSubscription) Blocked(ctx context.Context) (wire.FullTrackName, error) {
	panic("not written")
}

// Update changes the prefix. It waits for the answer.
func (t *TracksSubscription) Update(ctx context.Context, prefix wire.Namespace) error {
	panic("not written")
}

// Context ends with the subscription.
func (t *TracksSubscription) Context() context.Context { panic("not written") }

// Close ends the subscription. The tracks that were accepted go on.
func (t *TracksSubscription) Close() { panic("not written") }

// IncomingSubscribeTracks is the peer's wish to be offered all tracks with a prefix.
type IncomingSubscribeTracks struct {
	Prefix  wire.Namespace // as asked for first; see IncomingPrefixUpdate
	Forward bool           // the Forward State that those PUBLISHes must have
	Tokens  []wire.Token
}

// Context implements [Request].
func (r *IncomingSubscribeTracks) Context() context.Context { panic("not written") }

// Accept answers with REQUEST_OK.
func (r *IncomingSubscribeTracks) Accept() error { panic("not written") }

// Reject implements [Request].
func (r *IncomingSubscribeTracks) Reject(err *RequestError) error { panic("not written") }

// Blocked tells the peer that a track could not be offered for want of streams, and never will be.
func (r *IncomingSubscribeTracks) Blocked(track wire.FullTrackName) error { panic("not written") }

// Cancel ends the subscription from this side.
func (r *IncomingSubscribeTracks) Cancel(code wire.StreamCode) { panic("not written") }

func (r *IncomingSubscribeTracks) isRequest() {}

// IncomingPrefixUpdate is the peer's wish to change the prefix of a SUBSCRIBE_NAMESPACE or SUBSCRIBE_TRACKS.
// A refusal ends that request.
type IncomingPrefixUpdate struct {
	Namespaces *IncomingSubscribeNamespace // of this one,
	Tracks     *IncomingSubscribeTracks    // or of this one
	Prefix     wire.Namespace
	Tokens     []wire.Token
}

// Context implements [Request]. It is that of the request to be changed.
func (r *IncomingPrefixUpdate) Context() context.Context { panic("not written") }

// Accept answers with REQUEST_OK. From then on Announce and Withdraw go by the new prefix; namespaces that were announced and
// do not have it are forgotten, those that do have it stay announced.
func (r *IncomingPrefixUpdate) Accept() error { panic("not written") }

// Reject implements [Request].
func (r *IncomingPrefixUpdate) Reject(err *RequestError) error { panic("not written") }

func (r *IncomingPrefixUpdate) isRequest() {}

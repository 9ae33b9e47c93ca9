package moqt

import (
	"log/slog"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// Config says how a [Session] behaves. The zero value is ready for use. It is read by [New] and not changed.
type Config struct {
	// Logger gets what an operator should know about the session. Default: discard.
	Logger *slog.Logger

	// Implementation is what the peer is told in MOQT_IMPLEMENTATION. Default: "moq-c4".
	Implementation string

	// Authority and Path are sent in the client's SETUP on native QUIC. Default: not sent.
	Authority, Path string

	// Tokens are sent as AUTHORIZATION_TOKEN in SETUP. Default: none.
	Tokens []wire.Token

	// AuthTokenCache is how many bytes of authorization tokens the peer may register under aliases
	// (MAX_AUTH_TOKEN_CACHE_SIZE). Default: 0, none.
	AuthTokenCache uint64

	// TokenAliases registers the authorization tokens of requests with the peer, as far as its cache has room, and sends
	// only their aliases from then on. Do not choose aliases of your own beside it. Default: tokens are sent in full.
	TokenAliases bool

	// Grease sends a Setup Option without a meaning, so that peers stay used to unknown ones. Default: not sent.
	Grease bool

	// SessionTracks are the session-level tracks, in the namespace .session, that the peer may publish to this side; Accept
	// yields them as it does others. Default: none, all are refused.
	SessionTracks []wire.FullTrackName

	// CheckPath lets a server refuse a session by its authority and path. An error closes it with
	// INVALID_AUTHORITY if it matches [ErrInvalidAuthority], with the code of a [*SessionError] if it is one, and else
	// with INVALID_PATH. Default: accept all.
	CheckPath func(authority, path string) error

	// SetupTimeout is how long the peer's SETUP may take; then the session closes with
	// CONTROL_MESSAGE_TIMEOUT. Default: 10 s.
	SetupTimeout time.Duration

	// MessageTimeout is how long the rest of a control message may take once it has begun to arrive, and how long
	// writing one may take. Default: 10 s.
	MessageTimeout time.Duration

	// MaxRequests is how many requests of the peer may be open at once; more are refused with
	// EXCESSIVE_LOAD. Cost: a goroutine and about 8 KiB each. Default: 1024.
	MaxRequests int

	// AssumedMaxRequestID is the MAX_REQUEST_ID of a peer of draft-16 whose SETUP says none. The draft has 0 then, so that
	// nothing may be asked; some servers never say more and take requests all the same. Default: 0.
	AssumedMaxRequestID uint64

	// DatagramQueue is how many datagrams may wait to be sent; a new one pushes out the oldest. Default: 256.
	DatagramQueue int

	// DatagramExpiry is how long a datagram may wait to be sent. Default: 250 ms.
	DatagramExpiry time.Duration

	// PendingStreams is how many data streams may wait for their track alias, or for SETUP, to be known. A new one
	// pushes out the oldest. As many datagrams may wait, too. Default: 64.
	PendingStreams int

	// PendingTimeout is how long a data stream or datagram waits for its track alias. Default: 2 s.
	PendingTimeout time.Duration

	// SubgroupQueue and IncomingDatagrams are how many subgroups and datagrams of a subscription may wait for
	// [Subscription.Next]. A new one pushes out the oldest. Default: 64 and 256.
	SubgroupQueue, IncomingDatagrams int

	// DoneTimeout is how long after PUBLISH_DONE streams may still arrive, if the delivery timeouts of the
	// subscription are not longer. Default: 2 s.
	DoneTimeout time.Duration

	// MaxNamespaces is how many namespaces the answer to a SUBSCRIBE_NAMESPACE may hold at once. Above it the request
	// is cancelled with EXCESSIVE_LOAD. Cost: the names. Default: 16384.
	MaxNamespaces int
}

const (
	defaultImplementation    = "moq-c4"
	defaultSetupTimeout      = 10 * time.Second
	defaultMessageTimeout    = 10 * time.Second
	defaultMaxRequests       = 1024
	defaultDatagramQueue     = 256
	defaultDatagramExpiry    = 250 * time.Millisecond
	defaultPendingStreams    = 64
	defaultPendingTimeout    = 2 * time.Second
	defaultSubgroupQueue     = 64
	defaultIncomingDatagrams = 256
	defaultDoneTimeout       = 2 * time.Second
	defaultMaxNamespaces     = 16384
)

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Implementation == "" {
		c.Implementation = defaultImplementation
	}
	orDuration := func(d *time.Duration, def time.Duration) {
		if *d <= 0 {
			*d = def
		}
	}
	orInt := func(n *int, def int) {
		if *n <= 0 {
			*n = def
		}
	}
	orDuration(&c.SetupTimeout, defaultSetupTimeout)
	orDuration(&c.MessageTimeout, defaultMessageTimeout)
	orInt(&c.MaxRequests, defaultMaxRequests)
	orInt(&c.DatagramQueue, defaultDatagramQueue)
	orDuration(&c.DatagramExpiry, defaultDatagramExpiry)
	orInt(&c.PendingStreams, defaultPendingStreams)
	orDuration(&c.PendingTimeout, defaultPendingTimeout)
	orInt(&c.SubgroupQueue, defaultSubgroupQueue)
	orInt(&c.IncomingDatagrams, defaultIncomingDatagrams)
	orDuration(&c.DoneTimeout, defaultDoneTimeout)
	orInt(&c.MaxNamespaces, defaultMaxNamespaces)
	return c
}

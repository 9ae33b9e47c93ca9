package relay

import (
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// Config says how a relay works. The zero value means the defaults.
type Config struct {
	// Logger gets what an operator would act on. Nil discards.
	Logger *slog.Logger

	// Session is the template for every session's configuration. Its Logger is replaced.
	Session moqt.Config

	// CacheBytes bounds the bytes held over all tracks. Default 256 MiB.
	CacheBytes int64

	// CacheTrackBytes bounds the bytes held of one track, and so the size of a group that can be
	// carried. Default 32 MiB.
	CacheTrackBytes int

	// CacheAge is how long a group is kept after a later one has begun. The newest group of a
	// track stays. Default 10 s.
	CacheAge time.Duration

	// MaxLag is how long a subscriber may go on with a group after a later one has begun. Then its
	// streams are reset with TOO_FAR_BEHIND and it goes on with the newer ones. Default 2 s.
	MaxLag time.Duration

	// Linger is how long a track is still fetched from its publisher after the last subscriber
	// left. Default 5 s; negative means not at all.
	Linger time.Duration

	// PublisherGrace is how long subscribers and namespaces are kept when the last publisher was
	// lost without a word, so that it can come back. Default 3 s; negative means not at all.
	PublisherGrace time.Duration

	// RendezvousMax caps how long a SUBSCRIBE may wait for its publisher. Default 60 s; negative means not at all.
	RendezvousMax time.Duration

	// FillTimeout is how long one FETCH waits for its publishers to send what is not cached, if it does not ask for less;
	// what has not come then is marked as unknown. Default 5 s; negative means that publishers are not asked.
	FillTimeout time.Duration

	// MaxSessions bounds the sessions at once; more are closed. Default 16384.
	MaxSessions int

	// MaxTracks bounds the tracks carried at once. Default 16384.
	MaxTracks int

	// MaxNamespaces bounds the namespaces announced at once. Default 16384.
	MaxNamespaces int

	// SessionMaxTracks bounds the tracks that one session publishes and subscribes to at once; more are refused with
	// EXCESSIVE_LOAD, and not offered. Default 1024.
	SessionMaxTracks int

	// SessionMaxNamespaces bounds the namespaces that one session announces at once; more are refused with
	// EXCESSIVE_LOAD. Default 1024.
	SessionMaxNamespaces int

	// SessionRequestRate bounds the requests of one session in a second; more are refused with EXCESSIVE_LOAD. What was not
	// used in the last second may be used at once. Default 2000; negative means no bound.
	SessionRequestRate int

	// JoinAtObject makes a LargestObject filter begin with the next object, as the draft has it.
	// By default such a subscriber gets the current group from its first object on, so that a
	// player has a picture at once.
	JoinAtObject bool

	// Observer is told of the objects of each track. Default: nobody.
	Observer Observer

	// SessionTracks are the tracks in the namespace .session that a peer may publish to this relay alone, by name, with
	// what is done with their objects. Default: none, all are refused.
	SessionTracks map[wire.FullTrackName]SessionTrackFunc

	// Now is the clock. Default time.Now.
	Now func() time.Time
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Session.Logger = c.Logger
	c.Session.SessionTracks = slices.Collect(maps.Keys(c.SessionTracks))
	setDefault(&c.CacheBytes, 256<<20)
	setDefault(&c.CacheTrackBytes, 32<<20)
	setDefault(&c.CacheAge, 10*time.Second)
	setDefault(&c.MaxLag, 2*time.Second)
	setDefault(&c.Linger, 5*time.Second)
	setDefault(&c.PublisherGrace, 3*time.Second)
	setDefault(&c.RendezvousMax, time.Minute)
	setDefault(&c.FillTimeout, 5*time.Second)
	setDefault(&c.MaxSessions, 16384)
	setDefault(&c.MaxTracks, 16384)
	setDefault(&c.MaxNamespaces, 16384)
	setDefault(&c.SessionMaxTracks, 1024)
	setDefault(&c.SessionMaxNamespaces, 1024)
	setDefault(&c.SessionRequestRate, 2000)
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// setDefault replaces 0 by the default and a negative value by 0.
func setDefault[T int | int64 | time.Duration](v *T, def T) {
	switch {
	case *v == 0:
		*v = def
	case *v < 0:
		*v = 0
	}
}

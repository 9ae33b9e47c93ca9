// Package relay connects MOQT publishers with subscribers.
//
// A [Relay] holds a log of the newest groups of each track that somebody watches. An upstream, the subscription
// at a publisher, appends to it as bytes arrive; a subscriber is a position in that log and a cursor for each
// stream that is open to it. Object bytes are encoded once, never change and are shared by everyone;
// only stream headers are made for each subscriber.
//
// The files, along the path of an object: session.go and tracks.go (requests), quota.go (how many), hold.go (who wants a
// track), route.go and link.go (who brings it), index.go (their names by prefix), upstream.go (stream to log),
// subgroup.go and track*.go (the log), cache.go and track_bounds.go (its bounds), downstream.go and cursor.go (log to
// streams), expiry.go (what comes too late), fetch*.go (FETCH from the log and from publishers), local.go (tracks of
// this process), sessiontrack.go (tracks between one peer and this relay), relay.go (namespaces, housekeeping). Who
// looks on: observe.go (each object), inspect.go (sessions and tracks), stats.go (counters).
//
// # Rules
//
//   - Memory is bounded by the cache, never by a subscriber: one that is slow keeps no bytes, and when its
//     group leaves the cache or lags too far, its stream is reset and it goes on with a newer group.
//   - Several publishers may bring a track. A subgroup is taken from the first that opens it; groups older than the
//     newest are taken only from the publisher that leads. When the last publisher is lost, subscribers are kept
//     for a grace period in which another can take over.
//   - A track is fetched once, for as long as there are subscribers and a little longer.
//
// # Limitations
//
// What a FETCH gets from a publisher is passed on; only whole groups of tracks that are carried anyway are cached. To who asks
// for all tracks of a namespace only tracks are offered that are published by PUBLISH or by this process. Payloads of an
// object that comes twice are not compared.
package relay

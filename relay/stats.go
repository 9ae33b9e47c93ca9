package relay

import "sync/atomic"

// Cut says why a subscriber's stream was reset before its end. The values are metric labels too.
type Cut int

// The reasons.
const (
	CutEvicted   Cut = iota // its group left the cache: TOO_FAR_BEHIND
	CutLag                  // its group was superseded longer than Config.MaxLag ago: TOO_FAR_BEHIND
	CutTimeout              // a delivery timeout passed: DELIVERY_TIMEOUT
	CutUpstream             // the publisher reset it, or was lost
	CutEnded                // the track has ended, and the rest took longer than Config.MaxLag
	CutStopped              // the subscriber sent STOP_SENDING
	CutMalformed            // the track is malformed: MALFORMED_TRACK
	numCuts
)

// String returns the reason as a metric label.
func (c Cut) String() string {
	return [numCuts]string{"evicted", "lag", "timeout", "upstream", "ended", "stopped", "malformed"}[c]
}

// Evict says why a group left the cache. The values are metric labels too.
type Evict int

// The reasons.
const (
	EvictAge   Evict = iota // older than Config.CacheAge
	EvictBytes              // Config.CacheBytes or Config.CacheTrackBytes was reached
	EvictCount              // too many subgroups; of a single group a part is dropped
	numEvicts
)

// String returns the reason as a metric label.
func (e Evict) String() string { return [numEvicts]string{"age", "bytes", "count"}[e] }

// Refusal says why a relay did not take an incoming subgroup or datagram. The values are metric labels too.
type Refusal int

// The reasons.
const (
	RefusedDuplicate Refusal = iota // another publisher brings it, or its group was evicted
	RefusedTooLarge                 // its group left the cache while it came in, as one over Config.CacheTrackBytes does
	RefusedMalformed                // it shows that its track is malformed, which ends the track
	numRefusals
)

// String returns the reason as a metric label.
func (r Refusal) String() string {
	return [numRefusals]string{"duplicate", "too_large", "malformed"}[r]
}

// Stats counts what a relay has done since New. All fields may be read at any time.
type Stats struct {
	Sessions      atomic.Int64 // now
	Tracks        atomic.Int64 // now
	Subscribers   atomic.Int64 // downstream subscriptions now
	Upstreams     atomic.Int64 // upstream subscriptions now
	Namespaces    atomic.Int64 // announced now
	Cursors       atomic.Int64 // subgroup streams being sent now
	ObjectsIn     atomic.Uint64
	BytesIn       atomic.Uint64 // payload
	DatagramsIn   atomic.Uint64
	SubgroupsIn   atomic.Uint64
	SubgroupsOut  atomic.Uint64 // streams opened to subscribers
	BytesOut      atomic.Uint64 // on subgroup streams, headers of objects included
	DatagramsOut  atomic.Uint64 // handed to the session's queue
	DatagramsLost atomic.Uint64 // overwritten before a subscriber's turn came, or too large for its path
	SessionsOver  atomic.Uint64 // sessions that were turned away over Config.MaxSessions
	Takeovers     atomic.Uint64 // a track went on with another publisher
	GroupsIn      atomic.Uint64 // groups of which something has come in
	CacheJoins    CacheUse      // by subscribers that began: a miss had nothing to begin with
	CacheFetches  CacheUse      // by FETCH: a miss found nothing of its range
	Fills         atomic.Uint64 // FETCHes sent to publishers for what was not cached
	GroupsKept    atomic.Uint64 // groups of their answers that were kept
	FillsFailed   atomic.Uint64 // those that were refused, came too late or broke off

	Cuts           [numCuts]atomic.Uint64
	CacheEvictions [numEvicts]atomic.Uint64
	Refusals       [numRefusals]atomic.Uint64
	Requests       [numRequestKinds]RequestStats
	Offers         [numOffers]atomic.Uint64 // PUBLISHes sent to those who want all tracks of a namespace
	QuotaRefusals  [numQuotas]atomic.Uint64 // requests refused, and offers not made, at a bound of their session
}

// CacheUse counts how often something that was asked for was in the cache.
type CacheUse struct{ Hits, Misses atomic.Uint64 }

func (u *CacheUse) count(hit bool) {
	if hit {
		u.Hits.Add(1)
	} else {
		u.Misses.Add(1)
	}
}

// RequestStats counts the answers given to one kind of request.
type RequestStats struct{ Accepted, Refused atomic.Uint64 }

// RequestKind is a kind of incoming request. The values are metric labels too.
type RequestKind int

// The kinds.
const (
	RequestSubscribe RequestKind = iota
	RequestPublish
	RequestPublishNamespace
	RequestSubscribeNamespace
	RequestSubscribeTracks
	RequestTrackStatus
	RequestFetch
	numRequestKinds
)

// String returns the kind as a metric label.
func (k RequestKind) String() string {
	return [numRequestKinds]string{
		"subscribe", "publish", "publish_namespace", "subscribe_namespace", "subscribe_tracks", "track_status", "fetch",
	}[k]
}

// Offer says what came of a PUBLISH to a peer that wants all tracks of a namespace. The values are metric labels too.
type Offer int

// The results.
const (
	OfferAccepted Offer = iota
	OfferRefused        // the peer does not want it, or has it already
	OfferBlocked        // the peer allows no more streams, or has as many tracks as it may have: PUBLISH_BLOCKED
	numOffers
)

// String returns the result as a metric label.
func (o Offer) String() string { return [numOffers]string{"accepted", "refused", "blocked"}[o] }

// Values returns how many results there are; they run from 0.
func (Offer) Values() int { return int(numOffers) }

// Values returns how many reasons there are; they run from 0.
func (Cut) Values() int { return int(numCuts) }

// Values returns how many reasons there are; they run from 0.
func (Evict) Values() int { return int(numEvicts) }

// Values returns how many reasons there are; they run from 0.
func (Refusal) Values() int { return int(numRefusals) }

// Values returns how many kinds there are; they run from 0.
func (RequestKind) Values() int { return int(numRequestKinds) }

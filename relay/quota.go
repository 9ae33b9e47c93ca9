package relay

import (
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// Quota is a bound of what one session may have. The values are metric labels too.
type Quota int

// The bounds.
const (
	QuotaTracks     Quota = iota // Config.SessionMaxTracks
	QuotaNamespaces              // Config.SessionMaxNamespaces
	QuotaRequests                // Config.SessionRequestRate
	numQuotas
)

// String returns the bound as a metric label.
func (q Quota) String() string { return [numQuotas]string{"tracks", "namespaces", "request_rate"}[q] }

// Values returns how many bounds there are; they run from 0.
func (Quota) Values() int { return int(numQuotas) }

// quota is what a session has of that of which it may have only so much. session.mu guards it.
type quota struct {
	tracks     int
	namespaces int
	bucket     bucket
}

// bucket is a token bucket: rate tokens a second come in, a second's worth is the most there can be, and each request takes one.
type bucket struct {
	tokens float64
	at     time.Time // when tokens was right; zero before the first request
}

// take takes one token if there is one.
func (b *bucket) take(now time.Time, rate int) bool {
	most := float64(rate)
	if b.at.IsZero() {
		b.tokens = most
	} else {
		b.tokens = min(most, b.tokens+now.Sub(b.at).Seconds()*most)
	}
	b.at = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// over counts a refusal at a bound and returns it.
func (s *session) over(q Quota, reason string) *moqt.RequestError {
	s.relay.stats.QuotaRefusals[q].Add(1)
	refused := refuse(wire.RequestExcessiveLoad, reason)
	refused.Retry = wire.Some(time.Second)
	return refused
}

// claimTrack takes one of the tracks that the peer may have at once, in either direction. freeTrack gives it back.
func (s *session) claimTrack() *moqt.RequestError {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quota.tracks >= s.relay.cfg.SessionMaxTracks {
		return s.over(QuotaTracks, "too many tracks in this session")
	}
	s.quota.tracks++
	return nil
}

func (s *session) freeTrack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quota.tracks--
}

// claimNamespace takes one of the announcements that the peer may have at once. freeNamespace gives it back.
func (s *session) claimNamespace() *moqt.RequestError {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quota.namespaces >= s.relay.cfg.SessionMaxNamespaces {
		return s.over(QuotaNamespaces, "too many namespaces in this session")
	}
	s.quota.namespaces++
	return nil
}

func (s *session) freeNamespace() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quota.namespaces--
}

// claimRequest takes part of the rate at which the peer may make requests.
func (s *session) claimRequest() *moqt.RequestError {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rate := s.relay.cfg.SessionRequestRate; rate > 0 && !s.quota.bucket.take(s.relay.cfg.Now(), rate) {
		return s.over(QuotaRequests, "too many requests in a short time")
	}
	return nil
}

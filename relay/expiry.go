package relay

import (
	"sync"
	"time"
)

// Bounds of the timers of SUBGROUP_DELIVERY_TIMEOUT after all of a subgroup was sent. The subscriber chooses the timeout, most
// connections do not tell what was acknowledged, and each timer keeps what it would reset.
const (
	// maxExpiring is how many run of one subscription.
	maxExpiring = 512

	// maxExpiryAfterFIN is the longest timeout that is still watched then. A connection that acknowledges nothing for so
	// long is over anyway.
	maxExpiryAfterFIN = 30 * time.Second
)

// expiring are the cursors of a subscription that are over, but whose streams are reset if the subscriber does not acknowledge
// them in time. The zero value is ready.
type expiring struct {
	mu      sync.Mutex
	cursors map[*cursor]struct{}
	stopped bool
}

// keep takes a cursor that is over. What needs no timer any more, or has no room, loses it.
func (e *expiring) keep(c *cursor) {
	if c.expiry == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	over := c.why.Load() != 0 || c.acked.Load() // drop comes after either
	if over || !c.closed || c.expiry > maxExpiryAfterFIN || e.stopped || len(e.cursors) >= maxExpiring {
		c.stopExpiry()
		return
	}
	if e.cursors == nil {
		e.cursors = make(map[*cursor]struct{})
	}
	e.cursors[c] = struct{}{}
}

// drop forgets a cursor whose timer does not run.
func (e *expiring) drop(c *cursor) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.cursors, c)
}

// stop stops all timers, and those of cursors that are over later.
func (e *expiring) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := range e.cursors {
		c.stopExpiry()
	}
	e.cursors, e.stopped = nil, true
}

// stopExpiry stops the cursor's timer, if there is one.
func (c *cursor) stopExpiry() {
	c.subgroup.mu.Lock()
	defer c.subgroup.mu.Unlock()
	if c.expire != nil {
		c.expire.Stop()
	}
}

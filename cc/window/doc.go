// Package window holds what congestion controllers that compute a window have
// in common: [Sender] knows whether the window or the application held the
// sender back, [Pace] spreads a window over a round trip, and [Recovery] sees
// to it that one round trip brings at most one reduction.
package window

// Package reno is NewReno as QUIC has it: RFC 9002 Section 7 and Appendix B.
//
// Slow start adds what is acknowledged, congestion avoidance one packet per
// round trip, a loss or an ECN mark halves the window once per round trip,
// persistent congestion takes it to the minimum.
//
//	              loss or mark
//	slow_start -----------------> recovery <----- loss or mark ---+
//	    ^                            |                            |
//	    | persistent congestion,     | a packet sent in it        |
//	    | from any state             v is acknowledged            |
//	    +--                  congestion_avoidance ----------------+
//
// It is the plainest of the controllers: no HyStart++, and nothing beyond the RFC
// but the size of the bursts, for which see the package window.
package reno

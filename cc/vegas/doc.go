// Package vegas is TCP Vegas: L. Brakmo, L. Peterson, "TCP Vegas: End to End
// Congestion Avoidance on a Global Internet", IEEE JSAC 13(8), 1995.
//
// Vegas compares what it delivers with what it would deliver without a queue:
//
//	expected = window / base_rtt
//	actual   = window / rtt
//	diff     = (expected - actual) * base_rtt    (packets in the queue)
//
// and keeps diff between alpha and beta by one packet a round trip. Slow start
// doubles every other round trip, so that the rounds between can be compared,
// and ends when diff exceeds gamma.
//
// The thresholds are those of its usual implementations (Linux, ns-3): 2, 4 and 1
// packets. So is the answer to losses and marks, which is Reno's; the paper's
// own, for TCP's retransmissions, has no counterpart in QUIC. A round takes its
// lowest RTT: the acknowledgement delay is out of the samples already, so a
// single one is enough.
package vegas

// Package link models one direction of a bottleneck link in virtual time: rate,
// delay, a queue that is bounded in time or by the DualQ coupled AQM, Wi-Fi
// jitter, and changes of all of these while packets are under way.
//
// A [Link] is pure: it owns no clock and no goroutine. The caller hands packets
// in with [Link.Submit], asks [Link.Next] when something happens, and takes
// packets out with [Link.Pop]. The same seed and the same calls give the same
// deliveries, on every machine: the arithmetic is integer.
//
// The arithmetic follows the simulator with which the C4 drafts were evaluated,
// so that its tables can be reproduced: time has a resolution of one
// microsecond, and the transmission time of a packet is rounded down (1440
// bytes take 575 us at 20 Mbit/s, not 576).
//
// # Honest limits
//
// Packets are never reordered: a packet that is held back by jitter holds back
// all that follow. Packets are never lost except in a full queue or by the AQM.
package link

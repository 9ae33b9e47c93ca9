// Package hystart finds the end of slow start before the queue overflows.
//
// Two ways to see it in the round-trip time: [PlusPlus] is HyStart++ of RFC
// 9406, [Delay] is the filter that the reference implementation of C4's drafts
// (picoquic) uses in its Cubic, New Reno and, on long paths, BBR. [Loss] is
// that implementation's companion for losses, which tells heavy loss from a
// few stray ones.
package hystart

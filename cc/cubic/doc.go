// Package cubic is CUBIC, RFC 9438, in two forms.
//
// [New] is the CUBIC that C4's drafts compare with, as the reference
// implementation (picoquic) has it; use it to reproduce their tables. [NewRFC9438] is the
// RFC itself with HyStart++, RFC 9406; use it to compare with what most of the
// Internet runs. Both follow the same curve (curve.go).
//
// # How the compared form differs from the RFC
//
//   - The window shrinks to 7/8, not to 0.7, also on loss. Fast convergence
//     multiplies W_max by 7/8, not by 0.85.
//   - Losses count as congestion only while their average rate is above 15
//     percent (see the package hystart); a few stray losses change nothing. A probe timeout
//     counts: the window falls to 3072 bytes and slow start begins again.
//   - The window is set to the curve, instead of approaching it over a round
//     trip, and W_est (here wReno) has alpha = 1 and starts at half the window before
//     the reduction.
//   - Slow start also jumps to half of what the short-interval peak rate would
//     fill, and ends when the RTT has grown by a quarter (see the package hystart). The window is
//     then halved and the curve entered at its plateau. Where the path is long,
//     the correction is smaller.
//   - While the sender is app limited the curve waits: its start moves to
//     when the sender last ran dry.
//   - A spurious loss restores what the last reduction changed, whatever has
//     happened since.
package cubic

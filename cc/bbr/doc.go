// Package bbr is BBR version 3, draft-ietf-ccwg-bbr (tag [BBR], section titles as of
// August 2026), in the form that C4's drafts compare with: that of the
// reference implementation (picoquic), which is tuned for real-time traffic.
//
// BBR models the path by two numbers, the bandwidth (max_bw, a maximum over the last
// probing cycles) and the round-trip time without queue (min_rtt), and paces at
// about the bandwidth with no more in flight than their product asks for. It
// cycles through states that measure the one or the other:
//
//	startup --> drain --> probe_bw_down --> probe_bw_cruise
//	   ^                     ^      |              |
//	   |                     |      v              v
//	   |               probe_bw_up <-- probe_bw_refill
//	   |
//	   +-- after a suspension, or when the bandwidth has grown by half
//	   any state --> probe_rtt --> probe_bw_cruise or startup
//
// The main type is [Controller]. Its file is bbr.go; the steps of an
// acknowledgement are in ack.go, one file per state or model variable beside it.
//
// # Additions of the reference to the draft
//
//   - Jitter filter (minrtt.go): min_rtt is the lowest of maxima over seven samples,
//     and an RTT counts as too high only while the lowest of seven is.
//   - Startup also ends when the RTT is too high, and not only when the
//     bandwidth has stopped growing (startup.go).
//   - On paths above 250 ms slow start with HyStart takes the place of Startup
//     (longrtt.go), and careful resume has a state of its own (resume.go).
//   - ProbeBW_UP ends after a min_rtt as soon as the RTT is too high or the data in
//     flight exceeds 1.25 times the BDP by max_bw (probebw.go).
//   - After Startup, and while max_bw grows by a sixteenth a cycle, probes follow
//     each other within a quarter of a second (probebw.go).
//   - A sender that was app limited for some rounds and no longer is probes at
//     once; bandwidth that falls to a third drains at once; bandwidth that grows
//     by half restarts Startup (probebw.go).
//   - A probe timeout leaves one packet in flight; when the packets it gave
//     up arrive after all, Startup begins again at the old BDP (recovery.go).
//   - Losses count only above three packets, and only of packets sent after the last
//     recovery (bounds.go).
//
// # Where the reference falls short of the draft
//
// The drafts' tables contain these, so they are kept:
//
//   - extra_acked is what acknowledgements of one instant bring, not what a
//     whole burst does (aggregation.go).
//   - Rounds are not counted towards the coexistence with Reno: probes are due by
//     time only (probebw.go).
//   - inflight_longterm (inflight_hi in the reference) starts at what is in flight when Startup ends rather
//     than at infinity, and follows the data in flight upwards (bounds.go).
//   - Long-path slow start does not end by loss (longrtt.go).
//   - In ProbeRTT the new min_rtt starts from the sample that happens to be at hand
//     (probertt.go).
package bbr

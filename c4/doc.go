// Package c4 is the C4 congestion controller ("Christian's Congestion Control
// Code"), made for media that alternate large and small frames: it tracks the
// rate that the path delivers and the longest round trip that is not due to
// queues, never lowers the rate merely because little was sent, and probes for
// more when there is data to probe with.
//
// The types, in order of use:
//
//   - [Config] holds the constants and the choices where the drafts leave one.
//     Its zero value is [Default]; [Draft04] and [Draft05] are fixed points to
//     compare with.
//   - [Controller] implements cc.Controller: inputs On..., output Control,
//     events. It has no clock and allocates nothing after New.
//
// # States
//
//	              start
//	                v
//	          +-----------+ <-------------------- high jitter,
//	          |  initial  | <----------+          or three growing cycles
//	          +-----------+            |
//	     seed |     | no growth,       |
//	          v     | congestion       |
//	+-----------+   |                  |
//	| resuming  |   |                  |
//	+-----------+   |                  |
//	          |     v                  |
//	          | +-----------+  growth  |   +-----------+
//	          +>| recovery  |----------+-->|  pushing  |---+
//	     +----->|           |<-------------|           |<--+ grows
//	     |  +-->+-----------+  no growth,  +-----------+
//	     |  |       | no growth  congestion
//	     |  |       v
//	     |  |   +-----------+
//	     |  +---| cruising  |
//	     |  con-+-----------+
//	     |  gestion | two eras, data to send
//	     |          v
//	     |      +-----------+
//	     +------|  probing  |
//	  one era   +-----------+
//
// Time is counted in eras: an era ends when everything sent before it began is
// acknowledged or lost. Most transitions happen at the end of an era.
//
// # Sources
//
// Comments cite
//
//   - [C4-DESIGN] draft-huitema-ccwg-c4-design, text after IETF 126 ("Revision
//     after the third design"), the newest description of the design;
//   - [C4-SPEC] draft-huitema-ccwg-c4-spec, working version towards -05, whose
//     section numbers are used;
//   - [C4-REF] the reference implementation in picoquic as of July 2026
//     (commit d199d45), which behaves as draft -04 and made the drafts' tables.
//
// Where these disagree, the choice and its effect are in
// docs/c4/deviations.md. Most such choices are fields of Config.
//
// # Numbers
//
// Times are time.Duration, sizes bytes, rates bytes per second, coefficients
// 1/1024 ([Coef]) as in the reference. No floating point decides anything, so a
// trace replays to the same bytes on every machine.
//
// # Limits
//
// One path. Rates above 1 TB/s and round trips above an hour are taken for
// these. Acknowledged packets sent in probing or pushing are told from others
// by the state at the time of the signal, as in the reference, not by number.
package c4

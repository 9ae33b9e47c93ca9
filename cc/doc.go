// Package cc says what a congestion controller is, and holds the ones that C4
// is compared with (a file each).
//
// A [Controller] is pure: it owns no clock, no goroutine and no socket, and it
// gives the same outputs for the same inputs. The packet simulator and the
// QUIC adapter both drive it through the same calls, so what is measured in
// one is what runs in the other. The main types, in order of use:
//
//   - [Config] is what every constructor takes. Its zero value is usable.
//   - [Controller] takes inputs (On...) and yields a [Control]: pacing rate,
//     window and burst quantum. [Event] tells the shell what happened.
//   - [Sampler] turns packets sent and acknowledged into a delivery rate
//     [Sample]. The transport owns it, so that all controllers see the same
//     measurement and nobody implements it twice.
//
// # Time and units
//
// All times are time.Duration since one epoch per connection, chosen by the
// transport; they never go back and are never negative. The start of the
// connection (or of the simulation) is the epoch to choose: rates of the first
// packets are measured from it, see [Sampler]. Sizes are bytes, rates bytes
// per second ([Rate]).
//
// Two byte counts exist side by side. In flight, windows and pacing count whole
// QUIC packets (UDP payload). Acknowledged and delivered bytes leave out the
// AEAD tag, [TagBytes] per packet. C4 relies on this: cruising at the measured
// rate then sends about one percent less than the path delivers, and queues
// drain.
//
// # Calling order
//
// The transport calls, for each packet, OnPacketSent. For each ACK frame that
// newly acknowledges something:
//
//  1. OnECN, if the ACK carries valid ECN counts;
//  2. OnRTT, if it gives an RTT sample;
//  3. OnLoss, once per packet it declares lost, in ascending order;
//  4. OnAck, once, with the Sample taken (by Sampler.OnAck) before the losses
//     were declared.
//
// Several ACKs that arrive at the same instant are all handed over before the
// next packet is sent. Losses found by a timer come as OnLoss alone. Probe
// timeouts come as OnPTO, and the packets they declare lost as OnLoss with
// [LossPTO]. OnAppLimited is called each time window and pacing would allow a
// packet but there is nothing to send. OnMTU follows each change of the packet
// size, OnSeed comes at most once and before the first OnAck.
//
// The Control is valid after the constructor, and again after each input.
// A new path (migration) gets a new Controller.
//
// # Choosing by name
//
// There is no global registry. Whoever offers names keeps a table of name and
// constructor beside the flag that reads it.
//
// # Limits
//
// One path per Controller. Packet numbers rise and are unique; a transport with
// separate number spaces reports only those of application data with their own
// numbers and marks everything else Handshake, whose numbers mean nothing. What
// a controller makes of handshake packets is its own affair: C4 ignores them,
// except that their RTT samples are part of the smoothed RTT.
package cc

// Package sim simulates connections over a bottleneck link, packet by packet,
// in virtual time, with the congestion controllers of packages cc and c4.
//
// The main types, in order of use: a [scenario.Scenario] says what to simulate,
// [Options] which controller is under test and with which seed, and [Sim.Run]
// gives a [Result]. A [Sim] keeps its memory from run to run; use one per
// goroutine. A [Tracer] sees every packet and every change of state.
//
// Runs are deterministic: the same scenario, options and seed give the same
// result, bit for bit. There are no goroutines and no clocks inside.
//
// # What is modelled
//
// The transport is that of the simulator with which the C4 drafts were
// evaluated, since completion times and above all round-trip statistics depend
// on it: its handshake (sizes and sequence), its acknowledgement frequency,
// loss detection, probe timeouts, pacing bucket, flow control and the gaps that
// it leaves in packet numbers. See sender.go and receiver.go. The server of each
// connection sends and the client receives; link arithmetic is in package link.
//
// Sizes are UDP payload; no IP header is charged.
//
// # Honest limits
//
// Clients are not congestion controlled: what they send is small. There is no
// reordering and no loss outside queues, no path migration, no 0-RTT and no
// packet duplication. A connection whose handshake packets are lost repeats them
// on a simplified timer.
package sim

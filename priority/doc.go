// Package priority decides who of a session sends next, and what is too old to be
// sent or waited for. It is pure: no clock, no goroutine, no lock.
//
// A [Key] says what the draft orders by. [Ranking] turns the keys of the live
// streams of a session into the few urgencies a transport knows. [Queue] holds
// the datagrams that wait for the transport. [Lateness] is the subscriber's rule
// for what it no longer waits for.
//
// The tag [MOQT-18] in comments means draft-ietf-moq-transport-18, and [C4] the
// C4 drafts. Lower numbers are more urgent everywhere.
package priority

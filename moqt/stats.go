package moqt

import "sync/atomic"

// Stats are counts since the session began.
type Stats struct {
	DatagramsSent     uint64 // handed to the transport
	DatagramsReceived uint64
	DatagramsQueued   uint64 // waiting to be sent now; 0 after the session's end

	// Outgoing datagrams that were dropped.
	DatagramsExpired   uint64 // waited longer than allowed
	DatagramsOverflow  uint64 // pushed out of the full queue
	DatagramsTooLarge  uint64 // did not fit into a packet
	DatagramsCancelled uint64 // their subscription ended first

	// Incoming datagrams that were dropped.
	DatagramsUnknownAlias uint64 // their track did not become known in time
	DatagramsUnread       uint64 // pushed out of the queue of a subscription
	DatagramsLate         uint64 // their subscription had ended
	DatagramsOversized    uint64 // their properties are longer than this side reads

	SubgroupsSent     uint64 // streams opened
	SubgroupsReceived uint64 // streams handed to a subscription

	// Incoming data streams that were stopped.
	StreamsUnknownAlias uint64 // their track did not become known in time
	StreamsPendingFull  uint64 // pushed out by later ones while their track was not known
	StreamsUnread       uint64 // pushed out of the queue of a subscription
	StreamsLate         uint64 // their subscription or fetch had ended
	StreamsStalled      uint64 // did not say in time what they are
	StreamsOversized    uint64 // an object has properties that are longer than this side reads

	StreamsResetEarly uint64 // incoming, reset or ended before they said what they are

	RequestsReceived uint64
	RequestsRefused  uint64 // by the session itself
	KVPParams        bool   // the peer writes Message Parameters the way draft-16 does
}

// Add adds the counts of another session. KVPParams is then whether either has it.
func (s *Stats) Add(o Stats) {
	s.DatagramsSent += o.DatagramsSent
	s.DatagramsReceived += o.DatagramsReceived
	s.DatagramsQueued += o.DatagramsQueued
	s.DatagramsExpired += o.DatagramsExpired
	s.DatagramsOverflow += o.DatagramsOverflow
	s.DatagramsTooLarge += o.DatagramsTooLarge
	s.DatagramsCancelled += o.DatagramsCancelled
	s.DatagramsUnknownAlias += o.DatagramsUnknownAlias
	s.DatagramsUnread += o.DatagramsUnread
	s.DatagramsLate += o.DatagramsLate
	s.DatagramsOversized += o.DatagramsOversized
	s.SubgroupsSent += o.SubgroupsSent
	s.SubgroupsReceived += o.SubgroupsReceived
	s.StreamsUnknownAlias += o.StreamsUnknownAlias
	s.StreamsPendingFull += o.StreamsPendingFull
	s.StreamsUnread += o.StreamsUnread
	s.StreamsLate += o.StreamsLate
	s.StreamsStalled += o.StreamsStalled
	s.StreamsOversized += o.StreamsOversized
	s.StreamsResetEarly += o.StreamsResetEarly
	s.RequestsReceived += o.RequestsReceived
	s.RequestsRefused += o.RequestsRefused
	s.KVPParams = s.KVPParams || o.KVPParams
}

// counters are Stats while they are counted.
type counters struct {
	datagramsSent, datagramsReceived                                           atomic.Uint64
	datagramsExpired, datagramsOverflow, datagramsTooLarge, datagramsCancelled atomic.Uint64
	datagramsUnknownAlias, datagramsUnread, datagramsLate, datagramsOversized  atomic.Uint64
	subgroupsSent, subgroupsReceived                                           atomic.Uint64
	streamsUnknownAlias, streamsPendingFull, streamsUnread, streamsLate        atomic.Uint64
	streamsStalled, streamsOversized, streamsResetEarly                        atomic.Uint64
	requestsReceived, requestsRefused                                          atomic.Uint64
	kvpParams                                                                  atomic.Bool
}

// Stats returns what the session has counted so far.
func (s *Session) Stats() Stats {
	c := &s.stats
	return Stats{
		DatagramsSent:         c.datagramsSent.Load(),
		DatagramsReceived:     c.datagramsReceived.Load(),
		DatagramsQueued:       s.datagrams.length(),
		DatagramsExpired:      c.datagramsExpired.Load(),
		DatagramsOverflow:     c.datagramsOverflow.Load(),
		DatagramsTooLarge:     c.datagramsTooLarge.Load(),
		DatagramsCancelled:    c.datagramsCancelled.Load(),
		DatagramsUnknownAlias: c.datagramsUnknownAlias.Load(),
		DatagramsUnread:       c.datagramsUnread.Load(),
		DatagramsLate:         c.datagramsLate.Load(),
		DatagramsOversized:    c.datagramsOversized.Load(),
		SubgroupsSent:         c.subgroupsSent.Load(),
		SubgroupsReceived:     c.subgroupsReceived.Load(),
		StreamsUnknownAlias:   c.streamsUnknownAlias.Load(),
		StreamsPendingFull:    c.streamsPendingFull.Load(),
		StreamsUnread:         c.streamsUnread.Load(),
		StreamsLate:           c.streamsLate.Load(),
		StreamsStalled:        c.streamsStalled.Load(),
		StreamsOversized:      c.streamsOversized.Load(),
		StreamsResetEarly:     c.streamsResetEarly.Load(),
		RequestsReceived:      c.requestsReceived.Load(),
		RequestsRefused:       c.requestsRefused.Load(),
		KVPParams:             c.kvpParams.Load(),
	}
}

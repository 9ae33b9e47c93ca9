package moqt

// Stats are counts since the session began.
type Stats struct {
	DatagramsSent     uint64 // handed to the transport
	DatagramsReceived uint64

	// Outgoing datagrams that were dropped.
	DatagramsExpired   uint64 // waited longer than allowed
	DatagramsOverflow  uint64 // pushed out of the full queue
	DatagramsTooLarge  uint64 // did not fit into a packet
	DatagramsCancelled uint64 // their subscription ended first

	// Incoming datagrams that were dropped.
	DatagramsUnknownAlias uint64 // their track did not become known in time
	DatagramsUnread       uint64 // pushed out of the queue of a subscription

	SubgroupsSent     uint64 // streams opened
	SubgroupsReceived uint64 // streams handed to a subscription

	// Incoming data streams that were stopped.
	StreamsUnknownAlias uint64 // their track did not become known in time
	StreamsPendingFull  uint64 // pushed out by later ones while their track was not known
	StreamsUnread       uint64 // pushed out of the queue of a subscription
	StreamsLate         uint64 // their subscription or fetch had ended

	StreamsResetEarly uint64 // incoming, reset before it was known what they are

	RequestsReceived uint64
	RequestsRefused  uint64 // by the session itself
	KVPParams        bool   // the peer writes Message Parameters the way draft-16 does
}

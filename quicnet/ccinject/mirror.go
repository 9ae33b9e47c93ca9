package ccinject

import (
	"sync/atomic"
	"unsafe"
)

// The types of this file mirror those of quic-go's internal packages. Their
// layout is compared in layout.go.

// instant mirrors monotime.Time: nanoseconds from an arbitrary moment, before which
// a process in virtual time may be.
type instant int64

// codepoint mirrors protocol.ECN.
type codepoint uint8

const (
	_ codepoint = iota // the socket has no ECN
	ecnNon
	ecnECT1
	ecnECT0
)

// sendAlgorithm mirrors congestion.SendAlgorithmWithDebugInfos. Methods are called
// on the connection's goroutine only.
type sendAlgorithm interface {
	TimeUntilSend(inFlight int64) instant
	HasPacingBudget(now instant) bool
	OnPacketSent(at instant, inFlight, number, bytes int64, ackEliciting bool)
	CanSend(inFlight int64) bool
	MaybeExitSlowStart()
	OnPacketAcked(number, bytes, priorInFlight int64, at instant)
	OnCongestionEvent(number, bytes, priorInFlight int64)
	OnSpuriousLoss(number int64)
	OnRetransmissionTimeout(retransmitted bool)
	SetMaxDatagramSize(bytes int64)
	InSlowStart() bool
	InRecovery() bool
	GetCongestionWindow() int64
}

// ecnHandler mirrors ackhandler.ecnHandler.
type ecnHandler interface {
	SentPacket(number int64, mark codepoint)
	Mode() codepoint
	HandleNewlyAcked(packets []ackedPacket, ect0, ect1, ce int64) (congested bool)
	LostPacket(number int64)
}

// ackedPacket mirrors ackhandler.packetWithPacketNumber.
type ackedPacket struct {
	PacketNumber int64
	_            unsafe.Pointer // the packet: only passed on
}

// rttStats mirrors utils.RTTStats. Times are nanoseconds.
type rttStats struct {
	hasMeasurement bool

	minRTT        atomic.Int64
	latestRTT     atomic.Int64
	smoothedRTT   atomic.Int64
	meanDeviation atomic.Int64

	maxAckDelay atomic.Int64 //lint:ignore U1000 quic-go's
}

// connStats mirrors utils.ConnectionStats, from which quic.Conn.ConnectionStats
// is made. Window and losses are kept by the controller.
type connStats struct {
	CongestionWindow atomic.Uint64

	BytesSent       atomic.Uint64
	PacketsSent     atomic.Uint64
	BytesReceived   atomic.Uint64
	PacketsReceived atomic.Uint64
	BytesLost       atomic.Uint64
	PacketsLost     atomic.Uint64
}

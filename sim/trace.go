package sim

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// Tracer sees what happens in a run. Flows are numbered as in the scenario.
// Calls come in the order of virtual time; what is passed by pointer must not
// be kept.
type Tracer interface {
	// PacketSent: the server of a flow sent a 1-RTT packet.
	PacketSent(now time.Duration, flow int, number, bytes, inFlight int64)

	// Dropped: the link discarded a 1-RTT packet of a server.
	Dropped(now time.Duration, flow int, number, bytes int64)

	// PacketLost: the server declared a packet lost.
	PacketLost(now time.Duration, flow int, number, bytes int64, why cc.LossReason)

	// Acked: the server processed an acknowledgement.
	Acked(now time.Duration, flow int, a *cc.Ack)

	// Metrics: the state of a server after inputs to its controller.
	Metrics(now time.Duration, flow int, m Metrics)

	// Event: the controller of a flow reports something.
	Event(flow int, e cc.Event)

	// Frame: a media frame of a source is complete at the client; it was due at
	// due.
	Frame(now time.Duration, flow int, source string, index int64, due time.Duration)
}

// Metrics is the state of a server.
type Metrics struct {
	Latest, Smoothed, Variance, Min time.Duration // RTT

	InFlight   int64
	Window     int64
	PacingRate cc.Rate
	Rate       cc.Rate // delivery rate, latest sample
	Delivered  int64
	State      string
	Queue      time.Duration // what a packet would wait now at the link
	Controller cc.Controller
}

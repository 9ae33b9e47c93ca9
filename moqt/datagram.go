package moqt

import (
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// Datagram is an object that is sent as datagram.
type Datagram struct {
	Group  uint64
	Object uint64

	// Priority is the publisher's. To send the track's default, leave HasPriority unset. When received, Priority is
	// always right: the track's default if HasPriority is not set.
	Priority    uint8
	HasPriority bool

	EndOfGroup bool // there is no later object in the group
	Status     wire.ObjectStatus
	Properties wire.Properties
	Payload    []byte

	// OnAcked, when sent, is called if the subscriber has acknowledged the datagram, on a goroutine of the transport; it must
	// return at once. Only some connections can tell, see [Publication.TellsAcks].
	OnAcked func(at time.Time)
}

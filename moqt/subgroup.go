package moqt

import "github.com/moq-c4/moq-c4/moqt/wire"

// SubgroupHeader is what is said once about the objects of a stream.
type SubgroupHeader struct {
	Group    uint64
	Subgroup uint64

	// Priority is the publisher's. To send the track's default, leave HasPriority unset. When received, Priority is
	// always right: the track's default if HasPriority is not set.
	Priority    uint8
	HasPriority bool

	Properties  bool // objects have a Properties field, if only an empty one
	EndOfGroup  bool // the last object before FIN is the last of the group
	FirstObject bool // the first object of the stream is the first of the subgroup
}

// ObjectHeader is what comes before the payload of an object on a subgroup stream.
type ObjectHeader struct {
	ID         uint64
	Properties wire.Properties // when received: valid until the next call of any method of the reader
	PayloadLen uint64          // when sent: taken from the payload
	Status     wire.ObjectStatus
}

// wire returns the header for the stream of a track.
func (h *SubgroupHeader) wire(alias uint64) wire.SubgroupHeader {
	w := wire.SubgroupHeader{
		TrackAlias:    alias,
		GroupID:       h.Group,
		SubgroupID:    h.Subgroup,
		HasProperties: h.Properties,
		EndOfGroup:    h.EndOfGroup,
		FirstObject:   h.FirstObject,
	}
	if h.Subgroup != 0 {
		w.IDMode = wire.SubgroupIDExplicit
	}
	if h.HasPriority {
		w.Priority = wire.Some(h.Priority)
	}
	return w
}

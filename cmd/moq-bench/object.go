package main

import (
	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/relay"
)

// object makes an object of a packet.
func object(p media.Packet) (relay.LocalObject, error) {
	list := make([]wire.Property, len(p.Properties))
	for i, q := range p.Properties {
		list[i] = wire.Property{Type: q.ID, Uint: q.Value, Bytes: q.Bytes}
	}
	props, err := wire.AppendProperties(nil, list, wire.Draft18)
	return relay.LocalObject{
		Group: p.Group, Object: p.Object, Priority: p.Priority,
		Properties: props, Payload: p.Payload, EndOfGroup: p.EndOfGroup,
	}, err
}

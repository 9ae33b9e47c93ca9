// Package object turns packets of media into objects of MOQT and back, for the commands that publish and receive.
package object

import (
	"fmt"

	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/relay"
)

// FromPacket makes an object of a packet. The payload is shared, not copied.
func FromPacket(p media.Packet) (relay.LocalObject, error) {
	list := make([]wire.Property, len(p.Properties))
	for i, q := range p.Properties {
		list[i] = wire.Property{Type: q.ID, Uint: q.Value, Bytes: q.Bytes}
	}
	props, err := wire.AppendProperties(nil, list, wire.Draft18)
	if err != nil {
		return relay.LocalObject{}, fmt.Errorf("track %s: %w", p.Track, err)
	}
	return relay.LocalObject{
		Group: p.Group, Object: p.Object, Priority: p.Priority,
		Properties: props, Payload: p.Payload, EndOfGroup: p.EndOfGroup,
	}, nil
}

// FromHeader makes a packet of the header of an object that comes on a subgroup stream. The payload is read
// afterwards. The error says that the properties cannot be read; the rest is valid all the same.
func FromHeader(track string, h moqt.SubgroupHeader, o moqt.ObjectHeader) (media.Packet, error) {
	props, err := properties(o.Properties)
	return media.Packet{
		Track: track, Group: h.Group, Object: o.ID, Key: o.ID == 0, Priority: h.Priority,
		Properties: props,
	}, err
}

// FromDatagram makes a packet of an object that came as a datagram. The payload is shared, not copied. The error is as
// that of [FromHeader].
func FromDatagram(track string, d *moqt.Datagram) (media.Packet, error) {
	props, err := properties(d.Properties)
	return media.Packet{
		Track: track, Group: d.Group, Object: d.Object, Key: d.Object == 0, Priority: d.Priority, Datagram: true,
		EndOfGroup: d.EndOfGroup, Properties: props, Payload: d.Payload,
	}, err
}

func properties(p wire.Properties) ([]media.Property, error) {
	var list []media.Property
	it := p.Iter(wire.Draft18)
	for it.Next() {
		q := it.Property()
		list = append(list, media.Property{ID: q.Type, Value: q.Uint, Bytes: append([]byte(nil), q.Bytes...)})
	}
	return list, it.Err()
}

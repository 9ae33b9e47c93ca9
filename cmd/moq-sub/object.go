package main

import (
	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// packetOfObject makes a packet of the header of an object that comes on a subgroup stream. The payload is
// read afterwards.
func packetOfObject(track string, h moqt.SubgroupHeader, o moqt.ObjectHeader) (media.Packet, error) {
	props, err := properties(o.Properties)
	return media.Packet{
		Track: track, Group: h.Group, Object: o.ID, Key: o.ID == 0, Priority: h.Priority,
		Properties: props,
	}, err
}

// packetOfDatagram makes a packet of an object that came as a datagram.
func packetOfDatagram(track string, d *moqt.Datagram) (media.Packet, error) {
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

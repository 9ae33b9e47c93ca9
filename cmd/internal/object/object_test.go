package object

import (
	"reflect"
	"testing"

	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// What a publisher makes of a packet gives a subscriber the same packet.
func TestThereAndBack(t *testing.T) {
	p := media.Packet{
		Track: "audio", Group: 7, Object: 2, Priority: 3, EndOfGroup: true, Payload: []byte("payload"),
		Properties: []media.Property{{ID: 6, Value: 1 << 40}, {ID: 0x0D, Bytes: []byte("config")}},
	}
	o, err := FromPacket(p)
	if err != nil {
		t.Fatal(err)
	}

	got, err := FromHeader("audio", moqt.SubgroupHeader{Group: o.Group, Priority: o.Priority},
		moqt.ObjectHeader{ID: o.Object, Properties: o.Properties})
	want := p
	want.Payload, want.EndOfGroup = nil, false // come later on a stream
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("on a stream: got %+v, %v\nwant %+v", got, err, want)
	}

	got, err = FromDatagram("audio", &moqt.Datagram{
		Group: o.Group, Object: o.Object, Priority: o.Priority, EndOfGroup: o.EndOfGroup, Properties: o.Properties, Payload: o.Payload,
	})
	want = p
	want.Datagram = true
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("as a datagram: got %+v, %v\nwant %+v", got, err, want)
	}
}

func TestKey(t *testing.T) {
	if p, _ := FromHeader("v", moqt.SubgroupHeader{}, moqt.ObjectHeader{}); !p.Key {
		t.Error("the first object of a group is no key")
	}
}

// A peer's properties that cannot be read are told, and nothing else is lost.
func TestBadProperties(t *testing.T) {
	p, err := FromDatagram("v", &moqt.Datagram{Group: 1, Properties: wire.Properties{0x0D, 0x40}, Payload: []byte("x")})
	if err == nil || p.Group != 1 || len(p.Payload) != 1 {
		t.Errorf("got %+v, %v", p, err)
	}
}

// Properties that nobody can write are the caller's fault and told with the track's name.
func TestUnwritableProperties(t *testing.T) {
	p := media.Packet{Track: "v", Properties: []media.Property{{ID: 0x0D, Bytes: make([]byte, 1<<16)}}}
	if _, err := FromPacket(p); err == nil {
		t.Error("no error")
	}
}

package wire

import (
	"bytes"
	"errors"
	"math"
	"testing"
)

// listed reports whether x is in one of the ranges, as the drafts list types.
func listed(x uint64, ranges ...[2]uint64) bool {
	for _, r := range ranges {
		if r[0] <= x && x <= r[1] {
			return true
		}
	}
	return false
}

// TestSubgroupTypes reads a header of every type below 0x100.
//
// "Type (i) = 0x10..0x15 / 0x18..0x1D / 0x30..0x35 / 0x38..0x3D / 0x50..0x55 /
// 0x58..0x5D / 0x70..0x75 / 0x78..0x7D" [MOQT-18] Section 11.4.2, Subgroup Header
func TestSubgroupTypes(t *testing.T) {
	for typ := range uint64(0x100) {
		valid := listed(typ, [2]uint64{0x10, 0x15}, [2]uint64{0x18, 0x1d}, [2]uint64{0x30, 0x35}, [2]uint64{0x38, 0x3d},
			[2]uint64{0x50, 0x55}, [2]uint64{0x58, 0x5d}, [2]uint64{0x70, 0x75}, [2]uint64{0x78, 0x7d})
		b := append(AppendVarint(nil, typ), 7, 5, 9, 3)
		h, n, err := ConsumeSubgroupHeader(b, Draft18)
		if !valid {
			if errorName(err) != "PROTOCOL_VIOLATION" {
				t.Errorf("type %#x: error %v", typ, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("type %#x: %v", typ, err)
			continue
		}
		want := SubgroupHeader{
			TrackAlias: 7, GroupID: 5, HasProperties: typ&0x01 != 0, EndOfGroup: typ&0x08 != 0, FirstObject: typ&0x40 != 0,
		}
		size := 3
		switch typ >> 1 & 3 {
		case 1:
			want.IDMode = SubgroupIDFirstObject
		case 2:
			want.IDMode, want.SubgroupID = SubgroupIDExplicit, 9
			size++
		}
		if typ&0x20 == 0 {
			want.Priority = Some(b[size])
			size++
		}
		if h != want || n != size {
			t.Errorf("type %#x: %+v from %d bytes, want %+v from %d", typ, h, n, want, size)
		}
		if got := h.Append(nil, Draft18); !bytes.Equal(got, b[:n]) {
			t.Errorf("type %#x: append gives %x, want %x", typ, got, b[:n])
		}
		if StreamType(typ).Kind() != StreamKindSubgroup {
			t.Errorf("type %#x is a stream of kind %v", typ, StreamType(typ).Kind())
		}
	}
}

// TestDatagramTypes reads a datagram of every type below 0x100.
//
// "Type (i) = 0x00..0x0F / 0x20..0x21 / 0x24..0x25 / 0x28..0x29 / 0x2C..0x2D"
// [MOQT-18] Section 11.3.1, Object Datagram
func TestDatagramTypes(t *testing.T) {
	for typ := range uint64(0x100) {
		valid := listed(typ, [2]uint64{0x00, 0x0f}, [2]uint64{0x20, 0x21}, [2]uint64{0x24, 0x25}, [2]uint64{0x28, 0x29}, [2]uint64{0x2c, 0x2d})
		b := append(AppendVarint(nil, typ), 7, 5)
		want := Datagram{TrackAlias: 7, GroupID: 5, EndOfGroup: typ&0x02 != 0}
		if typ&0x04 == 0 {
			b, want.ObjectID = append(b, 3), 3
		}
		if typ&0x08 == 0 {
			b, want.Priority = append(b, 9), Some(uint8(9))
		}
		if typ&0x01 != 0 {
			b, want.Properties = append(b, 2, 0x3e, 0), Properties{0x3e, 0}
		}
		if typ&0x20 != 0 {
			b = append(b, 0) // normal, so that properties are allowed
		} else {
			b, want.Payload = append(b, "abc"...), []byte("abc")
		}
		d, err := ParseDatagram(b, Draft18)
		if !valid {
			if errorName(err) != "PROTOCOL_VIOLATION" {
				t.Errorf("type %#x: error %v", typ, err)
			}
			continue
		}
		if err != nil || !equalDatagrams(d, want) {
			t.Errorf("type %#x: %+v, error %v, want %+v", typ, d, err, want)
		}
		if typ&0x20 != 0 {
			continue // a normal object is sent without status
		}
		if got, err := d.Append(nil, Draft18); err != nil || !bytes.Equal(got, b) {
			t.Errorf("type %#x: append gives %x, error %v, want %x", typ, got, err, b)
		}
	}
}

func equalDatagrams(a, b Datagram) bool {
	return a.TrackAlias == b.TrackAlias && a.GroupID == b.GroupID && a.ObjectID == b.ObjectID && a.Priority == b.Priority &&
		a.EndOfGroup == b.EndOfGroup && a.Status == b.Status && bytes.Equal(a.Properties, b.Properties) && bytes.Equal(a.Payload, b.Payload)
}

func TestSubgroupHeaderID(t *testing.T) {
	for _, tt := range []struct {
		h    SubgroupHeader
		want uint64
	}{
		{SubgroupHeader{IDMode: SubgroupIDZero}, 0},
		{SubgroupHeader{IDMode: SubgroupIDFirstObject}, 7},
		{SubgroupHeader{IDMode: SubgroupIDExplicit, SubgroupID: 9}, 9},
	} {
		if got := tt.h.ID(7); got != tt.want {
			t.Errorf("mode %d: subgroup %d, want %d", tt.h.IDMode, got, tt.want)
		}
	}
}

func TestSubgroupCursorRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		h       SubgroupHeader
		o       ObjectHeader
		want    error
		started bool
	}{
		"same id":                  {o: ObjectHeader{ID: 5}, started: true, want: ErrInvalidValue},
		"id before":                {o: ObjectHeader{ID: 4}, started: true, want: ErrInvalidValue},
		"properties not announced": {o: ObjectHeader{ID: 6, Properties: Properties{0, 0}}, want: ErrInvalidValue},
		"unknown status":           {o: ObjectHeader{ID: 6, Status: 1}, want: ErrInvalidValue},
		"payload after the end":    {o: ObjectHeader{ID: 6, Status: ObjectEndOfGroup, PayloadLen: 1}, want: ErrInvalidValue},
		"properties after the end": {h: SubgroupHeader{HasProperties: true}, o: ObjectHeader{ID: 6, Status: ObjectEndOfTrack, Properties: Properties{0, 0}}, want: ErrInvalidValue},
		"large properties":         {h: SubgroupHeader{HasProperties: true}, o: ObjectHeader{ID: 6, Properties: make(Properties, MaxObjectPropertiesLen+1)}, want: ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			c := tt.h.Cursor()
			if tt.started {
				if _, err := c.Append(nil, &ObjectHeader{ID: 5}, Draft18); err != nil {
					t.Fatal(err)
				}
			}
			before := c
			b, err := c.Append([]byte("before"), &tt.o, Draft18)
			if !errors.Is(err, tt.want) || string(b) != "before" {
				t.Errorf("appended %q, error %v", b, err)
			}
			if c != before {
				t.Errorf("cursor moved from %+v to %+v", before, c)
			}
		})
	}
}

func TestSubgroupCursorLast(t *testing.T) {
	c := (&SubgroupHeader{}).Cursor()
	if _, ok := c.Last(); ok {
		t.Error("there is an object before the first")
	}
	if _, _, err := c.Consume([]byte{0, 5}, Draft18); err != nil {
		t.Fatal(err)
	}
	if id, ok := c.Last(); id != 0 || !ok {
		t.Errorf("last is %d, %v", id, ok)
	}
	// An error does not move the cursor.
	before := c
	if _, _, err := c.Consume([]byte{3, 0x80}, Draft18); err != ErrTruncated || c != before {
		t.Errorf("error %v, cursor %+v, want %+v", err, c, before)
	}
}

// Properties as long as the limit are read, on every path that carries them.
func TestObjectPropertiesAtTheLimit(t *testing.T) {
	props := make(Properties, MaxObjectPropertiesLen)
	h := SubgroupHeader{HasProperties: true}
	c := h.Cursor()
	b, err := c.Append(nil, &ObjectHeader{Properties: props, PayloadLen: 1}, Draft18)
	if err != nil || len(b) > MaxObjectHeaderLen {
		t.Fatalf("%d bytes, error %v", len(b), err)
	}
	c = h.Cursor()
	o, n, err := c.Consume(b, Draft18)
	if err != nil || n != len(b) || !bytes.Equal(o.Properties, props) {
		t.Errorf("subgroup: %d bytes of %d, error %v", n, len(b), err)
	}
	var fc FetchCursor
	b, err = fc.Append(nil, &FetchItem{Properties: props, PayloadLen: 1}, Draft18)
	if err != nil || len(b) > MaxObjectHeaderLen {
		t.Fatalf("%d bytes, error %v", len(b), err)
	}
	fc = FetchCursor{}
	item, n, err := fc.Consume(b, Draft18)
	if err != nil || n != len(b) || !bytes.Equal(item.Properties, props) {
		t.Errorf("fetch: %d bytes of %d, error %v", n, len(b), err)
	}
}

func TestDatagramRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		d    Datagram
		want error
	}{
		"end of group as bit and status": {Datagram{Status: ObjectEndOfGroup, EndOfGroup: true}, ErrInvalidValue},
		"status with payload":            {Datagram{Status: ObjectEndOfTrack, Payload: []byte("x")}, ErrInvalidValue},
		"status with properties":         {Datagram{Status: ObjectEndOfTrack, Properties: Properties{0, 0}}, ErrInvalidValue},
		"unknown status":                 {Datagram{Status: 2}, ErrInvalidValue},
		"large properties":               {Datagram{Properties: make(Properties, MaxObjectPropertiesLen+1)}, ErrTooLarge},
	} {
		b, err := tt.d.Append([]byte("before"), Draft18)
		if !errors.Is(err, tt.want) || string(b) != "before" {
			t.Errorf("%s: appended %x, error %v", name, b, err)
		}
	}
}

func TestFetchCursorRefuses(t *testing.T) {
	at := func(g, o uint64) FetchItem { return FetchItem{Location: Location{g, o}} }
	for name, tt := range map[string]struct {
		descending bool
		item       FetchItem
		want       error
	}{
		"same location":           {false, at(5, 5), ErrInvalidValue},
		"object before":           {false, at(5, 4), ErrInvalidValue},
		"group before, ascending": {false, at(4, 9), ErrInvalidValue},
		"group after, descending": {true, at(6, 0), ErrInvalidValue},
		"object before, desc.":    {true, at(5, 4), ErrInvalidValue},
		"unknown kind":            {false, FetchItem{Kind: 1, Location: Location{6, 0}}, ErrInvalidValue},
		"large properties":        {false, FetchItem{Location: Location{6, 0}, Properties: make(Properties, MaxObjectPropertiesLen+1)}, ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			c := FetchCursor{Descending: tt.descending}
			if _, ok := c.Last(); ok {
				t.Error("there is an item before the first")
			}
			first := at(5, 5)
			if _, err := c.Append(nil, &first, Draft18); err != nil {
				t.Fatal(err)
			}
			if l, ok := c.Last(); l != first.Location || !ok {
				t.Errorf("last is %v, %v", l, ok)
			}
			before := c
			b, err := c.Append([]byte("before"), &tt.item, Draft18)
			if !errors.Is(err, tt.want) || string(b) != "before" || c != before {
				t.Errorf("appended %q, error %v, cursor %+v", b, err, c)
			}
		})
	}
}

// Integers need not be short, so the longest headers are longer than any we send.
func TestMaxObjectHeaderLen(t *testing.T) {
	long := func(b []byte, x byte) []byte { return append(b, 0xff, 0, 0, 0, 0, 0, 0, 0, x) }
	b := long(nil, fetchGroupDelta|fetchObjectDelta|fetchSubgroupField|fetchPriority|fetchProperties)
	b = long(long(long(b, 5), 4), 3) // group, subgroup, object
	b = append(b, 9)                 // priority
	b = append(b, 0xff, 0, 0, 0, 0, 0, 2, 0, 0)
	b = append(b, make([]byte, MaxObjectPropertiesLen)...)
	b = long(b, 1) // payload length
	if len(b) != MaxObjectHeaderLen {
		t.Fatalf("%d bytes, want %d", len(b), MaxObjectHeaderLen)
	}
	var c FetchCursor
	if item, n, err := c.Consume(b, Draft18); item.Location != (Location{5, 3}) || n != len(b) || err != nil {
		t.Errorf("item at %v from %d bytes, error %v", item.Location, n, err)
	}
}

// The longest header fits the limit readers size their buffers with.
func TestMaxStreamHeaderLen(t *testing.T) {
	h := SubgroupHeader{TrackAlias: math.MaxUint64, GroupID: math.MaxUint64, IDMode: SubgroupIDExplicit, SubgroupID: math.MaxUint64, Priority: Some(uint8(1))}
	b := h.Append(nil, Draft18)[1:]
	b = append([]byte{0xff, 0, 0, 0, 0, 0, 0, 0, 0x14}, b...) // the type in nine bytes
	if len(b) != MaxStreamHeaderLen {
		t.Fatalf("%d bytes, want %d", len(b), MaxStreamHeaderLen)
	}
	if got, n, err := ConsumeSubgroupHeader(b, Draft18); got != h || n != len(b) || err != nil {
		t.Errorf("%+v from %d bytes, error %v", got, n, err)
	}
}

package wire

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
)

func TestAppendPropertiesRefuses(t *testing.T) {
	for name, list := range map[string][]Property{
		"descending": {{Type: 4}, {Type: 2}},
		"long":       {{Type: 2}, {Type: 3, Bytes: make([]byte, MaxPropertyLen+1)}},
	} {
		b, err := AppendProperties([]byte("before"), list, Draft18)
		if !errors.Is(err, ErrInvalidValue) || string(b) != "before" {
			t.Errorf("%s: appended %q, error %v", name, b, err)
		}
	}
}

func TestPropertyOfTheLargestLength(t *testing.T) {
	list := []Property{{Type: 3, Bytes: make([]byte, MaxPropertyLen)}}
	b, err := AppendProperties(nil, list, Draft18)
	if err != nil {
		t.Fatal(err)
	}
	it := Properties(b).Iter(Draft18)
	if !it.Next() || !reflect.DeepEqual(it.Property(), list[0]) || it.Next() || it.Err() != nil {
		t.Errorf("property of %d bytes, error %v", len(it.Property().Bytes), it.Err())
	}
}

func TestLookup(t *testing.T) {
	uint := func(typ, x uint64) Property { return Property{Type: typ, Uint: x} }
	immutable := func(list ...Property) Property {
		b, err := AppendProperties(nil, list, Draft18)
		if err != nil {
			t.Fatal(err)
		}
		return Property{Type: PropertyImmutable, Bytes: b}
	}
	for name, tt := range map[string]struct {
		list  []Property
		want  uint64
		found bool
		err   string
	}{
		"absent":                  {list: []Property{uint(0x0e, 1)}},
		"in the list":             {list: []Property{uint(0x0e, 1), uint(0x10, 2)}, want: 2, found: true},
		"first of two":            {list: []Property{uint(0x10, 2), uint(0x10, 3)}, want: 2, found: true},
		"inside immutable":        {list: []Property{immutable(uint(0x10, 4)), uint(0x12, 0)}, want: 4, found: true},
		"list before immutable":   {list: []Property{immutable(uint(0x10, 4)), uint(0x10, 2)}, want: 2, found: true},
		"first immutable counts":  {list: []Property{immutable(uint(0x10, 4)), immutable(uint(0x10, 5))}, want: 4, found: true},
		"not in a deeper level":   {list: []Property{immutable(immutable(uint(0x10, 4)))}},
		"immutable unreadable":    {list: []Property{{Type: PropertyImmutable, Bytes: []byte{0x10}}}, err: "MALFORMED_TRACK"},
		"immutable without value": {list: []Property{immutable(uint(0x02, 1)), uint(0x10, 6)}, want: 6, found: true},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := AppendProperties(nil, tt.list, Draft18)
			if err != nil {
				t.Fatal(err)
			}
			p, found, err := Properties(b).Lookup(0x10, Draft18)
			if errorName(err) != tt.err || found != tt.found || p.Uint != tt.want {
				t.Errorf("%+v, %v, error %v", p, found, err)
			}
		})
	}
	if _, _, err := (Properties{0x02}).Lookup(0x10, Draft18); errorName(err) != "KEY_VALUE_FORMATTING_ERROR" {
		t.Errorf("list cut: error %v", err)
	}
}

// What is not understood comes out as it went in, non-minimal integers included.
func TestPropertiesRoundTripByBytes(t *testing.T) {
	raw := Properties{0x80, 0x08, 0xc0, 0x00, 0x05, 0x01, 0x80, 0x01, 'x'} // type 8, value 5; type 9, "x"
	m := &Publish{Track: FullTrackName{Namespace: MustNamespace("a"), Name: "b"}, Properties: raw}
	b, err := AppendMessage(nil, m, Draft18)
	if err != nil {
		t.Fatal(err)
	}
	typ, body, _, err := ConsumeFrame(b, Draft18)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseMessage(typ, body, Draft18)
	if err != nil {
		t.Fatal(err)
	}
	if p := got.(*Publish).Properties; !bytes.Equal(p, raw) {
		t.Errorf("properties %x, want %x", p, raw)
	}
}

func TestTrackPropertiesRoundTrip(t *testing.T) {
	for name, want := range map[string]TrackProperties{
		"empty": {},
		"all": {
			ObjectDeliveryTimeout: Some(Millis(500)), MaxCacheDuration: Some(Millis(0)), SubgroupDeliveryTimeout: Some(Millis(7)),
			DefaultPriority: Some(uint8(4)), DefaultGroupOrder: Some(GroupOrderDescending), DynamicGroups: Some(true),
			Immutable: Properties{0x07, 0x01, 'x'},
			Other:     []Property{{Type: 1, Bytes: []byte("a")}, {Type: 8, Uint: 90000}, {Type: 0x31, Bytes: []byte("b")}, {Type: 0x4000}},
			Mandatory: Some(uint64(0x4000)),
		},
		"immutable twice": {Immutable: Properties{0x02, 0x01}, Other: []Property{{Type: PropertyImmutable, Bytes: []byte{0x02, 0x02}}}, ObjectDeliveryTimeout: Some(Millis(1))},
		"only others":     {Other: []Property{{Type: 8, Uint: 1}, {Type: 8, Uint: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := want.Properties(Draft18)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Track(Draft18)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, error %v, want %+v", got, err, want)
			}
		})
	}
	bad := TrackProperties{Other: []Property{{Type: 9}, {Type: 8}}}
	if _, err := bad.Properties(Draft18); !errors.Is(err, ErrInvalidValue) {
		t.Errorf("others out of order: error %v", err)
	}
}

func TestLOCAppend(t *testing.T) {
	l := LOC{Timestamp: Some(uint64(5)), TimestampType: LOCTimestamp02, Timescale: Some(uint64(1000))}
	b, err := l.Append(nil, Draft18)
	if want := []byte{0x06, 0x05, 0x02, 0x83, 0xe8}; err != nil || !bytes.Equal(b, want) {
		t.Errorf("appended %x, error %v, want %x", b, err, want)
	}
	l.TimestampType = 0
	b, err = l.Append(nil, Draft18)
	if want := []byte{0x08, 0x83, 0xe8, 0x08, 0x05}; err != nil || !bytes.Equal(b, want) {
		t.Errorf("appended %x, error %v, want %x", b, err, want)
	}
	l.TimestampType = 0x0a
	if _, err := l.Append(nil, Draft18); !errors.Is(err, ErrInvalidValue) {
		t.Errorf("timestamp in property 0x0a: error %v", err)
	}
}

func TestPropertiesClone(t *testing.T) {
	p := Properties{1, 2}
	c := p.Clone()
	p[0] = 9
	if c[0] != 1 {
		t.Error("the clone changed")
	}
}

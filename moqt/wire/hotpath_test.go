package wire

import "testing"

// The paths every object takes. Each is checked to allocate nothing, and is a
// benchmark.
var hotPaths = []struct {
	name string
	make func() func()
}{
	{"ConsumeVarint/1", consumeVarintPath(5)},
	{"ConsumeVarint/4", consumeVarintPath(1 << 22)},
	{"ConsumeVarint/9", consumeVarintPath(1 << 63)},
	{"AppendVarint/1", appendVarintPath(5)},
	{"AppendVarint/4", appendVarintPath(1 << 22)},
	{"AppendVarint/9", appendVarintPath(1 << 63)},
	{"ConsumeSubgroupHeader", func() func() {
		b := hotHeader.Append(nil, Draft18)
		return func() {
			if _, _, err := ConsumeSubgroupHeader(b, Draft18); err != nil {
				panic(err)
			}
		}
	}},
	{"AppendSubgroupHeader", func() func() {
		b := make([]byte, 0, MaxStreamHeaderLen)
		return func() { hotHeader.Append(b, Draft18) }
	}},
	{"ConsumeObject", consumeObjectPath(SubgroupHeader{}, ObjectHeader{ID: 3, PayloadLen: 3750})},
	{"ConsumeObject/properties", consumeObjectPath(SubgroupHeader{HasProperties: true}, ObjectHeader{ID: 3, PayloadLen: 3750, Properties: hotProperties})},
	{"AppendObject", appendObjectPath(SubgroupHeader{}, ObjectHeader{ID: 3, PayloadLen: 3750})},
	{"AppendObject/properties", appendObjectPath(SubgroupHeader{HasProperties: true}, ObjectHeader{ID: 3, PayloadLen: 3750, Properties: hotProperties})},
	{"ParseDatagram", func() func() {
		b, err := hotDatagram.Append(nil, Draft18)
		if err != nil {
			panic(err)
		}
		return func() {
			if _, err := ParseDatagram(b, Draft18); err != nil {
				panic(err)
			}
		}
	}},
	{"AppendDatagramHeader", func() func() {
		b := make([]byte, 0, 100)
		return func() {
			if _, err := hotDatagram.appendHeader(b, Draft18); err != nil {
				panic(err)
			}
		}
	}},
	{"ConsumeFetchObject", func() func() {
		var c FetchCursor
		b, err := c.Append(nil, &hotItem, Draft18)
		if err != nil {
			panic(err)
		}
		return func() {
			var c FetchCursor
			if _, _, err := c.Consume(b, Draft18); err != nil {
				panic(err)
			}
		}
	}},
	{"AppendFetchObject", func() func() {
		b := make([]byte, 0, 100)
		return func() {
			var c FetchCursor
			if _, err := c.Append(b, &hotItem, Draft18); err != nil {
				panic(err)
			}
		}
	}},
	{"Properties/object", func() func() {
		return func() {
			if _, err := hotProperties.Object(Location{5, 3}, Draft18); err != nil {
				panic(err)
			}
		}
	}},
	{"Properties/loc", func() func() {
		return func() {
			if l, err := hotProperties.LOC(Draft18); err != nil || !l.Timestamp.IsSet() {
				panic(err)
			}
		}
	}},
	{"Properties/lookup", func() func() {
		return func() {
			if _, ok, err := hotProperties.Lookup(LOCTimestamp, Draft18); !ok || err != nil {
				panic(err)
			}
		}
	}},
	{"AppendLOC", func() func() {
		b := make([]byte, 0, 100)
		return func() {
			if _, err := hotLOC.Append(b, Draft18); err != nil {
				panic(err)
			}
		}
	}},
}

var (
	hotLOC        = LOC{Timestamp: Some(uint64(1795000000000000))}
	hotProperties = func() Properties {
		b, err := hotLOC.Append(nil, Draft18)
		if err != nil {
			panic(err)
		}
		return b
	}()
	hotHeader   = SubgroupHeader{TrackAlias: 7, GroupID: 1795000000, Priority: Some(uint8(4)), HasProperties: true, FirstObject: true}
	hotDatagram = Datagram{TrackAlias: 7, GroupID: 1795000000, Properties: hotProperties, Payload: make([]byte, 80)}
	hotItem     = FetchItem{Location: Location{1795000000, 3}, Priority: 4, Properties: hotProperties, PayloadLen: 3750}
)

func consumeVarintPath(x uint64) func() func() {
	return func() func() {
		b := AppendVarint(nil, x)
		return func() {
			if _, _, err := ConsumeVarint(b); err != nil {
				panic(err)
			}
		}
	}
}

func appendVarintPath(x uint64) func() func() {
	return func() func() {
		b := make([]byte, 0, maxVarintLen)
		return func() { AppendVarint(b, x) }
	}
}

func consumeObjectPath(h SubgroupHeader, o ObjectHeader) func() func() {
	return func() func() {
		c := h.Cursor()
		b, err := c.Append(nil, &o, Draft18)
		if err != nil {
			panic(err)
		}
		return func() {
			c := h.Cursor()
			if _, _, err := c.Consume(b, Draft18); err != nil {
				panic(err)
			}
		}
	}
}

func appendObjectPath(h SubgroupHeader, o ObjectHeader) func() func() {
	return func() func() {
		b := make([]byte, 0, 100)
		return func() {
			c := h.Cursor()
			if _, err := c.Append(b, &o, Draft18); err != nil {
				panic(err)
			}
		}
	}
}

func TestHotPathsDoNotAllocate(t *testing.T) {
	for _, p := range hotPaths {
		if n := testing.AllocsPerRun(100, p.make()); n != 0 {
			t.Errorf("%s: %v allocations", p.name, n)
		}
	}
}

func BenchmarkHotPaths(b *testing.B) {
	for _, p := range hotPaths {
		b.Run(p.name, func(b *testing.B) {
			f := p.make()
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
	}
}

// Control messages may allocate; this is here to see how much.
func BenchmarkSubscribe(b *testing.B) {
	m := &Subscribe{
		RequestID: 4,
		Track:     FullTrackName{Namespace: MustNamespace("demo", "alice.hang"), Name: "catalog.json"},
		Params:    Params{Forward: Some(true), SubscriberPriority: Some(uint8(155)), Filter: Some(Filter{Type: FilterLargestObject}), GroupOrder: Some(GroupOrderDescending)},
	}
	frame, err := AppendMessage(nil, m, Draft18)
	if err != nil {
		b.Fatal(err)
	}
	typ, body, _, err := ConsumeFrame(frame, Draft18)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("Append", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 0, len(frame))
		for b.Loop() {
			if _, err := AppendMessage(buf, m, Draft18); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ParseMessage(typ, body, Draft18); err != nil {
				b.Fatal(err)
			}
		}
	})
}

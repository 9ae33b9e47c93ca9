package wire

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
)

// Every target checks the same: no panic; nothing read behind the slice, whose
// capacity ends with it; the count within the slice and the same result from exactly
// that many bytes; and decode, encode, decode gives the first result again.

// clip returns a copy of b without room behind it.
func clip(b []byte) []byte {
	c := bytes.Clone(b)
	return c[:len(c):len(c)]
}

// knownError fails on an error of no documented kind.
func knownError(t *testing.T, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) && !errors.Is(err, ErrTruncated) && !errors.Is(err, ErrMalformedTrack) && !errors.Is(err, ErrTooLarge) {
		t.Fatalf("error %v", err)
	}
	if errors.Is(err, ErrMalformedTrack) && e != nil {
		t.Fatalf("error %v is of two kinds", err)
	}
}

func FuzzVarint(f *testing.F) {
	seedVectors(f, "varint")
	f.Fuzz(func(t *testing.T, b []byte) {
		b = clip(b)
		x, n, err := ConsumeVarint(b)
		if err != nil {
			if err != ErrTruncated {
				t.Fatal(err)
			}
			return
		}
		if y, m, err := ConsumeVarint(b[:n:n]); x != y || m != n || err != nil {
			t.Fatalf("%d from %d bytes, then %d from %d, error %v", x, n, y, m, err)
		}
		enc := AppendVarint(nil, x)
		if y, m, err := ConsumeVarint(enc); y != x || m != len(enc) || m > n || m != varintLen(x) || err != nil {
			t.Fatalf("%d as %x gives %d, error %v", x, enc, y, err)
		}
	})
}

func FuzzFullTrackName(f *testing.F) {
	for _, v := range loadVectors(f).Vectors {
		if v.Kind == "namespace" {
			f.Add(append(v.bytes(f), "\x04name"...))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		name, n, err := consumeFullTrackName(clip(b), Draft18)
		if err != nil {
			knownError(t, err)
			return
		}
		if again, m, err := consumeFullTrackName(clip(b[:n]), Draft18); again != name || m != n || err != nil {
			t.Fatalf("%v, then %v, error %v", name, again, err)
		}
		if ns, err := NewNamespace(name.Namespace.Fields()...); ns != name.Namespace || err != nil {
			t.Fatalf("fields %q, error %v", name.Namespace.Fields(), err)
		}
		enc := name.append(nil, Draft18)
		if again, m, err := consumeFullTrackName(enc, Draft18); again != name || m != len(enc) || err != nil {
			t.Fatalf("%v as %x gives %v, error %v", name, enc, again, err)
		}
		if again, err := ParseFullTrackName(name.String()); again != name || err != nil {
			t.Fatalf("%+v as %v gives %+v, error %v", name, name, again, err)
		}
	})
}

func FuzzParseFullTrackName(f *testing.F) {
	for _, v := range loadVectors(f).Vectors {
		if v.Kind == "log_form" {
			f.Add(v.Text)
		}
	}
	f.Fuzz(func(t *testing.T, s string) {
		name, err := ParseFullTrackName(s)
		// "every valid serialized string maps to exactly one binary value"
		// [MOQT-18] Section 1.5.1, Parsing Serialized Names
		if err == nil && name.String() != s {
			t.Fatalf("%q gives %q", s, name)
		}
	})
}

func FuzzProperties(f *testing.F) {
	for _, kind := range []string{"properties", "track_properties", "object_properties", "loc"} {
		seedVectors(f, kind)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p := Properties(clip(b))
		var list []Property
		it := p.Iter(Draft18)
		for it.Next() {
			list = append(list, it.Property())
		}
		if it.Err() != nil {
			knownError(t, it.Err())
		}
		enc, err := AppendProperties(nil, list, Draft18)
		if err != nil {
			t.Fatalf("list %+v: %v", list, err)
		}
		var again []Property
		it = Properties(enc).Iter(Draft18)
		for it.Next() {
			again = append(again, it.Property())
		}
		if it.Err() != nil || !reflect.DeepEqual(again, list) {
			t.Fatalf("%+v, then %+v, error %v", list, again, it.Err())
		}
		fuzzTrackProperties(t, p)
		fuzzLOC(t, p)
		if _, err := p.Object(Location{5, 5}, Draft18); err != nil {
			knownError(t, err)
		}
		if _, _, err := p.Lookup(LOCTimestamp, Draft18); err != nil {
			knownError(t, err)
		}
	})
}

func fuzzTrackProperties(t *testing.T, p Properties) {
	track, err := p.Track(Draft18)
	if err != nil {
		knownError(t, err)
		return
	}
	enc, err := track.Properties(Draft18)
	if err != nil {
		t.Fatalf("%+v: %v", track, err)
	}
	if again, err := enc.Track(Draft18); err != nil || !reflect.DeepEqual(again, track) {
		t.Fatalf("%+v, then %+v, error %v", track, again, err)
	}
}

func fuzzLOC(t *testing.T, p Properties) {
	loc, err := p.LOC(Draft18)
	if err != nil {
		knownError(t, err)
		return
	}
	loc.TimestampMicros(Opt[uint64]{})
	enc, err := loc.Append(nil, Draft18)
	if err != nil {
		t.Fatalf("%+v: %v", loc, err)
	}
	if again, err := Properties(enc).LOC(Draft18); err != nil || !reflect.DeepEqual(again, loc) {
		t.Fatalf("%+v, then %+v, error %v", loc, again, err)
	}
}

func FuzzToken(f *testing.F) {
	seedVectors(f, "token")
	f.Fuzz(func(t *testing.T, b []byte) {
		token, err := parseToken(clip(b), Draft18)
		if err != nil {
			if errorName(err) != "KEY_VALUE_FORMATTING_ERROR" {
				t.Fatal(err)
			}
			return
		}
		if again, err := parseToken(token.Append(nil, Draft18), Draft18); err != nil || !reflect.DeepEqual(again, token) {
			t.Fatalf("%+v, then %+v, error %v", token, again, err)
		}
	})
}

func FuzzFilter(f *testing.F) {
	seedVectors(f, "filter")
	f.Fuzz(func(t *testing.T, b []byte) {
		filter, err := parseFilter(clip(b), Draft18)
		if err != nil {
			if errorName(err) != "PROTOCOL_VIOLATION" {
				t.Fatal(err)
			}
			return
		}
		if again, err := parseFilter(filter.Append(nil, Draft18), Draft18); err != nil || again != filter {
			t.Fatalf("%+v, then %+v, error %v", filter, again, err)
		}
		if start, end := filter.Range(Some(Location{5, 5})); end < start.Group {
			t.Fatalf("%+v passes from %v to %d", filter, start, end)
		}
	})
}

func FuzzMessage(f *testing.F) {
	seedVectors(f, "message")
	seedVectors(f, "subscribe_kvp")
	f.Fuzz(func(t *testing.T, b []byte) {
		b = clip(b)
		typ, body, n, err := ConsumeFrame(b, Draft18)
		if err != nil {
			knownError(t, err)
			return
		}
		if _, _, m, err := ConsumeFrame(clip(b[:n]), Draft18); m != n || err != nil {
			t.Fatalf("%d bytes, then %d, error %v", n, m, err)
		}
		m, err := ParseMessage(typ, body, Draft18)
		if err != nil {
			knownError(t, err)
			if typ == MsgSubscribe {
				fuzzSubscribeKVP(t, body)
			}
			return
		}
		fuzzChecks(t, m)
		if fetch, ok := m.(*Fetch); ok && FetchLast(fetch.End).Less(fetch.Start) {
			return // may be received, and must not be sent
		}
		wantRoundTrip(t, m, n)
	})
}

func fuzzSubscribeKVP(t *testing.T, body []byte) {
	m, err := ParseSubscribeKVP(body, Draft18)
	if err != nil {
		knownError(t, err)
		return
	}
	wantRoundTrip(t, m, len(body)+maxFrameHeaderLen)
}

// wantRoundTrip sends and reads m, which came in at most limit bytes.
func wantRoundTrip(t *testing.T, m Message, limit int) {
	t.Helper()
	enc, err := AppendMessage(nil, m, Draft18)
	if err != nil {
		t.Fatalf("%+v: %v", m, err)
	}
	if len(enc) > limit {
		t.Fatalf("%d bytes have become %d", limit, len(enc))
	}
	typ, body, _, err := ConsumeFrame(enc, Draft18)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseMessage(typ, body, Draft18)
	if err != nil || !reflect.DeepEqual(again, m) {
		t.Fatalf("%+v, then %+v, error %v", m, again, err)
	}
}

// fuzzChecks calls what a session calls on a message.
func fuzzChecks(t *testing.T, m Message) {
	for _, at := range []bool{false, true} {
		for _, c := range []jContext{
			{Transport: "quic"},
			{Transport: "webtransport"},
			{Stream: "control"},
			{Stream: "request"},
			{Answers: "PUBLISH"},
			{Answers: "SUBSCRIBE_NAMESPACE"},
			{Updates: "SUBSCRIBE"},
			{Updates: "FETCH"},
			{Start: &jLocation{5, 5}},
		} {
			if at {
				c.At = "server"
			}
			if err := c.check(t, m); err != nil {
				knownError(t, err)
			}
		}
	}
}

func FuzzSubgroupStream(f *testing.F) {
	seedVectors(f, "subgroup_stream")
	f.Fuzz(func(t *testing.T, b []byte) {
		h, objects, err := consumeSubgroupStream(clip(b))
		if err != nil {
			knownError(t, err)
			if h == (SubgroupHeader{}) {
				return
			}
		}
		// The objects before an error are good.
		enc, err := appendSubgroupStream(h, objects)
		if err != nil {
			t.Fatalf("%+v %+v: %v", h, objects, err)
		}
		if len(enc) > len(b) {
			t.Fatalf("%d bytes have become %d", len(b), len(enc))
		}
		h2, objects2, err := consumeSubgroupStream(clip(enc))
		if err != nil || h2 != h || !reflect.DeepEqual(objects2, objects) {
			t.Fatalf("%+v %+v, then %+v %+v, error %v", h, objects, h2, objects2, err)
		}
	})
}

func FuzzDatagram(f *testing.F) {
	seedVectors(f, "datagram")
	seedVectors(f, "padding_datagram")
	f.Fuzz(func(t *testing.T, b []byte) {
		b = clip(b)
		typ, n, typeErr := ConsumeDatagramType(b, Draft18)
		if typeErr == nil && typ == DatagramTypePadding {
			_ = CheckPadding(b[n:])
			return
		}
		d, err := ParseDatagram(b, Draft18)
		if errors.Is(err, ErrTruncated) {
			t.Fatal("a datagram has no more bytes to wait for")
		}
		if err != nil {
			knownError(t, err)
			return
		}
		if typeErr != nil {
			t.Fatalf("%+v: %v", d, typeErr)
		}
		enc, err := d.Append(nil, Draft18)
		if err != nil {
			t.Fatalf("%+v: %v", d, err)
		}
		if len(enc) > len(b) {
			t.Fatalf("%d bytes have become %d", len(b), len(enc))
		}
		if again, err := ParseDatagram(clip(enc), Draft18); err != nil || !equalDatagrams(again, d) {
			t.Fatalf("%+v, then %+v, error %v", d, again, err)
		}
	})
}

func FuzzFetchStream(f *testing.F) {
	for _, v := range loadVectors(f).Vectors {
		if v.Kind == "fetch_stream" {
			f.Add(v.bytes(f), v.Context.GroupOrder == "descending")
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, descending bool) {
		h, items, err := consumeFetchStream(clip(b), descending)
		if err != nil {
			knownError(t, err)
		}
		enc, err := appendFetchStream(h, items, descending)
		if errors.Is(err, ErrInvalidValue) {
			return // objects out of order may be received, and must not be sent
		}
		if err != nil {
			t.Fatalf("%+v: %v", items, err)
		}
		h2, items2, err := consumeFetchStream(clip(enc), descending)
		if err != nil || h2 != h || !reflect.DeepEqual(items2, items) {
			t.Fatalf("%+v, then %+v, error %v", items, items2, err)
		}
	})
}

func FuzzStreamType(f *testing.F) {
	seedVectors(f, "stream_type")
	seedVectors(f, "padding_stream")
	f.Fuzz(func(t *testing.T, b []byte) {
		b = clip(b)
		typ, n, err := ConsumeStreamType(b, Draft18)
		if err != nil {
			knownError(t, err)
			return
		}
		// What the type promises, the header must not deny.
		switch typ.Kind() {
		case StreamKindSubgroup:
			_, _, err = ConsumeSubgroupHeader(b, Draft18)
		case StreamKindFetch:
			_, _, err = ConsumeFetchHeader(b, Draft18)
		case StreamKindControl:
			_, _, _, err = ConsumeFrame(b, Draft18)
		case StreamKindPadding:
			_ = CheckPadding(b[n:])
		default:
			t.Fatalf("kind %v", typ.Kind())
		}
		if err != nil && err != ErrTruncated {
			t.Fatalf("%v stream: %v", typ.Kind(), err)
		}
	})
}

func FuzzURI(f *testing.F) {
	for _, s := range []string{"", "/", "/a?b", "/%20", "h", "h:443", "u@[::1]:443"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		validPath(s)
		validAuthority(s)
	})
}

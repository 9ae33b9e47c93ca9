package wire

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
)

func TestVarintVectors(t *testing.T) {
	eachVector(t, "varint", func(t *testing.T, v vector) {
		b := v.bytes(t)
		x, n, err := ConsumeVarint(append(b, 0xff)[:len(b)])
		if v.failed(t, err) {
			return
		}
		var want jUint
		v.value(t, &want)
		if x != uint64(want) || n != len(b) {
			t.Errorf("got %d from %d bytes, want %d from %d", x, n, want, len(b))
		}
		got := AppendVarint(nil, x)
		v.wantBytes(t, got, nil)
		if varintLen(x) != len(got) {
			t.Errorf("varintLen %d, AppendVarint gives %d bytes", varintLen(x), len(got))
		}
		wantTruncated(t, b, func(b []byte) error {
			_, _, err := ConsumeVarint(b)
			return err
		})
	})
}

func TestNamespaceVectors(t *testing.T) {
	eachVector(t, "namespace", func(t *testing.T, v vector) {
		b := v.bytes(t)
		ns, n, err := consumeNamespace(b, Draft18)
		if v.failed(t, err) {
			return
		}
		var j jNamespace
		v.value(t, &j)
		if want := j.wire(t); ns != want || n != len(b) {
			t.Errorf("got %q from %d bytes, want %q from %d", ns.Fields(), n, want.Fields(), len(b))
		}
		v.wantBytes(t, ns.append(nil, Draft18), nil)
	})
}

func TestLogFormVectors(t *testing.T) {
	eachVector(t, "log_form", func(t *testing.T, v vector) {
		got, err := ParseFullTrackName(v.Text)
		if v.Error != "" {
			if err == nil {
				t.Errorf("%q is taken for %v", v.Text, got)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		var j struct {
			Namespace jNamespace
			Name      jBytes
		}
		v.value(t, &j)
		want := FullTrackName{Namespace: j.Namespace.wire(t), Name: string(j.Name)}
		if got != want {
			t.Errorf("%q gives %+v, want %+v", v.Text, got, want)
		}
		if s := want.String(); s != v.Text {
			t.Errorf("String gives %q, want %q", s, v.Text)
		}
	})
}

func TestPropertiesVectors(t *testing.T) {
	eachVector(t, "properties", func(t *testing.T, v vector) {
		b := v.bytes(t)
		var got []Property
		it := Properties(b).Iter(Draft18)
		for it.Next() {
			got = append(got, it.Property())
		}
		if v.failed(t, it.Err()) {
			return
		}
		var j []jProperty
		v.value(t, &j)
		if want := propertyList(j); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		enc, err := AppendProperties(nil, got, Draft18)
		v.wantBytes(t, enc, err)
	})
}

func TestTokenVectors(t *testing.T) {
	eachVector(t, "token", func(t *testing.T, v vector) {
		got, err := parseToken(v.bytes(t), Draft18)
		if v.failed(t, err) {
			return
		}
		var j jToken
		v.value(t, &j)
		want := j.wire(t)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		v.wantBytes(t, want.Append(nil, Draft18), nil)
	})
}

func TestFilterVectors(t *testing.T) {
	eachVector(t, "filter", func(t *testing.T, v vector) {
		got, err := parseFilter(v.bytes(t), Draft18)
		if v.failed(t, err) {
			return
		}
		var j jFilter
		v.value(t, &j)
		want := j.wire(t)
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		v.wantBytes(t, want.Append(nil, Draft18), nil)
	})
}

func TestTrackPropertiesVectors(t *testing.T) {
	eachVector(t, "track_properties", func(t *testing.T, v vector) {
		got, err := Properties(v.bytes(t)).Track(Draft18)
		if v.failed(t, err) {
			return
		}
		var j struct {
			ObjectDeliveryTimeout   *jUint `json:"object_delivery_timeout"`
			MaxCacheDuration        *jUint `json:"max_cache_duration"`
			SubgroupDeliveryTimeout *jUint `json:"subgroup_delivery_timeout"`
			Priority                uint8
			GroupOrder              string `json:"group_order"`
			DynamicGroups           bool   `json:"dynamic_groups"`
			Immutable               jBytes
			Mandatory               *jUint
			Other                   []jProperty
		}
		v.value(t, &j)
		if got.Priority() != j.Priority || got.GroupOrder() != groupOrder(t, j.GroupOrder) || got.DynamicGroups.Or(false) != j.DynamicGroups {
			t.Errorf("priority %d, group order %v, dynamic groups %v", got.Priority(), got.GroupOrder(), got.DynamicGroups)
		}
		want := TrackProperties{
			ObjectDeliveryTimeout:   optMillis(j.ObjectDeliveryTimeout),
			MaxCacheDuration:        optMillis(j.MaxCacheDuration),
			SubgroupDeliveryTimeout: optMillis(j.SubgroupDeliveryTimeout),
			DefaultPriority:         got.DefaultPriority,
			DefaultGroupOrder:       got.DefaultGroupOrder,
			DynamicGroups:           got.DynamicGroups,
			Immutable:               Properties(j.Immutable),
			Mandatory:               optUint(j.Mandatory),
			Other:                   propertyList(j.Other),
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

func TestObjectPropertiesVectors(t *testing.T) {
	eachVector(t, "object_properties", func(t *testing.T, v vector) {
		got, err := Properties(v.bytes(t)).Object(Location(*v.Context.Location), Draft18)
		if v.failed(t, err) {
			return
		}
		var j struct {
			PriorGroupIDGap  *jUint `json:"prior_group_id_gap"`
			PriorObjectIDGap *jUint `json:"prior_object_id_gap"`
			Immutable        jBytes
		}
		v.value(t, &j)
		want := ObjectProperties{
			PriorGroupIDGap:  optUint(j.PriorGroupIDGap),
			PriorObjectIDGap: optUint(j.PriorObjectIDGap),
			Immutable:        Properties(j.Immutable),
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

func TestLOCVectors(t *testing.T) {
	eachVector(t, "loc", func(t *testing.T, v vector) {
		got, err := Properties(v.bytes(t)).LOC(Draft18)
		if v.failed(t, err) {
			return
		}
		var j struct {
			Timestamp     *jUint
			TimestampType jUint `json:"timestamp_type"`
			Timescale     *jUint
			FrameMarking  jBytes `json:"frame_marking"`
			AudioLevel    *uint8 `json:"audio_level"`
			VideoConfig   jBytes `json:"video_config"`
			AudioConfig   jBytes `json:"audio_config"`
		}
		v.value(t, &j)
		want := LOC{
			Timestamp: optUint(j.Timestamp), TimestampType: uint64(j.TimestampType), Timescale: optUint(j.Timescale),
			FrameMarking: j.FrameMarking, AudioLevel: optUint8(j.AudioLevel), VideoConfig: j.VideoConfig, AudioConfig: j.AudioConfig,
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		enc, err := want.Append(nil, Draft18)
		v.wantBytes(t, enc, err)
	})
}

func TestStreamTypeVectors(t *testing.T) {
	eachVector(t, "stream_type", func(t *testing.T, v vector) {
		b := v.bytes(t)
		typ, n, err := ConsumeStreamType(b, Draft18)
		if v.failed(t, err) {
			return
		}
		var want string
		v.value(t, &want)
		if typ.Kind().String() != want || n != len(b) {
			t.Errorf("got %v from %d bytes, want %v from %d", typ.Kind(), n, want, len(b))
		}
		v.wantBytes(t, AppendVarint(nil, uint64(typ)), nil)
	})
}

func TestPaddingVectors(t *testing.T) {
	type padding struct{ Length int }
	eachVector(t, "padding_stream", func(t *testing.T, v vector) {
		b := v.bytes(t)
		typ, n, err := ConsumeStreamType(b, Draft18)
		if err != nil || typ != StreamTypePadding {
			t.Fatalf("type %v, error %v", typ, err)
		}
		if v.failed(t, CheckPadding(b[n:])) {
			return
		}
		var j padding
		v.value(t, &j)
		v.wantBytes(t, AppendPaddingStream(nil, j.Length, Draft18), nil)
	})
	eachVector(t, "padding_datagram", func(t *testing.T, v vector) {
		b := v.bytes(t)
		typ, n, err := ConsumeDatagramType(b, Draft18)
		if err != nil || typ != DatagramTypePadding {
			t.Fatalf("type %v, error %v", typ, err)
		}
		if v.failed(t, CheckPadding(b[n:])) {
			return
		}
		var j padding
		v.value(t, &j)
		v.wantBytes(t, AppendPaddingDatagram(nil, j.Length, Draft18), nil)
	})
}

func TestCodeVectors(t *testing.T) {
	codes := loadVectors(t).Codes
	names := map[string]func(uint64) (name, effective string){
		"session": func(c uint64) (string, string) {
			return SessionCode(c).String(), SessionCode(c).Effective().String()
		},
		"request": func(c uint64) (string, string) {
			return RequestCode(c).String(), RequestCode(c).Effective().String()
		},
		"publish_done": func(c uint64) (string, string) { return DoneCode(c).String(), DoneCode(c).Effective().String() },
		"stream":       func(c uint64) (string, string) { return StreamCode(c).String(), StreamCode(c).Effective().String() },
	}
	// Codes that only other drafts have; those of one draft do not clash with those of another.
	others := map[string][]uint64{
		"session": {uint64(SessionTooManyRequests), uint64(SessionTooManyRequestUpdates)},
		"request": {uint64(RequestConflictingFilters), uint64(RequestInvalidFilter)},
	}
	for kind, f := range names {
		table := codes[kind]
		if len(table) == 0 {
			t.Errorf("no codes of kind %s", kind)
		}
		known := make(map[uint64]bool)
		for name, c := range table {
			known[c] = true
			if got, eff := f(c); got != name || eff != name {
				t.Errorf("%s code %#x is %s, treated as %s, want %s", kind, c, got, eff, name)
			}
		}
		for c := range uint64(0x200) {
			if known[c] || slices.Contains(others[kind], c) {
				continue
			}
			// "Receipt of an unknown error code in any error context ... MUST be treated
			// as equivalent to INTERNAL_ERROR for that context."
			// [MOQT-18] Section 14, Grease
			if _, eff := f(c); eff != "INTERNAL_ERROR" {
				t.Errorf("unknown %s code %#x is treated as %s", kind, c, eff)
			}
		}
	}
}

func TestVectorFile(t *testing.T) {
	f := loadVectors(t)
	if f.Version != Draft18.ALPN() {
		t.Errorf("version %q", f.Version)
	}
	seen := make(map[string]bool)
	for _, v := range f.Vectors {
		id := v.Kind + ": " + v.Name
		if seen[id] {
			t.Errorf("%s: twice", id)
		}
		seen[id] = true
		if v.Section == "" || (v.Value == nil) == (v.Error == "") {
			t.Errorf("%s: needs a section, and a value or an error", id)
		}
		if bytes.ContainsAny([]byte(v.Hex), "ABCDEF") {
			t.Errorf("%s: hex is not in lower case", id)
		}
	}
}

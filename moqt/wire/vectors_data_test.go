package wire

import (
	"reflect"
	"testing"
)

type jObject struct {
	ID         jUint
	Properties []jProperty
	Payload    jBytes
	Status     string
}

func status(t testing.TB, s string) ObjectStatus {
	t.Helper()
	if s == "" {
		return ObjectNormal
	}
	for st := ObjectNormal; st <= ObjectEndOfTrack; st++ {
		if st.String() == s {
			return st
		}
	}
	t.Fatalf("no status %q", s)
	return 0
}

// streamObject is an object of a subgroup stream with its payload.
type streamObject struct {
	ObjectHeader
	payload string
}

// consumeSubgroupStream reads a whole stream, as a session does: header, then
// object after object.
func consumeSubgroupStream(b []byte) (h SubgroupHeader, objects []streamObject, err error) {
	h, n, err := ConsumeSubgroupHeader(b, Draft18)
	if err != nil {
		return h, nil, err
	}
	b = b[n:]
	c := h.Cursor()
	for len(b) > 0 {
		o, n, err := c.Consume(b, Draft18)
		if err != nil {
			return h, objects, err
		}
		b = b[n:]
		if uint64(len(b)) < o.PayloadLen {
			return h, objects, ErrTruncated
		}
		objects = append(objects, streamObject{o, string(b[:o.PayloadLen])})
		b = b[o.PayloadLen:]
	}
	return h, objects, nil
}

func appendSubgroupStream(h SubgroupHeader, objects []streamObject) ([]byte, error) {
	b := h.Append(nil, Draft18)
	c := h.Cursor()
	for _, o := range objects {
		var err error
		if b, err = c.Append(b, &o.ObjectHeader, Draft18); err != nil {
			return nil, err
		}
		b = append(b, o.payload...)
	}
	return b, nil
}

func TestSubgroupStreamVectors(t *testing.T) {
	eachVector(t, "subgroup_stream", func(t *testing.T, v vector) {
		b := v.bytes(t)
		h, objects, err := consumeSubgroupStream(b)
		if v.failed(t, err) {
			return
		}
		var j struct {
			Header struct {
				TrackAlias  jUint  `json:"track_alias"`
				GroupID     jUint  `json:"group_id"`
				IDMode      string `json:"id_mode"`
				SubgroupID  jUint  `json:"subgroup_id"`
				Priority    *uint8
				Properties  bool
				EndOfGroup  bool `json:"end_of_group"`
				FirstObject bool `json:"first_object"`
			}
			Objects []jObject
		}
		v.value(t, &j)
		modes := map[string]SubgroupIDMode{"zero": SubgroupIDZero, "first object": SubgroupIDFirstObject, "explicit": SubgroupIDExplicit}
		mode, ok := modes[j.Header.IDMode]
		if !ok {
			t.Fatalf("no mode %q", j.Header.IDMode)
		}
		wantHeader := SubgroupHeader{
			TrackAlias: uint64(j.Header.TrackAlias), GroupID: uint64(j.Header.GroupID), IDMode: mode, SubgroupID: uint64(j.Header.SubgroupID),
			Priority: optUint8(j.Header.Priority), HasProperties: j.Header.Properties, EndOfGroup: j.Header.EndOfGroup, FirstObject: j.Header.FirstObject,
		}
		if h != wantHeader {
			t.Errorf("header %+v, want %+v", h, wantHeader)
		}
		var want []streamObject
		for _, o := range j.Objects {
			want = append(want, streamObject{ObjectHeader{
				ID: uint64(o.ID), Properties: properties(t, o.Properties), PayloadLen: uint64(len(o.Payload)), Status: status(t, o.Status),
			}, string(o.Payload)})
		}
		if !reflect.DeepEqual(objects, want) {
			t.Errorf("objects %+v, want %+v", objects, want)
		}
		got, err := appendSubgroupStream(wantHeader, want)
		v.wantBytes(t, got, err)
		// A beginning of the stream is either whole objects or not complete; it is
		// never wrong.
		for i := range b {
			_, part, err := consumeSubgroupStream(b[:i:i])
			if err != nil && err != ErrTruncated {
				t.Errorf("first %d bytes: %v", i, err)
			}
			if len(part) > len(want) || len(part) > 0 && !reflect.DeepEqual(part, want[:len(part)]) {
				t.Errorf("first %d bytes give objects %+v", i, part)
			}
		}
	})
}

func TestDatagramVectors(t *testing.T) {
	eachVector(t, "datagram", func(t *testing.T, v vector) {
		b := v.bytes(t)
		_, _, typeErr := ConsumeDatagramType(b, Draft18)
		got, err := ParseDatagram(b, Draft18)
		if v.failed(t, err) {
			return
		}
		if typeErr != nil {
			t.Errorf("type: %v", typeErr)
		}
		var j struct {
			TrackAlias jUint `json:"track_alias"`
			GroupID    jUint `json:"group_id"`
			ObjectID   jUint `json:"object_id"`
			Priority   *uint8
			EndOfGroup bool `json:"end_of_group"`
			Properties []jProperty
			Status     string
			Payload    jBytes
		}
		v.value(t, &j)
		want := Datagram{
			TrackAlias: uint64(j.TrackAlias), GroupID: uint64(j.GroupID), ObjectID: uint64(j.ObjectID), Priority: optUint8(j.Priority),
			EndOfGroup: j.EndOfGroup, Properties: properties(t, j.Properties), Status: status(t, j.Status), Payload: j.Payload,
		}
		if len(got.Payload) == 0 && len(want.Payload) == 0 {
			got.Payload = want.Payload
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		enc, err := want.Append(nil, Draft18)
		v.wantBytes(t, enc, err)
	})
}

// fetchObject is an item of a fetch stream with its payload.
type fetchObject struct {
	FetchItem
	payload string
}

func consumeFetchStream(b []byte, descending bool) (h FetchHeader, items []fetchObject, err error) {
	h, n, err := ConsumeFetchHeader(b, Draft18)
	if err != nil {
		return h, nil, err
	}
	b = b[n:]
	c := FetchCursor{Descending: descending}
	for len(b) > 0 {
		item, n, err := c.Consume(b, Draft18)
		if err != nil {
			return h, items, err
		}
		b = b[n:]
		if uint64(len(b)) < item.PayloadLen {
			return h, items, ErrTruncated
		}
		items = append(items, fetchObject{item, string(b[:item.PayloadLen])})
		b = b[item.PayloadLen:]
	}
	return h, items, nil
}

func appendFetchStream(h FetchHeader, items []fetchObject, descending bool) ([]byte, error) {
	b := h.Append(nil, Draft18)
	c := FetchCursor{Descending: descending}
	for _, item := range items {
		var err error
		if b, err = c.Append(b, &item.FetchItem, Draft18); err != nil {
			return nil, err
		}
		b = append(b, item.payload...)
	}
	return b, nil
}

func TestFetchStreamVectors(t *testing.T) {
	eachVector(t, "fetch_stream", func(t *testing.T, v vector) {
		b := v.bytes(t)
		descending := v.Context.GroupOrder == "descending"
		h, items, err := consumeFetchStream(b, descending)
		if v.failed(t, err) {
			return
		}
		var j struct {
			RequestID jUint `json:"request_id"`
			Items     []struct {
				Kind       string
				Location   jLocation
				SubgroupID jUint `json:"subgroup_id"`
				Datagram   bool
				Priority   uint8
				Properties []jProperty
				Payload    jBytes
			}
		}
		v.value(t, &j)
		var want []fetchObject
		for _, item := range j.Items {
			kinds := map[string]FetchKind{}
			for _, k := range []FetchKind{FetchObject, FetchNonExistentRange, FetchUnknownRange} {
				kinds[k.String()] = k
			}
			kind, ok := kinds[item.Kind]
			if !ok {
				t.Fatalf("no kind %q", item.Kind)
			}
			want = append(want, fetchObject{FetchItem{
				Kind: kind, Location: Location(item.Location), SubgroupID: uint64(item.SubgroupID), Datagram: item.Datagram,
				Priority: item.Priority, Properties: properties(t, item.Properties), PayloadLen: uint64(len(item.Payload)),
			}, string(item.Payload)})
		}
		if h.RequestID != uint64(j.RequestID) || !reflect.DeepEqual(items, want) {
			t.Errorf("request %d, items %+v\nwant    %d, items %+v", h.RequestID, items, j.RequestID, want)
		}
		got, err := appendFetchStream(h, want, descending)
		v.wantBytes(t, got, err)
		for i := range b {
			_, part, err := consumeFetchStream(b[:i:i], descending)
			if err != nil && err != ErrTruncated {
				t.Errorf("first %d bytes: %v", i, err)
			}
			if len(part) > len(want) || len(part) > 0 && !reflect.DeepEqual(part, want[:len(part)]) {
				t.Errorf("first %d bytes give items %+v", i, part)
			}
		}
	})
}

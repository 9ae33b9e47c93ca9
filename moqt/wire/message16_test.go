package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
)

// hex16 decodes hex in which spaces and quoted text may stand.
func hex16(t testing.TB, s string) []byte {
	t.Helper()
	var b []byte
	for i, part := range strings.Split(s, `"`) {
		if i%2 == 1 {
			b = append(b, part...)
			continue
		}
		d, err := hex.DecodeString(strings.ReplaceAll(part, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, d...)
	}
	return b
}

var demo16 = MustNamespace("demo")

// Messages of draft-16. Those of @moq/net were seen on the wire; the others are written by hand from
// [MOQT-16] Section 9, Control Messages.
var messages16 = []struct {
	name string
	hex  string
	want Message16
}{
	{"CLIENT_SETUP of @moq/net 0.3.4", `20 0018 03 02 8000a455 05 0b "moq-lite-js" 80040b53 01`, Message16{
		Type: MsgClientSetup, Message: &Setup{
			Implementation: Some("moq-lite-js"), Other: []Property{{Type: SetupMaxRequestID, Uint: 42069}, {Type: 0x40b5a, Uint: 1}},
		},
	}},
	{"SUBSCRIBE of @moq/net 0.3.4", `03 002a 04 02 04 "demo" 0a "alice.hang" 0c "catalog.json" 04 1001 10409b 010102 0102`, Message16{
		Type: MsgSubscribe, RequestID: 4, Message: &Subscribe{
			RequestID: 4, Track: FullTrackName{Namespace: MustNamespace("demo", "alice.hang"), Name: "catalog.json"},
			Params: Params{
				Forward: Some(true), SubscriberPriority: Some(uint8(155)), Filter: Some(Filter{Type: FilterLargestObject}),
				GroupOrder: Some(GroupOrderDescending),
			},
		},
	}},
	{"SUBSCRIBE_NAMESPACE of @moq/net 0.3.4", `11 0009 00 01 04 "demo" 01 00`, Message16{
		Type: MsgSubscribeNamespace16, Options: OptionNamespace, Message: &SubscribeNamespace{Prefix: demo16},
	}},
	{"SERVER_SETUP", `21 0003 01 02 20`, Message16{Type: MsgServerSetup, Message: &Setup{Other: []Property{{Type: 2, Uint: 32}}}}},
	{"SUBSCRIBE_NAMESPACE for tracks", `11 000b 02 01 04 "demo" 00 01 10 00`, Message16{
		Type: MsgSubscribeNamespace16, RequestID: 2, Options: OptionPublish,
		Message: &SubscribeTracks{RequestID: 2, Prefix: demo16, Params: Params{Forward: Some(false)}},
	}},
	{"SUBSCRIBE with a range", `03 0012 00 01 04 "demo" 01 "v" 01 21 06 04 4064 00 4065`, Message16{
		Type: MsgSubscribe, Message: &Subscribe{
			Track:  FullTrackName{Namespace: demo16, Name: "v"},
			Params: Params{Filter: Some(Filter{Type: FilterAbsoluteRange, Start: Location{Group: 100}, EndGroup: 101})},
		},
	}},
	{"SUBSCRIBE_OK", `04 000c 4040 07 02 08 40c8 01 03 4040 3f`, Message16{
		Type: MsgSubscribeOK, RequestID: 64, Message: &SubscribeOK{
			TrackAlias: 7, Params: Params{Expires: Some(Millis(200)), LargestObject: Some(Location{64, 63})},
		},
	}},
	{"REQUEST_UPDATE", `02 0005 06 04 01 20 05`, Message16{
		Type: MsgRequestUpdate, RequestID: 6, Existing: 4,
		Message: &RequestUpdate{RequestID: 6, Params: Params{SubscriberPriority: Some(uint8(5))}},
	}},
	{"PUBLISH", `1d 000e 03 01 04 "demo" 01 "v" 05 00 04 7b80`, Message16{
		Type: MsgPublish, RequestID: 3, Message: &Publish{
			RequestID: 3, Track: FullTrackName{Namespace: demo16, Name: "v"}, TrackAlias: 5,
			Properties: Properties{0x04, 0xbb, 0x80}, // the same integer, 15232, as later drafts write it
		},
	}},
	{"PUBLISH_OK", `1e 0004 02 01 10 00`, Message16{
		Type: MsgPublishOK, RequestID: 2, Message: &RequestOK{Params: Params{Forward: Some(false)}},
	}},
	// EXPIRED and TOO_FAR_BEHIND have each other's numbers: [MOQT-16] Section 14.6.3, PUBLISH_DONE Codes
	{"PUBLISH_DONE", `0b 000e 02 06 ffffffffffffffff 03 "bye"`, Message16{
		Type: MsgPublishDone, RequestID: 2, Message: &PublishDone{Status: DoneTooFarBehind, StreamCount: 1<<62 - 1, Reason: "bye"},
	}},
	{"FETCH", `16 000f 08 01 01 04 "demo" 01 "v" 05 00 09 00 00`, Message16{
		Type: MsgFetch, RequestID: 8, Message: &Fetch{
			RequestID: 8, FetchType: FetchStandalone, Track: FullTrackName{Namespace: demo16, Name: "v"},
			Start: Location{Group: 5}, End: Location{Group: 9},
		},
	}},
	{"joining FETCH", `16 0005 08 02 04 03 00`, Message16{
		Type: MsgFetch, RequestID: 8, Message: &Fetch{RequestID: 8, FetchType: FetchRelativeJoining, JoiningRequestID: 4, JoiningStart: 3},
	}},
	{"FETCH_OK", `18 0006 08 01 09 4041 00`, Message16{
		Type: MsgFetchOK, RequestID: 8, Message: &FetchOK{EndOfTrack: true, End: Location{9, 65}},
	}},
	{"TRACK_STATUS", `0d 000a 0a 01 04 "demo" 01 "v" 00`, Message16{
		Type: MsgTrackStatus, RequestID: 10, Message: &TrackStatus{RequestID: 10, Track: FullTrackName{Namespace: demo16, Name: "v"}},
	}},
	{"PUBLISH_NAMESPACE", `06 0008 0c 01 04 "demo" 00`, Message16{
		Type: MsgPublishNamespace, RequestID: 12, Message: &PublishNamespace{RequestID: 12, Namespace: demo16},
	}},
	{"REQUEST_OK", `07 0002 0c 00`, Message16{Type: MsgRequestOK, RequestID: 12, Message: &RequestOK{}}},
	{"REQUEST_ERROR", `05 0007 0c 10 4065 02 "no"`, Message16{
		Type: MsgRequestError, RequestID: 12, Message: &RequestError{Code: RequestDoesNotExist, Retry: Some(Millis(100)), Reason: "no"},
	}},
	{"NAMESPACE", `08 0005 01 03 "bob"`, Message16{Type: MsgNamespace, Message: &NamespaceAdded{Suffix: MustNamespace("bob")}}},
	{"NAMESPACE_DONE", `0e 0005 01 03 "bob"`, Message16{Type: MsgNamespaceDone, Message: &NamespaceDone{Suffix: MustNamespace("bob")}}},
	{"UNSUBSCRIBE", `0a 0001 04`, Message16{Type: MsgUnsubscribe, RequestID: 4}},
	{"FETCH_CANCEL", `17 0001 08`, Message16{Type: MsgFetchCancel, RequestID: 8}},
	{"PUBLISH_NAMESPACE_DONE", `09 0001 0c`, Message16{Type: MsgPublishNamespaceDone, RequestID: 12}},
	{"PUBLISH_NAMESPACE_CANCEL", `0c 0005 0c 01 02 "no"`, Message16{
		Type: MsgPublishNamespaceCancel, RequestID: 12, Code: RequestUnauthorized, Reason: "no",
	}},
	{"MAX_REQUEST_ID", `15 0002 4064`, Message16{Type: MsgMaxRequestID, Max: 100}},
	{"REQUESTS_BLOCKED", `1a 0002 4064`, Message16{Type: MsgRequestsBlocked, Max: 100}},
	{"GOAWAY", `10 000a 09 "moqt://x/"`, Message16{Type: MsgGoAway, Message: &GoAway{NewSessionURI: "moqt://x/"}}},
}

func TestMessages16(t *testing.T) {
	for _, tc := range messages16 {
		t.Run(tc.name, func(t *testing.T) {
			b := hex16(t, tc.hex)
			typ, body, n, err := ConsumeFrame(b, Draft16)
			if err != nil || n != len(b) {
				t.Fatalf("%d of %d bytes, %v", n, len(b), err)
			}
			m, err := ParseMessage16(typ, body)
			if err != nil || !reflect.DeepEqual(*m, tc.want) {
				t.Fatalf("got %+v %+v, %v", m, m.Message, err)
			}
			got, err := AppendMessage16([]byte("before"), m)
			if err != nil || !bytes.Equal(got, append([]byte("before"), b...)) {
				t.Errorf("got %x, %v", got, err)
			}
			for i := range body {
				if _, err := ParseMessage16(typ, body[:i]); err == nil && !bytes.Equal(body[:i], body) && typ != MsgPublish {
					t.Errorf("cut after %d bytes: no error", i)
				}
			}
		})
	}
}

// "If it appears in some other type of message, it MUST be ignored."
// [MOQT-16] Section 9.2.2, Message Parameters
func TestMisplacedParameter16(t *testing.T) {
	b := hex16(t, `06 000a 0c 01 04 "demo" 01 20 05`)
	m, err := ParseMessage16(MsgPublishNamespace, b[3:])
	if err != nil || m.Message.(*PublishNamespace).Params.set() != 0 {
		t.Errorf("got %+v, %v", m, err)
	}
}

// Codes that draft-16 does not have become what is nearest.
func TestCodes16(t *testing.T) {
	for c := range RequestCode(0x40) {
		m := &Message16{Type: MsgRequestError, Message: &RequestError{Code: c}}
		if c == RequestRedirect {
			m.Message.(*RequestError).Redirect = &Redirect{}
		}
		b, err := AppendMessage16(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseMessage16(MsgRequestError, b[3:])
		if err != nil {
			t.Fatal(err)
		}
		want := c
		switch c {
		case RequestGoingAway, RequestExcessiveLoad, RequestNamespaceTooLarge, RequestConflictingFilters, RequestInvalidFilter:
			want = RequestInternalError
		case RequestUnsupportedExtension:
			want = RequestNotSupported
		case RequestRedirect:
			want = RequestDoesNotExist
		}
		if e := got.Message.(*RequestError); e.Code != want {
			t.Errorf("%v became %v, want %v", c, e.Code, want)
		}
	}
	for c, want := range map[StreamCode]uint64{
		StreamInternalError: 0, StreamCancelled: 1, StreamDeliveryTimeout: 2, StreamSessionClosed: 3, StreamUnknownObjectStatus: 4,
		StreamMalformedTrack: 0x12, StreamGoingAway: 1, StreamTooFarBehind: 1, StreamExpiredAuthToken: 1, StreamExcessiveLoad: 1,
	} {
		if got := StreamCodeTo16(c); got != want {
			t.Errorf("%v became %#x, want %#x", c, got, want)
		}
	}
	if StreamCodeFrom16(4) != StreamUnknownObjectStatus || StreamCodeFrom16(2) != StreamDeliveryTimeout {
		t.Error("codes from draft-16")
	}
}

func TestTranscodeProperties(t *testing.T) {
	immutable, _ := AppendProperties(nil, []Property{{Type: 2, Uint: 300}, {Type: 5, Bytes: []byte("x")}}, Draft18)
	list := []Property{{Type: 2, Uint: 63}, {Type: 4, Uint: 64}, {Type: PropertyImmutable, Bytes: immutable}, {Type: 0x4002, Uint: 1<<62 - 1}}
	p, err := AppendProperties(nil, list, Draft18)
	if err != nil {
		t.Fatal(err)
	}
	q, err := TranscodeProperties(p, Draft18, Draft16)
	if want := hex16(t, `02 3f 02 4040 07 06 02 412c 03 01 "x" 7ff7 ffffffffffffffff`); err != nil || !bytes.Equal(q, want) {
		t.Errorf("got %x, %v, want %x", q, err, want)
	}
	if back, err := TranscodeProperties(q, Draft16, Draft18); err != nil || !bytes.Equal(back, p) {
		t.Errorf("got %x, %v, want %x", back, err, p)
	}
	if same, _ := TranscodeProperties(p, Draft18, Draft19); &same[0] != &p[0] {
		t.Error("copied for nothing")
	}
	for name, list := range map[string][]Property{
		"value": {{Type: 2, Uint: 1 << 62}}, "type": {{Type: 1 << 63, Uint: 1}},
	} {
		p, _ := AppendProperties(nil, list, Draft18)
		if _, err := TranscodeProperties(p, Draft18, Draft16); !errors.Is(err, ErrInvalidValue) {
			t.Errorf("%s that does not fit: %v", name, err)
		}
	}
	broken, _ := AppendProperties(nil, []Property{{Type: PropertyImmutable, Bytes: []byte{0x02}}}, Draft18)
	if q, err := TranscodeProperties(broken, Draft18, Draft16); err != nil || !bytes.Equal(q, broken) {
		t.Errorf("what cannot be read is to be passed on: %x, %v", q, err)
	}
	if _, err := TranscodeProperties(Properties{0x03, 0x05}, Draft18, Draft16); err == nil {
		t.Error("no list of properties, no error")
	}
}

// [MOQT-16] Section 1.4.1; RFC 9000, Appendix A.1
func TestQUICVarint(t *testing.T) {
	for hexBytes, want := range map[string]uint64{
		"c2197c5eff14e88c": 151288809941952652, "9d7f3e7d": 494878333, "7bbd": 15293, "25": 37,
	} {
		b := hex16(t, hexBytes)
		if x, n, err := consumeQUICVarint(b); x != want || n != len(b) || err != nil {
			t.Errorf("%s is %d, %d bytes, %v", hexBytes, x, n, err)
		}
		if got := appendQUICVarint(nil, want); !bytes.Equal(got, b) {
			t.Errorf("%d is %x, want %s", want, got, hexBytes)
		}
		if _, _, err := consumeQUICVarint(b[:len(b)-1]); err != ErrTruncated {
			t.Errorf("cut: %v", err)
		}
	}
	if x, n, err := consumeQUICVarint([]byte{0x40, 0x25}); x != 37 || n != 2 || err != nil {
		t.Errorf("not the shortest: %d, %d, %v", x, n, err)
	}
	if x, _, _ := consumeQUICVarint(appendQUICVarint(nil, math.MaxUint64)); x != maxQUICVarint {
		t.Errorf("the largest is %d", x)
	}
}

// FuzzMessage16 checks that what is read can be written again, in both drafts.
func FuzzMessage16(f *testing.F) {
	for _, tc := range messages16 {
		f.Add(hex16(f, tc.hex))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		typ, body, _, err := ConsumeFrame(b, Draft16)
		if err != nil {
			return
		}
		m, err := ParseMessage16(typ, body)
		if err != nil {
			return
		}
		again, err := AppendMessage16(nil, m)
		if err != nil {
			return // the peer may say what must not be said
		}
		typ2, body2, _, err := ConsumeFrame(again, Draft16)
		if err != nil || typ2 != typ {
			t.Fatalf("%x: %v", again, err)
		}
		m2, err := ParseMessage16(typ2, body2)
		if err != nil || !reflect.DeepEqual(m, m2) {
			t.Fatalf("%+v %+v\n%+v %+v, %v", m, m.Message, m2, m2.Message, err)
		}
		if m.Message != nil {
			if _, err := AppendMessage(nil, m.Message, Draft18); err != nil && !errors.Is(err, ErrInvalidValue) {
				t.Fatal(err)
			}
		}
	})
}

// FuzzFetchStream16 reads objects of a fetch stream in draft-16, writes them in draft-18 and reads that again.
func FuzzFetchStream16(f *testing.F) {
	f.Add(hex16(f, `1c 02 03 01 00 04 07 00 08 04 00`), false)
	f.Add(hex16(f, `1f 4064 05 4065 01 00 400c 4164 4190 06 00 408c 01 02`), true)
	f.Fuzz(func(t *testing.T, b []byte, descending bool) {
		in := FetchCursor{Descending: descending}
		out, again := in, in
		for range 100 {
			item, n, err := in.Consume(b, Draft16)
			if err != nil || item.PayloadLen > uint64(len(b)-n) {
				return
			}
			b = b[n+int(item.PayloadLen):]
			if item.Properties, err = TranscodeProperties(item.Properties, Draft16, Draft18); err != nil {
				return
			}
			enc, err := out.Append(nil, &item, Draft18)
			if err != nil {
				return // out of order, or too large
			}
			got, n, err := again.Consume(enc, Draft18)
			if err != nil || n != len(enc) || !reflect.DeepEqual(got, item) {
				t.Fatalf("%+v became %+v, %v", item, got, err)
			}
		}
	})
}

// "If it appears in some other type of message, it MUST be ignored." [MOQT-16] Section 9.2.2, Message Parameters
func TestMisplacedParametersOfAnAnswer(t *testing.T) {
	answer := func() *RequestOK {
		return &RequestOK{Params: Params{LargestObject: Some(Location{Group: 4, Object: 1}), GroupOrder: Some(GroupOrderAscending)}}
	}
	m := answer()
	if err := m.Check(MsgTrackStatus, Draft16); err != nil || m.Params.GroupOrder.IsSet() || !m.Params.LargestObject.IsSet() {
		t.Errorf("draft-16: %v, %+v", err, m.Params)
	}
	if err := answer().Check(MsgTrackStatus, Draft18); err == nil {
		t.Error("draft-18: it was accepted")
	}
}

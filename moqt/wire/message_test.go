package wire

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMessageTypes(t *testing.T) {
	// [MOQT-18] Section 10, Control Messages: the table, with the column "Stream".
	table := map[MessageType]struct {
		name  string
		first bool
	}{
		0x2f00: {"SETUP", false},
		0x10:   {"GOAWAY", false},
		0x3:    {"SUBSCRIBE", true},
		0x4:    {"SUBSCRIBE_OK", false},
		0x1d:   {"PUBLISH", true},
		0x1e:   {"PUBLISH_OK", false},
		0xb:    {"PUBLISH_DONE", false},
		0x16:   {"FETCH", true},
		0x18:   {"FETCH_OK", false},
		0xd:    {"TRACK_STATUS", true},
		0x6:    {"PUBLISH_NAMESPACE", true},
		0x50:   {"SUBSCRIBE_NAMESPACE", true},
		0x51:   {"SUBSCRIBE_TRACKS", true},
		0x8:    {"NAMESPACE", false},
		0xe:    {"NAMESPACE_DONE", false},
		0xf:    {"PUBLISH_BLOCKED", false},
		0x2:    {"REQUEST_UPDATE", false},
		0x7:    {"REQUEST_OK", false},
		0x5:    {"REQUEST_ERROR", false},
	}
	for typ := range MessageType(0x3000) {
		want, known := table[typ]
		if typ.Known() != known || typ.OpensRequest() != want.first {
			t.Errorf("%v: known %v, opens a request %v", typ, typ.Known(), typ.OpensRequest())
		}
		m := newMessage(typ)
		if (m != nil) != known {
			t.Errorf("%v: message %T", typ, m)
		}
		if !known {
			continue
		}
		if typ.String() != want.name {
			t.Errorf("%#x is %v, want %s", uint64(typ), typ, want.name)
		}
		if m.Type() != typ && typ != MsgPublishOK {
			t.Errorf("message of type %v says %v", typ, m.Type())
		}
	}
	if s := MessageType(0x20).String(); s != "0x20" {
		t.Errorf("unknown type is %s", s)
	}
}

// What must not be sent is refused before a byte of it is appended.
func TestAppendMessageRefuses(t *testing.T) {
	long := FullTrackName{Namespace: MustNamespace(strings.Repeat("x", 4096)), Name: "y"}
	for name, m := range map[string]Message{
		"parameter of another message": &Subscribe{Params: Params{Expires: Some(Millis(1))}},
		"bad token":                    &Subscribe{Params: Params{AuthTokens: []Token{{AliasType: 4}}}},
		"bad filter type":              &Subscribe{Params: Params{Filter: Some(Filter{})}},
		"filter that ends too early":   &Subscribe{Params: Params{Filter: Some(Filter{Type: FilterAbsoluteRange, Start: Location{Group: 5}, EndGroup: 4})}},
		"bad group order":              &Subscribe{Params: Params{GroupOrder: Some(GroupOrder(3))}},
		"long name":                    &Subscribe{Track: long},
		"long name in PUBLISH":         &Publish{Track: long},
		"long name in FETCH":           &Fetch{FetchType: FetchStandalone, Track: long, End: Location{Group: 1}},
		"long name in TRACK_STATUS":    &TrackStatus{Track: long},
		"long name in PUBLISH_BLOCKED": &PublishBlocked{Track: long},
		"long name in a redirect":      &RequestError{Code: RequestRedirect, Redirect: &Redirect{Track: long}},
		"long URI in a redirect":       &RequestError{Code: RequestRedirect, Redirect: &Redirect{ConnectURI: strings.Repeat("x", 8193)}},
		"long URI":                     &GoAway{NewSessionURI: strings.Repeat("x", 8193)},
		"bad fetch type":               &Fetch{},
		"empty fetch":                  &Fetch{FetchType: FetchStandalone, Start: Location{5, 3}, End: Location{5, 3}},
		"REDIRECT without redirect":    &RequestError{Code: RequestRedirect},
		"redirect without REDIRECT":    &RequestError{Redirect: &Redirect{}},
		"alias in SETUP":               &Setup{AuthTokens: []Token{{AliasType: TokenUseAlias}}},
		"bad token in SETUP":           &Setup{AuthTokens: []Token{{AliasType: 9}}},
		"large path":                   &Setup{Path: Some(strings.Repeat("/", math.MaxUint16+1))},
		"large message":                &SubscribeOK{Properties: make(Properties, math.MaxUint16)},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := AppendMessage([]byte("before"), m, Draft18)
			if !errors.Is(err, ErrInvalidValue) {
				t.Errorf("error %v, want ErrInvalidValue", err)
			}
			if string(b) != "before" {
				t.Errorf("appended %x", b)
			}
		})
	}
}

func TestAppendMessageLargest(t *testing.T) {
	m := &SubscribeOK{Properties: make(Properties, MaxMessageLen-2)} // type 0, value 0, many times
	b, err := AppendMessage(nil, m, Draft18)
	if err != nil {
		t.Fatal(err)
	}
	typ, body, n, err := ConsumeFrame(b, Draft18)
	if typ != MsgSubscribeOK || len(body) != MaxMessageLen || n != len(b) || err != nil {
		t.Errorf("type %v, body of %d bytes, consumed %d of %d, error %v", typ, len(body), n, len(b), err)
	}
}

// What is as long as it may be is sent and received.
func TestURIsAtTheLimit(t *testing.T) {
	uri := strings.Repeat("x", MaxURILen)
	for _, m := range []Message{
		&GoAway{NewSessionURI: uri},
		&RequestError{Code: RequestRedirect, Redirect: &Redirect{ConnectURI: uri}},
	} {
		wantRoundTrip(t, m, MaxMessageLen)
	}
}

// "If the publisher is unable to set Stream Count to the exact number of streams
// opened for the subscription, it MUST set Stream Count to 2^62 - 1."
// [MOQT-18] Section 10.11, PUBLISH_DONE
func TestStreamCountUnknown(t *testing.T) {
	if StreamCountUnknown != uint64(0x3fffffffffffffff) {
		t.Errorf("StreamCountUnknown is %#x", uint64(StreamCountUnknown))
	}
}

// The session reads into a buffer it uses again.
func TestParseMessageKeepsNoReference(t *testing.T) {
	eachVector(t, "message", func(t *testing.T, v vector) {
		if v.Error != "" {
			return // not a message
		}
		typ, body, _, err := ConsumeFrame(v.bytes(t), Draft18)
		if err != nil {
			t.Fatal(err)
		}
		want, err := ParseMessage(typ, bytes.Clone(body), Draft18)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseMessage(typ, body, Draft18)
		if err != nil {
			t.Fatal(err)
		}
		for i := range body {
			body[i] = 0xee
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("after the body was overwritten: %+v\nwant %+v", got, want)
		}
	})
}

// A malformed track is no reason to close the session, so the message is needed to
// answer it.
func TestParseMessageMalformedTrack(t *testing.T) {
	body := []byte{0x07, 0x00, 0x0b, 0x02, 0x0b, 0x00} // alias 7, immutable properties inside themselves
	m, err := ParseMessage(MsgSubscribeOK, body, Draft18)
	if !errors.Is(err, ErrMalformedTrack) {
		t.Fatalf("error %v", err)
	}
	var e *Error
	if errors.As(err, &e) {
		t.Errorf("error %v closes the session", err)
	}
	if ok, _ := m.(*SubscribeOK); ok == nil || ok.TrackAlias != 7 {
		t.Errorf("message %+v", m)
	}
}

func TestReasonIsCut(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int
	}{
		{strings.Repeat("x", 1024), 1024},
		{strings.Repeat("x", 1025), 1024},
		{strings.Repeat("x", 1023) + "é", 1023},
		{strings.Repeat("x", 1022) + "é", 1024},
		{strings.Repeat("x", 1021) + "😀", 1021},
		{strings.Repeat("\x80", 2000), 1020}, // not UTF-8: cut somewhere near
	} {
		b, err := AppendMessage(nil, &PublishDone{Reason: tt.in}, Draft18)
		if err != nil {
			t.Fatal(err)
		}
		_, body, _, err := ConsumeFrame(b, Draft18)
		if err != nil {
			t.Fatal(err)
		}
		m, err := ParseMessage(MsgPublishDone, body, Draft18)
		if err != nil {
			t.Fatal(err)
		}
		got := m.(*PublishDone).Reason
		if len(got) != tt.want || !strings.HasPrefix(tt.in, got) || utf8.ValidString(tt.in) != utf8.ValidString(got) {
			t.Errorf("reason of %d bytes is sent as %d bytes, want %d", len(tt.in), len(got), tt.want)
		}
	}
}

func TestRetryLimits(t *testing.T) {
	for _, tt := range []struct {
		retry Opt[Millis]
		wire  uint64
	}{
		{Opt[Millis]{}, 0},
		{Some(Millis(0)), 1},
		{Some(Millis(math.MaxUint64 - 1)), math.MaxUint64},
		{Some(Millis(math.MaxUint64)), math.MaxUint64},
	} {
		if got := appendedRetry(tt.retry); got != tt.wire {
			t.Errorf("retry %v is sent as %d, want %d", tt.retry, got, tt.wire)
		}
	}
}

func TestConsumeFrameHeader(t *testing.T) {
	b := []byte{0x03, 0x01, 0x02, 0xff}
	typ, size, n, err := ConsumeFrameHeader(b, Draft18)
	if typ != MsgSubscribe || size != 0x102 || n != 3 || err != nil {
		t.Errorf("type %v, size %d, n %d, error %v", typ, size, n, err)
	}
	wantTruncated(t, b[:3], func(b []byte) error {
		_, _, _, err := ConsumeFrameHeader(b, Draft18)
		return err
	})
	if _, _, _, err := ConsumeFrameHeader([]byte{0x21}, Draft18); errorName(err) != "PROTOCOL_VIOLATION" {
		t.Errorf("unknown type: error %v", err)
	}
}

func TestErrorText(t *testing.T) {
	err := violation("it is wrong")
	if err.Error() != "wire: PROTOCOL_VIOLATION: it is wrong" {
		t.Errorf("got %q", err.Error())
	}
}

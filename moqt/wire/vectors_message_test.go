package wire

import (
	"reflect"
	"strconv"
	"testing"
)

// jParams are the parameters of a message in vectors.json.
type jParams struct {
	ObjectDeliveryTimeout   *jUint      `json:"object_delivery_timeout"`
	AuthTokens              []jToken    `json:"auth_tokens"`
	RendezvousTimeout       *jUint      `json:"rendezvous_timeout"`
	SubgroupDeliveryTimeout *jUint      `json:"subgroup_delivery_timeout"`
	Expires                 *jUint      `json:"expires"`
	LargestObject           *jLocation  `json:"largest_object"`
	FillTimeout             *jUint      `json:"fill_timeout"`
	Forward                 *bool       `json:"forward"`
	SubscriberPriority      *uint8      `json:"subscriber_priority"`
	Filter                  *jFilter    `json:"filter"`
	GroupOrder              string      `json:"group_order"`
	NewGroupRequest         *jUint      `json:"new_group_request"`
	TrackNamespacePrefix    *jNamespace `json:"track_namespace_prefix"`
}

func (x *jParams) wire(t testing.TB) Params {
	t.Helper()
	p := Params{
		ObjectDeliveryTimeout:   optMillis(x.ObjectDeliveryTimeout),
		RendezvousTimeout:       optMillis(x.RendezvousTimeout),
		SubgroupDeliveryTimeout: optMillis(x.SubgroupDeliveryTimeout),
		Expires:                 optMillis(x.Expires),
		LargestObject:           optLocation(x.LargestObject),
		FillTimeout:             optMillis(x.FillTimeout),
		Forward:                 optBool(x.Forward),
		SubscriberPriority:      optUint8(x.SubscriberPriority),
		NewGroupRequest:         optUint(x.NewGroupRequest),
		AuthTokens:              tokens(t, x.AuthTokens),
	}
	if x.Filter != nil {
		p.Filter = Some(x.Filter.wire(t))
	}
	if x.GroupOrder != "" {
		p.GroupOrder = Some(groupOrder(t, x.GroupOrder))
	}
	if x.TrackNamespacePrefix != nil {
		p.TrackNamespacePrefix = Some(x.TrackNamespacePrefix.wire(t))
	}
	return p
}

func tokens(t testing.TB, list []jToken) []Token {
	t.Helper()
	var ts []Token
	for _, x := range list {
		ts = append(ts, x.wire(t))
	}
	return ts
}

// jMessage has the fields of all messages in vectors.json.
type jMessage struct {
	Type                  string
	RequestID             *jUint `json:"request_id"`
	Namespace             jNamespace
	Name                  jBytes
	Prefix                jNamespace
	Suffix                jNamespace
	TrackAlias            jUint `json:"track_alias"`
	Params                jParams
	Properties            []jProperty
	Path                  *jBytes
	Authority             *jBytes
	Implementation        *jBytes
	AuthTokens            []jToken `json:"auth_tokens"`
	MaxAuthTokenCacheSize *jUint   `json:"max_auth_token_cache_size"`
	Other                 []jProperty
	NewSessionURI         jBytes `json:"new_session_uri"`
	Timeout               jUint
	Status                string
	StreamCount           jUint `json:"stream_count"`
	Reason                string
	FetchType             string `json:"fetch_type"`
	Start                 jLocation
	End                   jLocation
	JoiningRequestID      jUint `json:"joining_request_id"`
	JoiningStart          jUint `json:"joining_start"`
	EndOfTrack            bool  `json:"end_of_track"`
	Code                  string
	Retry                 *jUint
	Redirect              *struct {
		ConnectURI jBytes `json:"connect_uri"`
		Namespace  jNamespace
		Name       jBytes
	}
}

func (x *jMessage) track(t testing.TB) FullTrackName {
	return FullTrackName{Namespace: x.Namespace.wire(t), Name: string(x.Name)}
}

// wire returns the message. codes are the code tables of the file.
func (x *jMessage) wire(t testing.TB, codes map[string]map[string]uint64) Message {
	t.Helper()
	id, props, params := optUint(x.RequestID).Or(0), properties(t, x.Properties), x.Params.wire(t)
	switch x.Type {
	case "SETUP":
		return &Setup{
			Path: optString(x.Path), Authority: optString(x.Authority), Implementation: optString(x.Implementation),
			AuthTokens: tokens(t, x.AuthTokens), MaxAuthTokenCacheSize: optUint(x.MaxAuthTokenCacheSize), Other: propertyList(x.Other),
		}
	case "GOAWAY":
		return &GoAway{NewSessionURI: string(x.NewSessionURI), Timeout: Millis(x.Timeout), RequestID: optUint(x.RequestID)}
	case "SUBSCRIBE":
		return &Subscribe{RequestID: id, Track: x.track(t), Params: params}
	case "SUBSCRIBE_OK":
		return &SubscribeOK{TrackAlias: uint64(x.TrackAlias), Params: params, Properties: props}
	case "PUBLISH":
		return &Publish{RequestID: id, Track: x.track(t), TrackAlias: uint64(x.TrackAlias), Params: params, Properties: props}
	case "PUBLISH_DONE":
		return &PublishDone{Status: DoneCode(code(t, codes["publish_done"], x.Status)), StreamCount: uint64(x.StreamCount), Reason: x.Reason}
	case "FETCH":
		m := &Fetch{
			RequestID: id, Track: x.track(t), Start: Location(x.Start), End: Location(x.End),
			JoiningRequestID: uint64(x.JoiningRequestID), JoiningStart: uint64(x.JoiningStart), Params: params,
		}
		for m.FetchType.String() != x.FetchType {
			if m.FetchType++; m.FetchType > FetchAbsoluteJoining {
				t.Fatalf("no fetch type %q", x.FetchType)
			}
		}
		return m
	case "FETCH_OK":
		return &FetchOK{EndOfTrack: x.EndOfTrack, End: Location(x.End), Params: params, Properties: props}
	case "TRACK_STATUS":
		return &TrackStatus{RequestID: id, Track: x.track(t), Params: params}
	case "PUBLISH_NAMESPACE":
		return &PublishNamespace{RequestID: id, Namespace: x.Namespace.wire(t), Params: params}
	case "SUBSCRIBE_NAMESPACE":
		return &SubscribeNamespace{RequestID: id, Prefix: x.Prefix.wire(t), Params: params}
	case "SUBSCRIBE_TRACKS":
		return &SubscribeTracks{RequestID: id, Prefix: x.Prefix.wire(t), Params: params}
	case "NAMESPACE":
		return &NamespaceAdded{Suffix: x.Suffix.wire(t)}
	case "NAMESPACE_DONE":
		return &NamespaceDone{Suffix: x.Suffix.wire(t)}
	case "PUBLISH_BLOCKED":
		return &PublishBlocked{Track: x.track(t)}
	case "REQUEST_UPDATE":
		return &RequestUpdate{RequestID: id, Params: params}
	case "REQUEST_OK":
		return &RequestOK{Params: params, Properties: props}
	case "REQUEST_ERROR":
		m := &RequestError{Code: RequestCode(code(t, codes["request"], x.Code)), Retry: optMillis(x.Retry), Reason: x.Reason}
		if r := x.Redirect; r != nil {
			m.Redirect = &Redirect{
				ConnectURI: string(r.ConnectURI),
				Track:      FullTrackName{Namespace: r.Namespace.wire(t), Name: string(r.Name)},
			}
		}
		return m
	default:
		t.Fatalf("no message type %q", x.Type)
		return nil
	}
}

// code returns the number of a code that is a name in table, or hex.
func code(t testing.TB, table map[string]uint64, s string) uint64 {
	t.Helper()
	if c, ok := table[s]; ok {
		return c
	}
	c, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		t.Fatalf("no code %q", s)
	}
	return c
}

// messageType returns the type with the given name.
func messageType(t testing.TB, name string) MessageType {
	t.Helper()
	for typ := range MsgSetup + 1 {
		if typ.Known() && typ.String() == name {
			return typ
		}
	}
	t.Fatalf("no message type %q", name)
	return 0
}

// check applies the context of a vector to a message.
func (c *jContext) check(t testing.TB, m Message) error {
	t.Helper()
	atServer := c.At == "server"
	switch m := m.(type) {
	case *Setup:
		if c.Transport != "" {
			return m.Check(atServer, c.Transport == "webtransport")
		}
	case *GoAway:
		if c.Stream != "" {
			return m.Check(c.Stream == "control", atServer, Draft18)
		}
	case *RequestOK:
		if c.Answers != "" {
			return m.Check(messageType(t, c.Answers), Draft18)
		}
	case *RequestError:
		if c.Answers != "" {
			return m.Check(messageType(t, c.Answers), atServer)
		}
	case *RequestUpdate:
		if c.Updates != "" {
			return m.Check(messageType(t, c.Updates))
		}
	case *FetchOK:
		if c.Start != nil {
			return m.Check(Location(*c.Start))
		}
	}
	return nil
}

func TestMessageVectors(t *testing.T) {
	codes := loadVectors(t).Codes
	eachVector(t, "message", func(t *testing.T, v vector) {
		b := v.bytes(t)
		typ, body, n, err := ConsumeFrame(b, Draft18)
		var m Message
		if err == nil {
			m, err = ParseMessage(typ, body, Draft18)
		}
		if err == nil {
			err = v.Context.check(t, m)
		}
		if v.failed(t, err) {
			return
		}
		if n != len(b) {
			t.Errorf("consumed %d bytes of %d", n, len(b))
		}
		var j jMessage
		v.value(t, &j)
		want := j.wire(t, codes)
		if !reflect.DeepEqual(m, want) {
			t.Errorf("parsed  %+v\nwant    %+v", m, want)
		}
		got, err := AppendMessage([]byte("before"), want, Draft18)
		v.wantBytes(t, got[len("before"):], err)
		if string(got[:len("before")]) != "before" {
			t.Error("bytes before the message were changed")
		}
		wantTruncated(t, b, func(b []byte) error {
			_, _, _, err := ConsumeFrame(b, Draft18)
			return err
		})
	})
}

// wantTruncated checks that consume asks for more on every beginning of b.
func wantTruncated(t *testing.T, b []byte, consume func(b []byte) error) {
	t.Helper()
	for i := range b {
		if err := consume(b[:i:i]); err != ErrTruncated {
			t.Errorf("first %d bytes: error %v, want ErrTruncated", i, err)
		}
	}
}

// A message ends where its body ends, so no body that is cut can be right, and none
// may be taken for one that continues.
func TestMessageVectorsCut(t *testing.T) {
	eachVector(t, "message", func(t *testing.T, v vector) {
		if v.Error != "" {
			return // not a message
		}
		typ, body, _, err := ConsumeFrame(v.bytes(t), Draft18)
		if err != nil {
			t.Fatal(err)
		}
		for i := range body {
			m, err := ParseMessage(typ, body[:i:i], Draft18)
			if err == nil && !endsEarly(m) {
				t.Errorf("first %d bytes of the body give %+v", i, m)
			}
			if errorName(err) == "TRUNCATED" {
				t.Errorf("first %d bytes of the body: ErrTruncated", i)
			}
		}
	})
}

// endsEarly reports whether a message may be one that was cut: its last field is
// optional or runs to the end.
func endsEarly(m Message) bool {
	switch m := m.(type) {
	case *Setup, *SubscribeOK, *Publish, *FetchOK, *RequestOK:
		return true
	case *GoAway:
		return !m.RequestID.IsSet()
	default:
		return false
	}
}

func TestSubscribeKVPVectors(t *testing.T) {
	codes := loadVectors(t).Codes
	eachVector(t, "subscribe_kvp", func(t *testing.T, v vector) {
		typ, body, _, err := ConsumeFrame(v.bytes(t), Draft18)
		if err != nil || typ != MsgSubscribe {
			t.Fatalf("type %v, error %v", typ, err)
		}
		m, err := ParseSubscribeKVP(body, Draft18)
		if v.failed(t, err) {
			return
		}
		var j jMessage
		v.value(t, &j)
		if want := j.wire(t, codes); !reflect.DeepEqual(Message(m), want) {
			t.Errorf("parsed %+v\nwant   %+v", m, want)
		}
		if _, err := ParseMessage(typ, body, Draft18); err == nil {
			t.Error("ParseMessage takes the message too; the two ways must be told apart")
		}
	})
}

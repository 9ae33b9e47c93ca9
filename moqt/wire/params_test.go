package wire

import (
	"testing"
)

// TestParamScopes asks for each parameter and each message whether the parameter is
// taken, against the "MAY appear in" of the parameter's definition.
//
// [MOQT-18] Sections 10.2.2 to 10.2.14
func TestParamScopes(t *testing.T) {
	const (
		sub, subOK, pub, pubOK = "SUBSCRIBE", "SUBSCRIBE_OK", "PUBLISH", "PUBLISH_OK"
		fetch, fetchOK         = "FETCH", "FETCH_OK"
		status, statusOK       = "TRACK_STATUS", "TRACK_STATUS_OK"
		pubNS, subNS, subTr    = "PUBLISH_NAMESPACE", "SUBSCRIBE_NAMESPACE", "SUBSCRIBE_TRACKS"
		nsOK                   = "..._NAMESPACE_OK"
		upSub, upFetch         = "REQUEST_UPDATE of SUBSCRIBE", "REQUEST_UPDATE of FETCH"
		upPubNS, upSubNS       = "REQUEST_UPDATE of PUBLISH_NAMESPACE", "REQUEST_UPDATE of SUBSCRIBE_NAMESPACE"
		upOK                   = "REQUEST_UPDATE_OK"
	)
	// How each message is made of parameters, and read.
	track := "\x00\x01\x01a\x01b" // request id, namespace, name
	parse := func(typ MessageType, before string) func(params string) error {
		return func(params string) error {
			_, err := ParseMessage(typ, []byte(before+params), Draft18)
			return err
		}
	}
	reply := func(to MessageType) func(params string) error {
		return func(params string) error {
			m, err := ParseMessage(MsgRequestOK, []byte(params), Draft18)
			if err != nil {
				return err
			}
			return m.(*RequestOK).Check(to, Draft18)
		}
	}
	update := func(of MessageType) func(params string) error {
		return func(params string) error {
			m, err := ParseMessage(MsgRequestUpdate, []byte("\x00"+params), Draft18)
			if err != nil {
				return err
			}
			return m.(*RequestUpdate).Check(of)
		}
	}
	messages := map[string]func(params string) error{
		sub:      parse(MsgSubscribe, track),
		subOK:    parse(MsgSubscribeOK, "\x00"),
		pub:      parse(MsgPublish, track+"\x00"),
		pubOK:    reply(MsgPublish),
		fetch:    parse(MsgFetch, "\x00\x02\x00\x00"),
		fetchOK:  parse(MsgFetchOK, "\x00\x00\x00"),
		status:   parse(MsgTrackStatus, track),
		statusOK: reply(MsgTrackStatus),
		pubNS:    parse(MsgPublishNamespace, "\x00\x00"),
		subNS:    parse(MsgSubscribeNamespace, "\x00\x00"),
		subTr:    parse(MsgSubscribeTracks, "\x00\x00"),
		nsOK:     reply(MsgSubscribeNamespace),
		upSub:    update(MsgSubscribe),
		upFetch:  update(MsgFetch),
		upPubNS:  update(MsgPublishNamespace),
		upSubNS:  update(MsgSubscribeNamespace),
		upOK:     reply(MsgRequestUpdate),
	}
	for _, tt := range []struct {
		typ   paramType
		value string
		may   []string
	}{
		{paramObjectDeliveryTimeout, "\x05", []string{pubOK, sub, upSub}},
		{paramAuthorizationToken, "\x02\x02\x07", []string{pub, sub, upSub, upFetch, upPubNS, upSubNS, subNS, subTr, pubNS, status, fetch}},
		{paramRendezvousTimeout, "\x05", []string{sub}},
		{paramSubgroupDeliveryTimeout, "\x05", []string{pubOK, sub, upSub}},
		// TRACK_STATUS_OK is not in the definition of EXPIRES, but in Section 10.14.
		{paramExpires, "\x05", []string{subOK, pub, pubOK, upOK, statusOK}},
		{paramLargestObject, "\x05\x06", []string{subOK, pub, upOK, statusOK}},
		{paramFillTimeout, "\x05", []string{fetch}},
		{paramForward, "\x01", []string{sub, upSub, pub, pubOK, subTr}},
		{paramSubscriberPriority, "\x05", []string{sub, fetch, upSub, upFetch, pubOK}},
		{paramSubscriptionFilter, "\x01\x02", []string{sub, pubOK, upSub}},
		{paramGroupOrder, "\x01", []string{sub, pubOK, fetch}},
		{paramNewGroupRequest, "\x05", []string{pubOK, sub, upSub}},
		{paramTrackNamespacePrefix, "\x01\x01a", []string{upSubNS}},
	} {
		may := make(map[string]bool)
		for _, m := range tt.may {
			may[m] = true
		}
		for name, read := range messages {
			err := read("\x01" + string(rune(tt.typ)) + tt.value)
			want := "PROTOCOL_VIOLATION"
			if may[name] {
				want = ""
			}
			if got := errorName(err); got != want {
				t.Errorf("%v in %s: error %q (%v), want %q", tt.typ, name, got, err, want)
			}
		}
	}
}

func TestParamNames(t *testing.T) {
	prev := paramType(0)
	for _, n := range paramNames {
		if n.typ <= prev {
			t.Errorf("%s is out of order", n.name)
		}
		prev = n.typ
	}
	// The bits of paramSet follow the same order.
	p := Params{
		ObjectDeliveryTimeout: Some(Millis(1)), TrackNamespacePrefix: Some(Namespace{}), Forward: Some(false), GroupOrder: Some(GroupOrderAscending),
		AuthTokens: []Token{{}},
	}
	const want = "OBJECT_DELIVERY_TIMEOUT, AUTHORIZATION_TOKEN, FORWARD, GROUP_ORDER, TRACK_NAMESPACE_PREFIX"
	if got := p.set().String(); got != want {
		t.Errorf("set is %q, want %q", got, want)
	}
	if got := paramType(0x99).String(); got != "0x99" {
		t.Errorf("unknown parameter is %q", got)
	}
}

func TestTokenCacheCost(t *testing.T) {
	// "The token size is calculated as 16 bytes + the size of the Token Value field ..."
	// [MOQT-18] Section 10.3.1.3, MAX_AUTH_TOKEN_CACHE_SIZE
	if got := (Token{AliasType: TokenRegister, Value: make([]byte, 5)}).CacheCost(); got != 21 {
		t.Errorf("cost %d, want 21", got)
	}
}

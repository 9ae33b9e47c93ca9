package wire

// Some peers negotiate draft-18 but write Message Parameters as key-value pairs,
// the way draft-16 did: the parity of the type decides, even types carry a varint
// and odd types a length and bytes. It shows in SUBSCRIBE, where a priority of 128
// or more takes two bytes instead of one. This file is all that knows about them.

// ParseSubscribeKVP reads the body of a SUBSCRIBE whose parameters are key-value
// pairs. It is for use only after [ParseMessage] has refused the body; if it
// succeeds, the body was used up exactly and the peer is one of those peers. Such
// a peer also reads parameters this way: LARGEST_OBJECT must not be sent to it,
// nor a priority above 127.
//
// It is as strict as ParseMessage otherwise: unknown, repeated and misplaced
// parameters are errors.
func ParseSubscribeKVP(body []byte, v Version) (*Subscribe, error) {
	r := bodyReader{b: body, v: v}
	m := &Subscribe{RequestID: r.varint(), Track: r.fullTrackName()}
	count := r.varint()
	var prev paramType
	for i := uint64(0); i < count && r.err == nil; i++ {
		kv, n, err := consumeProperty(r.b, uint64(prev), v)
		if err != nil {
			r.fail(err)
			break
		}
		typ := paramType(kv.Type)
		if i > 0 && typ == prev && typ != paramAuthorizationToken {
			r.fail(violation(typ.String() + " is repeated"))
			break
		}
		r.b = r.b[n:]
		prev = typ
		m.Params.setKVP(&r, kv)
	}
	if err := r.close("SUBSCRIBE with key-value parameters"); err != nil {
		return nil, err
	}
	return m, nil
}

// setKVP sets the parameter that kv is, if SUBSCRIBE may hold it.
func (p *Params) setKVP(r *bodyReader, kv Property) {
	switch paramType(kv.Type) {
	case paramObjectDeliveryTimeout:
		p.ObjectDeliveryTimeout = Some(Millis(kv.Uint))
	case paramAuthorizationToken:
		t, err := parseToken(kv.Bytes, r.v)
		if err != nil {
			r.fail(err)
		}
		p.AuthTokens = append(p.AuthTokens, t)
	case paramRendezvousTimeout:
		p.RendezvousTimeout = Some(Millis(kv.Uint))
	case paramSubgroupDeliveryTimeout:
		p.SubgroupDeliveryTimeout = Some(Millis(kv.Uint))
	case paramForward:
		p.setForward(r, kv.Uint)
	case paramSubscriberPriority:
		if kv.Uint > 255 {
			r.fail(violation("SUBSCRIBER_PRIORITY is above 255"))
		}
		p.SubscriberPriority = Some(uint8(kv.Uint))
	case paramSubscriptionFilter:
		f, err := parseFilter(kv.Bytes, r.v)
		if err != nil {
			r.fail(err)
		}
		p.Filter = Some(f)
	case paramGroupOrder:
		p.setGroupOrder(r, kv.Uint)
	case paramNewGroupRequest:
		p.NewGroupRequest = Some(kv.Uint)
	default:
		r.fail(violation("unknown or misplaced parameter " + paramType(kv.Type).String()))
	}
}

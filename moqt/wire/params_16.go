package wire

// Message Parameters of draft-16 are key-value pairs: the parity of the type decides whether the value is an integer or
// bytes.
//
// [MOQT-16] Section 9.2, Parameters

// keep drops all parameters but those in allowed.
func (p *Params) keep(allowed paramSet) {
	drop := func(bit paramSet, clear func()) {
		if allowed&bit == 0 {
			clear()
		}
	}
	drop(hasObjectDeliveryTimeout, func() { p.ObjectDeliveryTimeout = Opt[Millis]{} })
	drop(hasAuthToken, func() { p.AuthTokens = nil })
	drop(hasRendezvousTimeout, func() { p.RendezvousTimeout = Opt[Millis]{} })
	drop(hasSubgroupDeliveryTimeout, func() { p.SubgroupDeliveryTimeout = Opt[Millis]{} })
	drop(hasExpires, func() { p.Expires = Opt[Millis]{} })
	drop(hasLargestObject, func() { p.LargestObject = Opt[Location]{} })
	drop(hasFillTimeout, func() { p.FillTimeout = Opt[Millis]{} })
	drop(hasForward, func() { p.Forward = Opt[bool]{} })
	drop(hasSubscriberPriority, func() { p.SubscriberPriority = Opt[uint8]{} })
	drop(hasFilter, func() { p.Filter = Opt[Filter]{} })
	drop(hasGroupOrder, func() { p.GroupOrder = Opt[GroupOrder]{} })
	drop(hasNewGroupRequest, func() { p.NewGroupRequest = Opt[uint64]{} })
	drop(hasTrackNamespacePrefix, func() { p.TrackNamespacePrefix = Opt[Namespace]{} })
}

// appendKVP writes Number of Parameters and the parameters that draft-16 has; the others are left out.
func (p *Params) appendKVP(b []byte) []byte {
	list := make([]Property, 0, 8)
	num := func(typ paramType, x uint64, present bool) {
		if present {
			list = append(list, Property{Type: uint64(typ), Uint: x})
		}
	}
	blob := func(typ paramType, x []byte) { list = append(list, Property{Type: uint64(typ), Bytes: x}) }

	// "DELIVERY_TIMEOUT, if present, MUST contain a value greater than 0."
	// [MOQT-16] Section 9.2.2.2, DELIVERY TIMEOUT Parameter
	timeout := p.ObjectDeliveryTimeout.Or(0)
	num(paramObjectDeliveryTimeout, uint64(timeout), timeout > 0)
	for _, t := range p.AuthTokens {
		blob(paramAuthorizationToken, t.Append(nil, Draft16))
	}
	num(paramExpires, uint64(p.Expires.value), p.Expires.ok)
	if l, ok := p.LargestObject.Get(); ok {
		blob(paramLargestObject, l.append(nil, Draft16))
	}
	num(paramForward, uint64(boolByte(p.Forward.value)), p.Forward.ok)
	num(paramSubscriberPriority, uint64(p.SubscriberPriority.value), p.SubscriberPriority.ok)
	if f, ok := p.Filter.Get(); ok {
		blob(paramSubscriptionFilter, f.Append(nil, Draft16))
	}
	num(paramGroupOrder, uint64(p.GroupOrder.value), p.GroupOrder.ok)
	num(paramNewGroupRequest, p.NewGroupRequest.value, p.NewGroupRequest.ok)

	return appendCounted16(b, list)
}

// appendCounted16 writes a list in ascending order of type behind the number of its entries.
func appendCounted16(b []byte, list []Property) []byte {
	b = appendQUICVarint(b, uint64(len(list)))
	prev := uint64(0)
	for i := range list {
		b = appendProperty(b, prev, &list[i], Draft16)
		prev = list[i].Type
	}
	return b
}

// paramsKVP reads count parameters.
func (r *bodyReader) paramsKVP(count uint64, p *Params) {
	var prev paramType
	for i := uint64(0); i < count && r.err == nil; i++ {
		kv, n, err := consumeProperty(r.b, uint64(prev), r.v)
		if err != nil {
			r.fail(err)
			return
		}
		typ := paramType(kv.Type)
		if i > 0 && typ == prev && typ != paramAuthorizationToken {
			r.fail(violation(typ.String() + " is repeated"))
			return
		}
		r.b = r.b[n:]
		prev = typ
		p.set16(r, kv)
	}
}

// set16 sets the parameter that kv is.
func (p *Params) set16(r *bodyReader, kv Property) {
	switch paramType(kv.Type) {
	case paramObjectDeliveryTimeout:
		// "If an endpoint receives a DELIVERY_TIMEOUT equal to 0 it MUST close the session with PROTOCOL_VIOLATION."
		// [MOQT-16] Section 9.2.2.2, DELIVERY TIMEOUT Parameter
		if kv.Uint == 0 {
			r.fail(violation("DELIVERY_TIMEOUT is 0"))
		}
		p.ObjectDeliveryTimeout = Some(Millis(kv.Uint))
	case paramExpires:
		p.Expires = Some(Millis(kv.Uint))
	case paramLargestObject:
		in := bodyReader{b: kv.Bytes, v: r.v}
		l := in.location()
		if err := in.close("LARGEST_OBJECT"); err != nil {
			r.fail(err)
		}
		p.LargestObject = Some(l)
	case paramAuthorizationToken, paramForward, paramSubscriberPriority, paramSubscriptionFilter, paramGroupOrder, paramNewGroupRequest:
		p.setKVP(r, kv)
	default:
		// "An endpoint that receives an unknown Message Parameter MUST close the session with PROTOCOL_VIOLATION."
		// [MOQT-16] Section 9.2, Parameters
		r.fail(violation("unknown parameter " + paramType(kv.Type).String()))
	}
}

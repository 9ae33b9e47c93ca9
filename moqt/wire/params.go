package wire

import (
	"fmt"
	"math"
	"strings"
)

// paramType is the type of a Message Parameter.
type paramType uint64

// [MOQT-18] Section 15.7, Message Parameters
const (
	paramObjectDeliveryTimeout   paramType = 0x02
	paramAuthorizationToken      paramType = 0x03
	paramRendezvousTimeout       paramType = 0x04
	paramSubgroupDeliveryTimeout paramType = 0x06
	paramExpires                 paramType = 0x08
	paramLargestObject           paramType = 0x09
	paramFillTimeout             paramType = 0x0a
	paramForward                 paramType = 0x10
	paramSubscriberPriority      paramType = 0x20
	paramSubscriptionFilter      paramType = 0x21
	paramGroupOrder              paramType = 0x22
	paramNewGroupRequest         paramType = 0x32
	paramTrackNamespacePrefix    paramType = 0x34
)

// Range Filters may repeat, as tokens may.
//
// [MOQT-19] Section 5.1.3, Range Filters
const (
	paramSubgroupFilter       paramType = 0x25
	paramObjectIDFilter       paramType = 0x26
	paramPriorityFilter       paramType = 0x27
	paramObjectPropertyFilter paramType = 0x28
	paramTrackPropertyFilter  paramType = 0x29
)

func (t paramType) mayRepeat(v Version) bool {
	return t == paramAuthorizationToken || v >= Draft19 && paramSubgroupFilter <= t && t <= paramTrackPropertyFilter
}

// String returns the draft's name, or the type in hex if it is unknown.
func (t paramType) String() string {
	for _, n := range paramNames {
		if n.typ == t {
			return n.name
		}
	}
	return codeName("", uint64(t))
}

// paramNames are the parameters in ascending order of type, which is also the order
// of the bits of paramSet.
var paramNames = [...]struct {
	typ  paramType
	name string
}{
	{paramObjectDeliveryTimeout, "OBJECT_DELIVERY_TIMEOUT"},
	{paramAuthorizationToken, "AUTHORIZATION_TOKEN"},
	{paramRendezvousTimeout, "RENDEZVOUS_TIMEOUT"},
	{paramSubgroupDeliveryTimeout, "SUBGROUP_DELIVERY_TIMEOUT"},
	{paramExpires, "EXPIRES"},
	{paramLargestObject, "LARGEST_OBJECT"},
	{paramFillTimeout, "FILL_TIMEOUT"},
	{paramForward, "FORWARD"},
	{paramSubscriberPriority, "SUBSCRIBER_PRIORITY"},
	{paramSubscriptionFilter, "SUBSCRIPTION_FILTER"},
	{paramGroupOrder, "GROUP_ORDER"},
	{paramNewGroupRequest, "NEW_GROUP_REQUEST"},
	{paramTrackNamespacePrefix, "TRACK_NAMESPACE_PREFIX"},
}

// Values that hold when a message does not carry the parameter.
const (
	// [MOQT-18] Section 10.2.7, SUBSCRIBER PRIORITY Parameter
	DefaultSubscriberPriority uint8 = 128
	// [MOQT-18] Section 10.2.12, FORWARD Parameter (not in REQUEST_UPDATE)
	DefaultForward = true
)

// Params are the Message Parameters of a message. What is absent has its default,
// or in a REQUEST_UPDATE stays as it was.
//
// [MOQT-18] Section 10.2, Message Parameters
type Params struct {
	ObjectDeliveryTimeout   Opt[Millis] // 0 is none
	AuthTokens              []Token     // in order; the only parameter that may repeat
	RendezvousTimeout       Opt[Millis] // how long to wait for a publisher; default 0
	SubgroupDeliveryTimeout Opt[Millis] // 0 is none
	Expires                 Opt[Millis] // 0 is never or unknown
	LargestObject           Opt[Location]
	FillTimeout             Opt[Millis] // 0 is do not wait
	Forward                 Opt[bool]   // default true
	SubscriberPriority      Opt[uint8]  // lower is more urgent; default 128
	Filter                  Opt[Filter] // default all objects
	GroupOrder              Opt[GroupOrder]
	NewGroupRequest         Opt[uint64] // largest known group + 1, or 0
	TrackNamespacePrefix    Opt[Namespace]

	// RangeFilter is set if the peer has sent a Range Filter of draft-19, which it must not: MAX_FILTER_RANGES is 0. The request
	// is refused with INVALID_FILTER. It is never sent.
	RangeFilter bool
}

// paramSet is a set of parameter types.
type paramSet uint16

// The bits are in the order of paramNames.
const (
	hasObjectDeliveryTimeout paramSet = 1 << iota
	hasAuthToken
	hasRendezvousTimeout
	hasSubgroupDeliveryTimeout
	hasExpires
	hasLargestObject
	hasFillTimeout
	hasForward
	hasSubscriberPriority
	hasFilter
	hasGroupOrder
	hasNewGroupRequest
	hasTrackNamespacePrefix
)

// String returns the names of the parameters in the set, with commas between them.
func (s paramSet) String() string {
	var names []string
	for i, n := range paramNames {
		if s&(1<<i) != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ", ")
}

// set returns which parameters are present.
func (p *Params) set() paramSet {
	var s paramSet
	add := func(present bool, bit paramSet) {
		if present {
			s |= bit
		}
	}
	add(p.ObjectDeliveryTimeout.ok, hasObjectDeliveryTimeout)
	add(len(p.AuthTokens) > 0, hasAuthToken)
	add(p.RendezvousTimeout.ok, hasRendezvousTimeout)
	add(p.SubgroupDeliveryTimeout.ok, hasSubgroupDeliveryTimeout)
	add(p.Expires.ok, hasExpires)
	add(p.LargestObject.ok, hasLargestObject)
	add(p.FillTimeout.ok, hasFillTimeout)
	add(p.Forward.ok, hasForward)
	add(p.SubscriberPriority.ok, hasSubscriberPriority)
	add(p.Filter.ok, hasFilter)
	add(p.GroupOrder.ok, hasGroupOrder)
	add(p.NewGroupRequest.ok, hasNewGroupRequest)
	add(p.TrackNamespacePrefix.ok, hasTrackNamespacePrefix)
	return s
}

// checkReceived fails if a parameter is present that the message must not hold.
//
// "Each Message Parameter definition indicates the message types in which it can
// appear. If it appears in some other type of message, the receiving endpoint MUST
// close the connection with a PROTOCOL_VIOLATION."
// [MOQT-18] Section 10.2.1, Parameter Scope
func (p *Params) checkReceived(allowed paramSet) error {
	if extra := p.set() &^ allowed; extra != 0 {
		return violation("not allowed in this message: " + extra.String())
	}
	return nil
}

// checkSent fails if p must not be sent in a message that may hold allowed.
func (p *Params) checkSent(allowed paramSet) error {
	if extra := p.set() &^ allowed; extra != 0 {
		return fmt.Errorf("not allowed in this message: %v: %w", extra, ErrInvalidValue)
	}
	for _, t := range p.AuthTokens {
		if err := t.check(); err != nil {
			return err
		}
	}
	if f, ok := p.Filter.Get(); ok {
		if err := f.check(); err != nil {
			return err
		}
	}
	if o, ok := p.GroupOrder.Get(); ok && !o.valid() {
		return fmt.Errorf("group order %d: %w", o, ErrInvalidValue)
	}
	return nil
}

// paramWriter appends parameters, which must come in ascending order of type.
type paramWriter struct {
	b     []byte
	v     Version
	prev  paramType
	count uint64
}

// next writes the delta to the type typ.
func (w *paramWriter) next(typ paramType) {
	w.b = w.v.appendVarint(w.b, uint64(typ-w.prev))
	w.prev = typ
	w.count++
}

func (w *paramWriter) millis(typ paramType, o Opt[Millis]) {
	if m, ok := o.Get(); ok {
		w.varint(typ, uint64(m))
	}
}

func (w *paramWriter) varint(typ paramType, x uint64) {
	w.next(typ)
	w.b = w.v.appendVarint(w.b, x)
}

func (w *paramWriter) uint8(typ paramType, x uint8) {
	w.next(typ)
	w.b = append(w.b, x)
}

func (w *paramWriter) bytes(typ paramType, x []byte) {
	w.next(typ)
	w.b = w.v.appendVarint(w.b, uint64(len(x)))
	w.b = append(w.b, x...)
}

// append writes Number of Parameters and the parameters in ascending order of
// type.
func (p *Params) append(b []byte, v Version) []byte {
	if v == Draft16 {
		return p.appendKVP(b)
	}
	w := paramWriter{v: v}
	w.millis(paramObjectDeliveryTimeout, p.ObjectDeliveryTimeout)
	for _, t := range p.AuthTokens {
		w.bytes(paramAuthorizationToken, t.Append(nil, v))
	}
	w.millis(paramRendezvousTimeout, p.RendezvousTimeout)
	w.millis(paramSubgroupDeliveryTimeout, p.SubgroupDeliveryTimeout)
	w.millis(paramExpires, p.Expires)
	if l, ok := p.LargestObject.Get(); ok {
		w.next(paramLargestObject)
		w.b = l.append(w.b, v)
	}
	w.millis(paramFillTimeout, p.FillTimeout)
	if f, ok := p.Forward.Get(); ok {
		w.uint8(paramForward, boolByte(f))
	}
	if x, ok := p.SubscriberPriority.Get(); ok {
		w.uint8(paramSubscriberPriority, x)
	}
	if f, ok := p.Filter.Get(); ok {
		w.bytes(paramSubscriptionFilter, f.Append(nil, v))
	}
	if o, ok := p.GroupOrder.Get(); ok {
		w.uint8(paramGroupOrder, uint8(o))
	}
	if x, ok := p.NewGroupRequest.Get(); ok {
		w.varint(paramNewGroupRequest, x)
	}
	if ns, ok := p.TrackNamespacePrefix.Get(); ok {
		w.next(paramTrackNamespacePrefix)
		w.b = ns.append(w.b, v)
	}
	b = v.appendVarint(b, w.count)
	return append(b, w.b...)
}

func boolByte(x bool) byte {
	if x {
		return 1
	}
	return 0
}

// consumeParams reads Number of Parameters and the parameters. Which of them the
// message may hold is not looked at.
func consumeParams(b []byte, v Version) (p Params, n int, err error) {
	r := bodyReader{b: b, v: v}
	count := r.varint()
	if v == Draft16 {
		r.paramsKVP(count, &p)
		if r.err != nil {
			return Params{}, 0, r.err
		}
		return p, len(b) - len(r.b), nil
	}
	var typ paramType
	for i := uint64(0); i < count && r.err == nil; i++ {
		delta := r.varint()
		// "If the resulting Type would be greater than 2^64 - 1, the endpoint MUST
		// close the session with a PROTOCOL_VIOLATION."
		// [MOQT-18] Section 10.2, Message Parameters
		if delta > math.MaxUint64-uint64(typ) {
			r.fail(violation("type of parameter is above 2^64-1"))
		}
		typ += paramType(delta)
		if i > 0 && delta == 0 && !typ.mayRepeat(v) {
			r.fail(violation(typ.String() + " is repeated"))
		}
		r.param(typ, &p)
	}
	if r.err != nil {
		return Params{}, 0, r.err
	}
	return p, len(b) - len(r.b), nil
}

// param reads the value of one parameter into p.
func (r *bodyReader) param(typ paramType, p *Params) {
	if r.err != nil {
		return
	}
	switch typ {
	case paramObjectDeliveryTimeout:
		p.ObjectDeliveryTimeout = Some(Millis(r.varint()))
	case paramAuthorizationToken:
		p.addToken(r)
	case paramRendezvousTimeout:
		// The draft does not say how this one and FILL_TIMEOUT are encoded; both are
		// numbers of milliseconds, and those are varints elsewhere.
		p.RendezvousTimeout = Some(Millis(r.varint()))
	case paramSubgroupDeliveryTimeout:
		p.SubgroupDeliveryTimeout = Some(Millis(r.varint()))
	case paramExpires:
		p.Expires = Some(Millis(r.varint()))
	case paramLargestObject:
		p.LargestObject = Some(r.location())
	case paramFillTimeout:
		p.FillTimeout = Some(Millis(r.varint()))
	case paramForward:
		p.setForward(r, uint64(r.uint8()))
	case paramSubscriberPriority:
		p.SubscriberPriority = Some(r.uint8())
	case paramSubscriptionFilter:
		p.setFilter(r)
	case paramGroupOrder:
		p.setGroupOrder(r, uint64(r.uint8()))
	case paramNewGroupRequest:
		p.NewGroupRequest = Some(r.varint())
	case paramTrackNamespacePrefix:
		p.TrackNamespacePrefix = Some(r.namespace())
	case paramSubgroupFilter, paramObjectIDFilter, paramPriorityFilter, paramObjectPropertyFilter, paramTrackPropertyFilter:
		if r.v < Draft19 {
			r.fail(violation("unknown parameter " + typ.String()))
			return
		}
		r.bytes(MaxMessageLen, "range filter")
		p.RangeFilter = true
	default:
		// "An endpoint that receives an unknown Message Parameter MUST close the
		// session with PROTOCOL_VIOLATION." [MOQT-18] Section 10.2, Message Parameters
		r.fail(violation("unknown parameter " + typ.String()))
	}
}

func (p *Params) addToken(r *bodyReader) {
	b := r.bytes(MaxMessageLen, "authorization token")
	if r.err != nil {
		return
	}
	t, err := parseToken(b, r.v)
	if err != nil {
		r.fail(err)
		return
	}
	p.AuthTokens = append(p.AuthTokens, t)
}

// "The allowed values are 0 (don't forward) or 1 (forward). If an endpoint
// receives a value outside this range, it MUST close the session with
// PROTOCOL_VIOLATION." [MOQT-18] Section 10.2.12, FORWARD Parameter
func (p *Params) setForward(r *bodyReader, x uint64) {
	if x > 1 {
		r.fail(violation("FORWARD is neither 0 nor 1"))
	}
	p.Forward = Some(x == 1)
}

func (p *Params) setFilter(r *bodyReader) {
	b := r.bytes(MaxMessageLen, "filter")
	if r.err != nil {
		return
	}
	f, err := parseFilter(b, r.v)
	if err != nil {
		r.fail(err)
	}
	p.Filter = Some(f)
}

// "The allowed values are Ascending (0x1) or Descending (0x2). If an endpoint
// receives a value outside this range, it MUST close the session with
// PROTOCOL_VIOLATION." [MOQT-18] Section 10.2.8, GROUP ORDER Parameter
func (p *Params) setGroupOrder(r *bodyReader, x uint64) {
	if x != uint64(GroupOrderAscending) && x != uint64(GroupOrderDescending) {
		r.fail(violation("GROUP_ORDER is neither 1 nor 2"))
	}
	p.GroupOrder = Some(GroupOrder(x))
}
